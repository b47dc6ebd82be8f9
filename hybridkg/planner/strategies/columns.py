"""Evaluation of a query without ranked predicates over columns of the projection."""

from __future__ import annotations

from typing import NamedTuple, cast

from hybridkg.algebra import nodes
from hybridkg.algebra.nodes import GRAPH_COLUMNS, Plan, Slice, SparqlQuery, walk
from hybridkg.algebra.open_answers import open_answer
from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.column_query import ColumnQuery
from hybridkg.operators.describe import described_nodes, triples_each
from hybridkg.operators.graph_fragment import not_held
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.planner.joins import joined
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED
from hybridkg.planner.relational import asked_of, counted_of, fragments_of, is_computed, over_columns, probe_of


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
        query = below_slice(logical)
        plan = planning.relational(query) if isinstance(query, SparqlQuery) else None
        sizes = None if plan is None else fragment_sizes(plan, planning)
        if plan is None or sizes is None:
            return UNPRICED
        cost, returned = planning.cost, returned_rows(plan, sum(size.rows for size in sizes), planning)
        us = sum(
            cost.us_per_graph_question + cost.us_per_adjacency_entry * size.work + cost.us_per_column_cell * size.listed
            for size in sizes
        )
        # A result holds columns: a row costs when it is read, and less than one of the store.
        us += min(cost.us_per_row_of_terms, cost.us_per_store_row / 2) * returned
        return Cardinality(us, us, us)

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        query = below_slice(logical)
        if not isinstance(query, SparqlQuery):
            return joined(logical, planning)
        plan = planning.relational(query)
        if plan is None or any(planning.prepared(fragment) is None for fragment in fragments_of(plan)):
            return None
        root = over_columns(plan, planning.fragment)
        if root is None:
            return None
        return lower(logical, {id(query): ColumnQuery(root, StoreQuery(query.form))})


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
            return not_held(planning.graph, pattern)
    return ""


class FragmentSize(NamedTuple):
    """Expected figures of a fragment: its rows, the entries that it reads, and the rows that are made of them."""

    rows: float
    work: float
    listed: float


def fragment_sizes(plan: Plan, planning: PlannerContext) -> list[FragmentSize] | None:
    """Sizes of each fragment, found once in a planning; None if the projection does not answer one."""
    return planning.memoize(("fragment sizes", id(plan)), lambda: _sizes(plan, planning))


def _sizes(plan: Plan, planning: PlannerContext) -> list[FragmentSize] | None:
    asked = asked_of(plan)
    sizes: dict[int, FragmentSize] = {}
    for fragment in fragments_of(plan):
        prepared = planning.prepared(fragment)
        if prepared is None:
            return None
        rows = prepared.size().estimate
        if fragment is nodes.ALL_TRIPLES:
            continue
        if fragment is asked:
            sizes[id(fragment)] = FragmentSize(rows, prepared.any_work(), min(rows, 1.0))
        else:
            sizes[id(fragment)] = FragmentSize(rows, prepared.work(), rows)
    for part in reversed(list(walk(plan))):
        counted = counted_of(part, planning.fragment)
        if counted is not None:
            assert isinstance(part, nodes.Group)
            whole, prepared = sizes[id(part.child)], planning.prepared(cast(nodes.Fragment, part.child))
            assert prepared is not None
            work = sum(prepared.counts_work(keys) for keys in counted.counted)
            sizes[id(part.child)] = FragmentSize(whole.rows, work, min(whole.rows, whole.rows**0.5))
        probe = probe_of(part)
        if probe is None:
            continue
        prepared = planning.prepared(probe.fragment)
        assert prepared is not None
        found = sum(sizes[id(own)].rows for own in fragments_of(probe.other))
        whole = sizes[id(probe.fragment)]
        probed = returned_rows(probe.other, found, planning) * prepared.work_each(probe.variable)
        if probed < whole.work:
            rows = whole.rows * probed / whole.work
            sizes[id(probe.fragment)] = FragmentSize(rows, probed, rows)
    if isinstance(plan, nodes.Describe):
        prepared = planning.prepared(nodes.ALL_TRIPLES)
        assert prepared is not None
        found = _described(plan, sum(size.rows for size in sizes.values()), planning)
        work, listed = found * prepared.work_each(GRAPH_COLUMNS[0]), found * triples_each(prepared)
        sizes[id(nodes.ALL_TRIPLES)] = FragmentSize(0.0, work, listed)
    return list(sizes.values())


def returns_as_read(plan: Plan) -> bool:
    """Whether an engine may return the first rows before it has read the others."""
    match plan:
        case nodes.Group() | nodes.OrderBy():
            return False
        case nodes.Slice(child=child) | nodes.Project(child=child) | nodes.Extend(child=child):
            return returns_as_read(child)
    return True


def returned_rows(plan: Plan, rows: float, planning: PlannerContext) -> float:
    """Expected rows of a plan over fragments of `rows` rows in all."""
    match plan:
        case Slice(child, offset, limit):
            below = max(0.0, returned_rows(child, rows, planning) - offset)
            return below if limit is None else min(below, float(limit))
        case nodes.Group(keys=()):
            return 1.0
        case nodes.Group():
            return float(rows**0.5)
        case nodes.Project(child=child) | nodes.OrderBy(child=child):
            return returned_rows(child, rows, planning)
        case nodes.Construct(child, template):
            return returned_rows(child, rows, planning) * len(template)
        case nodes.Describe():
            prepared = planning.prepared(nodes.ALL_TRIPLES)
            return _described(plan, rows, planning) * (1.0 if prepared is None else triples_each(prepared))
    return rows


def _described(plan: Plan, rows: float, planning: PlannerContext) -> float:
    """Expected nodes of a DESCRIBE over fragments of `rows` rows in all; without fragments it has one solution."""
    assert isinstance(plan, nodes.Describe)
    found = returned_rows(plan.child, rows, planning) if fragments_of(plan.child) else 1.0
    return described_nodes(plan.subjects, found)


def solutions_of(plan: Plan) -> Plan:
    """The part of a plan whose solutions a CONSTRUCT or DESCRIBE turns into a graph; the plan itself without one."""
    return plan.child if isinstance(plan, nodes.Construct | nodes.Describe) else plan
