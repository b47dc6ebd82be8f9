"""Delegation of a query without ranked predicates to the SPARQL engine."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan, SparqlQuery
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED
from hybridkg.planner.strategies.columns import (
    below_slice,
    declined,
    fragment_sizes,
    returned_rows,
    returns_as_read,
    solutions_of,
)


class OxigraphStrategy(Strategy):
    """Whole query, in canonical text, as one request to the store."""

    preference = 0

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        return isinstance(below_slice(logical), SparqlQuery)

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        """Every entry that the pattern reads costs as much as a row: Oxigraph decodes its terms."""
        query = below_slice(logical)
        assert isinstance(query, SparqlQuery)
        plan = planning.relational(query)
        sizes = None if plan is None else fragment_sizes(plan, planning)
        if plan is None or sizes is None:
            return UNPRICED
        solutions = sum(size.rows for size in sizes)
        read = sum(max(size.rows, size.work) for size in sizes)
        below = solutions_of(plan)
        if returns_as_read(below):
            # Oxigraph stops after the last solution that is wanted; the solutions are spread evenly over what it reads.
            wanted = returned_rows(below, solutions, planning)
            read = max(wanted, read * (wanted / solutions if wanted < solutions else 1.0))
        rows = read if below is plan else max(read, returned_rows(plan, solutions, planning))
        us = planning.cost.us_per_store_question + planning.cost.us_per_store_row * rows
        return Cardinality(us, us, us)

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        query = below_slice(logical)
        if not isinstance(query, SparqlQuery):
            return None
        return lower(logical, {id(query): StoreQuery(query.form, declined(query, planning))})


OXIGRAPH = OxigraphStrategy()
