"""The oracle: complete relations, every join done, then sort."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.costs import unpriced
from hybridkg.planner.lower import lower
from hybridkg.planner.planning import Planning


class Reference:
    """Each node of the logical plan by its obvious operator. Slow where a relation is large; never wrong."""

    exact = True
    cost = staticmethod(unpriced)

    @staticmethod
    def plan(logical: Plan, planning: Planning) -> PhysicalOperator:
        """Always applicable."""
        return lower(logical)
