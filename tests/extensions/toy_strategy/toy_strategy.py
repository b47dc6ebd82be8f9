"""A strategy as another package writes one: the rows of the reference, cut by an operator of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hybridkg.algebra.nodes import Plan, Slice
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.meter import ROWS_PASSED, Work
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import OneChild, PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.rdf.solutions import Solutions


@dataclass(frozen=True)
class ToyRows(OneChild):
    """The rows of the child."""

    def run(self, context: ExecutionContext) -> Solutions:
        """Those of the child."""
        return context.run(self.child)

    def work(self, known: EstimationContext) -> Work | None:
        """A row passed, whatever the child gives."""
        return {ROWS_PASSED: 1}

    def describe(self) -> str:
        """Its name."""
        return "ToyRows"


class Toy(Strategy):
    """For rankings under LIMIT."""

    preference = 45
    work: ClassVar[Work] = {ROWS_PASSED: 1}

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        """Whether the plan is a ranking with a limit."""
        return isinstance(logical, Slice) and planning.ranking(logical) is not None

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        """The price of its work."""
        us = planning.cost.price(self.work)
        return Cardinality(us, us, us)

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        """The operators of the reference below its own."""
        return ToyRows(lower(logical)) if self.applies(logical, planning) else None


TOY = Toy()
