"""Evaluation of a query without ranked predicates over columns of the projection."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan, Slice, SparqlQuery
from hybridkg.algebra.open_answers import open_answer
from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.column_query import ColumnQuery
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.planner.joins import joined
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED
from hybridkg.planner.relational import fragments_of, is_computed, over_columns


class ColumnsStrategy(Strategy):
    """Operators over columns of ids: a query without ranked predicates from the projection alone, any other one with
    its relations complete.
    """

    preference = 85

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        query = below_slice(logical)
        if not isinstance(query, SparqlQuery):
            return planning.ranking(logical) is None
        if planning.store is not None:
            return False  # an endpoint may have changed since its graph was exported
        return not unsupported(query, planning)

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        """The sum of the prices of its operators, which EXPLAIN shows one by one."""
        query = column_query(logical, planning)
        us = None if query is None else operators_us(planning.root("columns", logical), planning)
        return UNPRICED if us is None else Cardinality(us, us, us)

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        query = below_slice(logical)
        if not isinstance(query, SparqlQuery):
            return joined(logical, planning)
        plan = planning.relational(query)
        if plan is None or not is_held(plan, planning):
            return None
        root = over_columns(plan, planning.fragment)
        return None if root is None else lower(logical, {id(query): ColumnQuery(root, StoreQuery(query.form))})


COLUMNS = ColumnsStrategy()


def below_slice(logical: Plan) -> Plan:
    """The plan below the LIMIT of a call, which cuts the triples of a graph."""
    return logical.child if isinstance(logical, Slice) else logical


def unsupported(query: SparqlQuery, planning: PlannerContext) -> str:
    """The part of a query that columns do not answer, whatever its parameters; empty if there is none."""
    form = query.form
    if query.relational is None:
        if form.dataset:
            return "FROM"
        return open_answer(form) or "an expression that one engine has to evaluate"
    if planning.repeats_triples:
        return "triples in several graphs of the union, each of which counts"
    return "" if is_computed(query.relational) else "an aggregate that columns do not compute"


def declined(query: SparqlQuery, planning: PlannerContext) -> str:
    """Why columns do not answer a query; empty if they could."""
    if planning.store is not None:
        return ""
    if reason := unsupported(query, planning):
        return reason
    if planning.graph is None:
        return "no projection"
    plan = planning.relational(query)
    assert plan is not None
    for fragment in fragments_of(plan):
        pattern = planning.pattern(fragment)
        if isinstance(pattern, DeclinedPattern):
            return pattern.reason
        if planning.prepared(fragment) is None:
            return "the projection does not hold all of the pattern"
    return ""


def column_query(logical: Plan, planning: PlannerContext) -> ColumnQuery | None:
    """Operators over columns of a query without ranked predicates; None if the projection does not answer it."""
    query = below_slice(logical)
    plan = planning.relational(query) if isinstance(query, SparqlQuery) else None
    root = planning.root("columns", logical) if plan is not None and is_held(plan, planning) else None
    if root is None:
        return None
    return next(operator for operator in root.walk() if isinstance(operator, ColumnQuery))


def is_held(plan: Plan, planning: PlannerContext) -> bool:
    """Whether the projection holds every fragment of a plan."""
    fragments = planning.memoize_for_template(("fragments", id(plan)), lambda: fragments_of(plan))
    return all(planning.prepared(fragment) is not None for fragment in fragments)


def operators_us(root: PhysicalOperator | None, planning: PlannerContext) -> float | None:
    """Microseconds of some operators together; None if the work of one is unknown."""
    us = 0.0
    for operator in () if root is None else root.walk():
        work = operator.work(planning.estimates)
        if work is None:
            return None
        us += planning.cost.price(work)
    return us
