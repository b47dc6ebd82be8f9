"""What is computed from columns is what is computed from their rows: the same terms, in the same order."""

from __future__ import annotations

from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.interfaces.meter import ROWS
from hybridkg.operators.aggregates import PlainGroups
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.columns import IdColumn, InColumns, NumberColumn
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.group import GroupRows
from hybridkg.operators.order_rows import OrderRows, RankRows
from hybridkg.operators.project import Project, Slice
from hybridkg.planner.cost_model import CostModel
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, double
from hybridkg.store.oxigraph import OxigraphStore

COLUMNS = ("a", "b", "s", "t")

TERMS = [
    NamedNode("e:1"), NamedNode("e:10"), NamedNode("e:1?"), NamedNode("e:1/2"), BlankNode("b"), Literal("x"),
    Literal("x", language="en"), Literal(1), Literal("1", datatype=NamedNode(XSD + "double")), Literal("10"), None,
]  # fmt: skip
"""IRIs that begin with another one, whose texts are not in the order of the IRIs; the last one has the id UNBOUND."""

GROUPS = [
    "SELECT ?a (SUM(?s) AS ?x) (COUNT(?b) AS ?n) { } GROUP BY ?a",
    "SELECT (AVG(?s) AS ?x) ?b (MIN(?s) AS ?low) (MAX(?t) AS ?high) { } GROUP BY ?b ?a",
    "SELECT (SUM(?t) AS ?x) ?a (COUNT(*) AS ?n) (COUNT(DISTINCT ?b) AS ?m) (COUNT(?s) AS ?k) { } GROUP BY ?a ?c",
    "SELECT (SUM(?s) AS ?x) ?b { } GROUP BY ?a ?b HAVING (COUNT(?b) > 1) (SUM(?s) < 5)",
    "SELECT (COUNT(?missing) AS ?x) ?c (MAX(?s) AS ?y) { } GROUP BY ?b ?c ?b",
    "SELECT (SUM(?s) / COUNT(?s) AS ?x) ?a (AVG(?t) AS ?y) { } GROUP BY ?a",
    "SELECT (COUNT(DISTINCT ?s) AS ?x) ?s { } GROUP BY ?a ?s",
    "SELECT (SUM(?b) AS ?x) ?a { } GROUP BY ?a",
]

ids = st.integers(0, 1) | st.integers(0, len(TERMS) - 1)
ties = st.sampled_from([0.5, 1.0, 0.1, 0.2, 0.3, 12.0])
numbers = st.one_of(
    ties,
    st.sampled_from([0.0, -0.0, 1e16, -1e16, 1.7e308, 5e-324, -5e-324, float("inf"), float("nan")]),
    st.floats(allow_nan=False, allow_infinity=False),
)


def tables(cells: st.SearchStrategy[float], size: int) -> st.SearchStrategy[list]:
    return st.lists(st.tuples(ids, ids, cells, ties), max_size=size)


table = tables(ties, 40) | tables(st.sampled_from([0.0, -0.0, 0.5]), 12) | tables(numbers, 8)


@dataclass(frozen=True)
class Given(PhysicalOperator):
    """The table, held in columns or in rows."""

    table: list
    in_columns: bool

    def run(self, context: ExecutionContext) -> Solutions:
        held = columns(self.table, context)
        return held if self.in_columns else held.in_rows()

    def describe(self) -> str:
        return "Given"


class Named:
    """Names of ids, whose order ids do not decide."""

    n_nodes = 0

    def terms(self, of: np.ndarray) -> list:
        return [None if i == UNBOUND else TERMS[i] for i in of.tolist()]

    def order_keys(self, ids: np.ndarray, *, total: bool) -> None:
        return None


def columns(rows: list, context: ExecutionContext) -> InColumns:
    a, b, s, t = zip(*rows, strict=True) if rows else ((), (), (), ())
    held = {
        name: IdColumn(np.array([UNBOUND if TERMS[i] is None else i for i in cells], np.uint32), Named())
        for name, cells in (("a", a), ("b", b))
    }
    held |= {name: NumberColumn(np.array(cells, np.float64), double) for name, cells in (("s", s), ("t", t))}
    return InColumns(held, len(rows), context.made)


def new() -> ExecutionContext:
    return ExecutionContext(None, None, None, lambda *_: [], OxigraphStore.memory, price=CostModel().price)


