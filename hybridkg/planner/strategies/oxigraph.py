"""A query without ranked predicates belongs to the SPARQL engine."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan, Slice, SparqlQuery
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED


class OxigraphStrategy(Strategy):
    """The whole query, in canonical text, in one question to the store."""

    preference = 0
    dominates = True

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        """Whether the query ranks nothing."""
        return isinstance(_cut(logical), SparqlQuery)

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        """Not known: the store plans the query."""
        return UNPRICED

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        """Operators, or None where the query ranks."""
        return lower(logical) if isinstance(_cut(logical), SparqlQuery) else None


OXIGRAPH = OxigraphStrategy()


def _cut(logical: Plan) -> Plan:
    """What LIMIT and OFFSET cut."""
    return logical.child if isinstance(logical, Slice) else logical
