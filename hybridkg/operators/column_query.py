"""A query without ranked predicates, answered from columns of ids."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.interfaces.meter import ROWS, Work
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.columns import InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, work_of
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.rdf.solutions import Solutions, SolutionStream


@dataclass(frozen=True)
class ColumnQuery(PhysicalOperator):
    """Rows of the child, whose operators work on columns; those of the store if one of them declines.

    An operator declines where SPARQL leaves the answer open and the store's is not predictable, as for a sum of doubles
    in an unknown order; and where an intermediate result is too large to be held, as the store may stream it.
    """

    child: PhysicalOperator
    store: StoreQuery

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        return (self.child,)

    def estimate(self, estimates: EstimationContext) -> float | None:
        return estimates.rows(self.child)

    def work(self, estimates: EstimationContext) -> Work | None:
        return work_of({ROWS: estimates.rows(self)})

    def run(self, context: ExecutionContext) -> Solutions:
        solutions = context.run_in_columns(self.child, self)
        return self.store.run(context) if solutions is None else solutions

    def stream(self, context: ExecutionContext) -> SolutionStream | InColumns | None:
        solutions = context.run_in_columns(self.child, self)
        return self.store.stream(context) if solutions is None else solutions

    def asks(self, estimates: EstimationContext) -> str:
        return ""

    def describe(self) -> str:
        return "Columns"

    def at_work(self) -> str:
        return self.child.at_work()
