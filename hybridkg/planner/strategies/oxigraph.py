"""A query without ranked predicates belongs to the SPARQL engine."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan, Slice, Whole
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.costs import unpriced
from hybridkg.planner.lower import lower
from hybridkg.planner.planning import Planning


class Oxigraph:
    """The whole query, in canonical text, in one question to the store."""

    exact = True
    cost = staticmethod(unpriced)

    @staticmethod
    def plan(logical: Plan, planning: Planning) -> PhysicalOperator | None:
        """Operators, or None where the query ranks."""
        cut = logical.child if isinstance(logical, Slice) else logical
        return lower(logical) if isinstance(cut, Whole) else None
