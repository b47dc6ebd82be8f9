"""Delegation of a query without ranked predicates to the SPARQL engine."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan, Slice, SparqlQuery
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED


class OxigraphStrategy(Strategy):
    """Whole query, in canonical text, as one request to the store."""

    preference = 0
    dominates = True

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        return isinstance(_below_slice(logical), SparqlQuery)

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        return UNPRICED

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        return lower(logical) if isinstance(_below_slice(logical), SparqlQuery) else None


OXIGRAPH = OxigraphStrategy()


def _below_slice(logical: Plan) -> Plan:
    return logical.child if isinstance(logical, Slice) else logical
