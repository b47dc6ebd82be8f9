"""ASK of a graph pattern: whether it has a solution, which the projection knows without listing them."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.interfaces.meter import ADJACENCY, GRAPH_QUESTIONS, Work
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.columns import ColumnsDeclined
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, work_of
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.rdf.solutions import Solutions


@dataclass(frozen=True)
class AnySolution(PhysicalOperator):
    """One row without columns if the fragment has a row, else none."""

    fragment: GraphFragment

    def estimate(self, estimates: EstimationContext) -> float | None:
        rows = estimates.rows(self.fragment)
        return None if rows is None else min(rows, 1.0)

    def work(self, estimates: EstimationContext) -> Work | None:
        prepared = estimates.prepared(self.fragment.pattern)
        return None if prepared is None else work_of({GRAPH_QUESTIONS: 1, ADJACENCY: prepared.any_work()})

    def run(self, context: ExecutionContext) -> Solutions:
        prepared = self.fragment.prepared(context)
        if prepared is None:
            raise ColumnsDeclined("the projection does not hold all of the pattern")
        context.meter.add(GRAPH_QUESTIONS, 1)
        return Solutions((), [()] if prepared.has_any(context.meter) else [])

    def describe(self) -> str:
        return "AnySolution"

    def asks(self, estimates: EstimationContext) -> str:
        return self.fragment.asks(estimates)

    def details(self, estimates: EstimationContext) -> str:
        return self.fragment.details(estimates)
