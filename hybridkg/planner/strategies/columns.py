"""Evaluation of a query without ranked predicates over columns of the projection."""

from __future__ import annotations

from hybridkg.algebra import nodes
from hybridkg.algebra.nodes import Plan, SparqlQuery, walk
from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.column_query import ColumnQuery
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.planner.joins import joined
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED
from hybridkg.planner.relational import fragments_of, is_computed, over_columns, probe_of
from hybridkg.query import ast


class ColumnsStrategy(Strategy):
    """Operators over columns of ids: a query without ranked predicates from the projection alone, any other one with
    its relations complete.
    """

    preference = 85

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        if not isinstance(logical, SparqlQuery):
            return planning.ranking(logical) is None
        if planning.store is not None:
            return False  # an endpoint may have changed since its graph was exported
        return not unsupported(logical, planning)

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        plan = planning.relational(logical) if isinstance(logical, SparqlQuery) else None
        sizes = None if plan is None else fragment_sizes(plan, planning)
        if plan is None or sizes is None:
            return UNPRICED
        cost, returned = planning.cost, returned_rows(plan, sum(rows for rows, _ in sizes))
        us = sum(
            cost.us_per_graph_question + cost.us_per_adjacency_entry * work + cost.us_per_column_cell * rows
            for rows, work in sizes
        )
        # A result holds columns: a row costs when it is read, and less than one of the store.
        us += min(cost.us_per_row_of_terms, cost.us_per_store_row / 2) * returned
        return Cardinality(us, us, us)

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        if not isinstance(logical, SparqlQuery):
            return joined(logical, planning)
        plan = planning.relational(logical)
        if plan is None or any(planning.prepared(fragment) is None for fragment in fragments_of(plan)):
            return None
        root = over_columns(plan, planning.fragment)
        return None if root is None else ColumnQuery(root, StoreQuery(logical.form))


COLUMNS = ColumnsStrategy()


def unsupported(query: SparqlQuery, planning: PlannerContext) -> str:
    """The part of a query that columns do not answer, whatever its parameters; empty if there is none."""
    form = query.form
    if query.relational is None:
        if not isinstance(form, ast.SelectQuery):
            return f"{type(form).__name__.removesuffix('Query').upper()}"
        if form.dataset:
            return "FROM"
        return "REDUCED" if form.reduction == "REDUCED" else "an expression that one engine has to evaluate"
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


def fragment_sizes(plan: Plan, planning: PlannerContext) -> list[tuple[float, float]] | None:
    """(expected rows, expected entries read) of each fragment; None if the projection does not answer one."""
    sizes: dict[int, tuple[float, float]] = {}
    for fragment in fragments_of(plan):
        prepared = planning.prepared(fragment)
        if prepared is None:
            return None
        sizes[id(fragment)] = prepared.size().estimate, prepared.work()
    for part in reversed(list(walk(plan))):
        probe = probe_of(part)
        if probe is None:
            continue
        prepared = planning.prepared(probe.fragment)
        assert prepared is not None
        values = returned_rows(probe.other, sum(sizes[id(own)][0] for own in fragments_of(probe.other)))
        (rows, work), probed = sizes[id(probe.fragment)], values * prepared.work_each(probe.variable)
        if probed < work:
            sizes[id(probe.fragment)] = rows * probed / work, probed
    return list(sizes.values())


def returns_as_read(plan: Plan) -> bool:
    """Whether an engine may return the first rows before it has read the others."""
    match plan:
        case nodes.Group() | nodes.OrderBy():
            return False
        case nodes.Slice(child=child) | nodes.Project(child=child) | nodes.Extend(child=child):
            return returns_as_read(child)
    return True


def returned_rows(plan: Plan, rows: float) -> float:
    """Expected rows of a plan over fragments of `rows` rows in all."""
    match plan:
        case nodes.Slice(child, offset, limit):
            below = max(0.0, returned_rows(child, rows) - offset)
            return below if limit is None else min(below, float(limit))
        case nodes.Group(keys=()):
            return 1.0
        case nodes.Group():
            return float(rows**0.5)
        case nodes.Project(child=child) | nodes.OrderBy(child=child):
            return returned_rows(child, rows)
    return rows
