"""Evaluation of a query without ranked predicates over columns of the projection."""

from __future__ import annotations

from hybridkg.algebra import nodes
from hybridkg.algebra.nodes import Fragment, Plan, SparqlQuery, children
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.aggregates import PlainGroups
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.count_groups import CountGroups
from hybridkg.operators.column_query import ColumnQuery
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.planner.joins import lowered
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED


class ColumnsStrategy(Strategy):
    """Operators over columns of ids, fed by the projection."""

    preference = 1

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        return isinstance(logical, SparqlQuery) and logical.relational is not None

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        assert isinstance(logical, SparqlQuery)
        assert logical.relational is not None
        sizes = fragment_sizes(logical.relational, planning)
        if sizes is None:
            return UNPRICED
        cost, returned = planning.cost, returned_rows(logical.relational, sum(rows for rows, _ in sizes))
        us = sum(
            cost.us_per_graph_question + cost.us_per_adjacency_entry * work + cost.us_per_column_cell * rows
            for rows, work in sizes
        )
        us += cost.us_per_row_of_terms * returned
        return Cardinality(us, us, us)

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        if not isinstance(logical, SparqlQuery) or logical.relational is None:
            return None
        if any(planning.prepared(fragment) is None for fragment in fragments_of(logical.relational)):
            return None
        try:
            root = lowered(logical.relational, counted(logical.relational, planning), planning)
        except UnsupportedQueryError:
            return None
        return ColumnQuery(root, StoreQuery(logical.form))


COLUMNS = ColumnsStrategy()


def counted(plan: Plan, planning: PlannerContext) -> dict[int, PhysicalOperator]:
    """Operators of the groups that need no rows, by the identity of their nodes."""
    ready: dict[int, PhysicalOperator] = {}
    waiting = [plan]
    while waiting:
        part = waiting.pop()
        waiting += children(part)
        if isinstance(part, nodes.Group) and isinstance(part.child, Fragment) and part.child.group.elements:
            fragment = planning.fragment(part.child)
            groups = PlainGroups.of(part.keys, part.having, part.projection)
            if groups is not None and CountGroups.applies(fragment, groups):
                ready[id(part)] = CountGroups(fragment, groups)
    return ready


def fragments_of(plan: Plan) -> list[Fragment]:
    """Fragments of a plan."""
    found: list[Fragment] = []
    waiting = [plan]
    while waiting:
        part = waiting.pop()
        waiting += children(part)
        if isinstance(part, Fragment) and part.group.elements:
            found.append(part)
    return found


def fragment_sizes(plan: Plan, planning: PlannerContext) -> list[tuple[float, float]] | None:
    """(expected rows, expected entries read) of each fragment; None if the projection does not answer one."""
    sizes = []
    for fragment in fragments_of(plan):
        prepared = planning.prepared(fragment)
        if prepared is None:
            return None
        sizes.append((prepared.size().estimate, prepared.work()))
    return sizes


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
            return rows**0.5
        case nodes.Project(child=child) | nodes.OrderBy(child=child):
            return returned_rows(child, rows)
    return rows
