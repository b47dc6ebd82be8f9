"""Delegation of a query without ranked predicates to the SPARQL engine."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan, Slice, SparqlQuery
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED
from hybridkg.planner.strategies.columns import declined, fragment_sizes, returned_rows, returns_as_read


class OxigraphStrategy(Strategy):
    """Whole query, in canonical text, as one request to the store."""

    preference = 0

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        return isinstance(_below_slice(logical), SparqlQuery)

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        """Every entry that the pattern reads costs as much as a row: Oxigraph decodes its terms."""
        query = _below_slice(logical)
        assert isinstance(query, SparqlQuery)
        plan = planning.relational(query)
        sizes = None if plan is None else fragment_sizes(plan, planning)
        if plan is None or sizes is None:
            return UNPRICED
        rows = sum(max(size, work) for size, work in sizes)
        if returns_as_read(plan):
            rows = returned_rows(plan, rows)
        us = planning.cost.us_per_store_question + planning.cost.us_per_store_row * rows
        return Cardinality(us, us, us)

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        query = _below_slice(logical)
        if not isinstance(query, SparqlQuery):
            return None
        return lower(logical, {id(query): StoreQuery(query.form, declined(query, planning))})


OXIGRAPH = OxigraphStrategy()


def _below_slice(logical: Plan) -> Plan:
    return logical.child if isinstance(logical, Slice) else logical
