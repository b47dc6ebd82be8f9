"""Delegation of a query without ranked predicates to the SPARQL engine."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan, SparqlQuery
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.meter import ROWS_PASSED, STORE_QUESTIONS, STORE_ROWS
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED
from hybridkg.planner.store_reading import StoreReading
from hybridkg.planner.strategies.columns import below_slice, declined, priced_operators


class OxigraphStrategy(Strategy):
    """Whole query, in canonical text, as one request to the store."""

    preference = 0

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        return isinstance(below_slice(logical), SparqlQuery)

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        """The price of what Oxigraph reads and joins, by the estimates of the operators over columns."""
        operators = priced_operators(logical, planning)
        if operators is None:
            return UNPRICED
        parts = planning.memoize_for_root("reading", "columns", operators[0], lambda: StoreReading.of(operators))
        read, joined = parts.read(planning)
        us = planning.cost.price({STORE_QUESTIONS: 1, STORE_ROWS: read, ROWS_PASSED: joined})
        return Cardinality(us, us, us)

    def least_cost(self, logical: Plan, planning: PlannerContext) -> float:
        """One question to the store, which most small queries over columns cost less than."""
        return planning.cost.price({STORE_QUESTIONS: 1})

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        query = below_slice(logical)
        if not isinstance(query, SparqlQuery):
            return None
        return lower(logical, {id(query): StoreQuery(query.form, declined(query, planning))})


OXIGRAPH = OxigraphStrategy()
