"""The oracle: complete relations, every join done, then sort."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED


class ReferenceStrategy(Strategy):
    """Each node of the logical plan by its obvious operator. Slow where a relation is large; never wrong."""

    preference = 90

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        """Always."""
        return True

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        """Not known: nothing is cut short."""
        return UNPRICED

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator:
        """Always applicable."""
        return lower(logical)


REFERENCE = ReferenceStrategy()