def group(text: str, child: PhysicalOperator) -> GroupRows:
    form = parse(text).form
    return GroupRows(child, form.modifiers.group_by, form.modifiers.having, form.projection)


def ranked(child: PhysicalOperator, name: str, scores: tuple[str, ...], first: int | None) -> PhysicalOperator:
    shown = ("b", "x", "unknown", "a")
    return Slice(
        Project(RankRows(child, ast.Var(name), "_rank", scores, ("n", "a")), shown, hidden=("_rank",)), 1, first
    )


@pytest.mark.parametrize("text", GROUPS)
@settings(max_examples=examples(5, 160), deadline=None)
@given(rows=table)
def test_groups_of_columns_are_groups_of_rows(text, rows):
    with patch.object(PlainGroups, "groups", lambda *_, **__: None):
        want = new().run(group(text, Given(rows, in_columns=False)))
    assert new().run(group(text, Given(rows, in_columns=True))).in_rows() == want.in_rows()


@pytest.mark.parametrize("text", GROUPS)
@settings(max_examples=examples(5, 80), deadline=None)
@given(rows=table, first=st.sampled_from([None, 1, 3]))
def test_ranked_groups_of_columns_are_those_of_rows(text, rows, first):
    want, got = (
        new().run(ranked(group(text, Given(rows, in_columns)), "x", (), first)) for in_columns in (False, True)
    )
    assert got.in_rows() == want.in_rows()


@settings(max_examples=examples(36, 400), deadline=None)
@given(rows=table, name=st.sampled_from(["s", "t", "b", "x"]), first=st.sampled_from([None, 0, 1, 3]))
def test_ranked_columns_are_ranked_rows(rows, name, first):
    want, got = (new().run(ranked(Given(rows, in_columns), name, ("s", "t"), first)) for in_columns in (False, True))
    assert got.in_rows() == want.in_rows()


many = tables(ties, 80).map(lambda rows: rows * 3) | tables(st.sampled_from([0.5, 1.0]), 300)
many |= many.map(lambda rows: [(rows[0][0], *row[1:]) for row in rows])  # a column of one id
sort_keys = st.lists(
    st.tuples(st.sampled_from(COLUMNS), st.booleans()), min_size=1, max_size=3, unique_by=lambda key: key[0]
)


@settings(max_examples=examples(36, 400), deadline=None)
@given(rows=many, keys=sort_keys, names=st.permutations(COLUMNS), first=st.sampled_from([1, 2, 7, 30]))
def test_the_first_rows_of_an_order_are_those_of_the_whole_order(rows, keys, names, first):
    whole, best = (
        new().run(Slice(OrderRows(Given(rows, in_columns=True), tuple(keys), tuple(names[:2])), 1, limit))
        for limit in (None, first)
    )
    assert best.in_rows() == whole.take(range(min(first, whole.size))).in_rows()
    assert (
        best.in_rows()
        == new().run(Slice(OrderRows(Given(rows, in_columns=False), tuple(keys), tuple(names[:2])), 1, first)).in_rows()
    )


@settings(max_examples=examples(24, 200), deadline=None)
@given(rows=table, places=st.lists(st.integers(0, 7), max_size=5), names=st.permutations([*COLUMNS, "x"]))
def test_what_is_taken_of_columns_is_what_is_taken_of_rows(rows, places, names):
    held = columns(rows, new())
    places = [place for place in places if place < len(rows)]
    assert held.size == len(held.rows)
    for one, other in (
        (held.take(places), held.in_rows().take(places)),
        (held.select(names[:3]), held.in_rows().select(names[:3])),
        (held.select([]), held.in_rows().select([])),
    ):
        assert one.in_rows() == other
    assert all(held.cells(name) == held.in_rows().cells(name) for name in names)


def test_only_what_is_read_becomes_terms():
    rows = [(n % 6, n % 11, 0.1 * (n % 17), 1.0) for n in range(1000)]
    run = new()
    found = run.run(ranked(group("SELECT ?a ?b (SUM(?s) AS ?x) { } GROUP BY ?a ?b", Given(rows, True)), "x", (), 5))
    assert (found.size, run.meter.counts.get(ROWS)) == (5, None)
    assert (len(found.rows), run.meter.counts[ROWS]) == (5, 5)
    assert [actual.rows for actual in run.actuals.values()] == [1000, 66, 9, 9, 5]  # ties of the fifth
