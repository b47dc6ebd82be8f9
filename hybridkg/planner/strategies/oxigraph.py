"""A query without ranked predicates belongs to the SPARQL engine."""

from __future__ import annotations

from math import inf

from hybridkg.algebra.nodes import Plan, Slice, Whole
from hybridkg.interfaces.graph_index import Size
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.lower import lower
from hybridkg.planner.planning import Planning


class Oxigraph:
    """The whole query, in canonical text, in one question to the store."""

    exact = True

    @staticmethod
    def plan(logical: Plan, planning: Planning) -> PhysicalOperator | None:
        """Operators, or None where the query ranks."""
        cut = logical.child if isinstance(logical, Slice) else logical
        return lower(logical) if isinstance(cut, Whole) else None

    @staticmethod
    def cost(logical: Plan, planning: Planning) -> Size | None:
        """Nobody knows."""
        return Size(0.0, inf, inf)
