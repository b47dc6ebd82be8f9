"""A query without ranked predicates belongs to the SPARQL engine."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan, Slice, Whole
from hybridkg.interfaces.graph_index import Size
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import Planning
from hybridkg.planner.ranking_costs import UNPRICED


class Oxigraph(Strategy):
    """The whole query, in canonical text, in one question to the store."""

    preference = 0
    dominates = True

    def applies(self, logical: Plan, planning: Planning) -> bool:
        """Whether the query ranks nothing."""
        return isinstance(_cut(logical), Whole)

    def cost(self, logical: Plan, planning: Planning) -> Size:
        """Not known: the store plans the query."""
        return UNPRICED

    def plan(self, logical: Plan, planning: Planning) -> PhysicalOperator | None:
        """Operators, or None where the query ranks."""
        return lower(logical) if isinstance(_cut(logical), Whole) else None


OXIGRAPH = Oxigraph()


def _cut(logical: Plan) -> Plan:
    """What LIMIT and OFFSET cut."""
    return logical.child if isinstance(logical, Slice) else logical
