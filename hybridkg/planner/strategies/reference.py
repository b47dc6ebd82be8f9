"""Reference implementation: complete relations, every join executed, then a sort."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED


class ReferenceStrategy(Strategy):
    """Direct lowering of each logical node. Slow for large relations; always correct."""

    preference = 90

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        return True

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        return UNPRICED

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator:
        return lower(logical)


REFERENCE = ReferenceStrategy()
