"""Aggregates that are computed here, against Oxigraph."""

from __future__ import annotations

from dataclasses import dataclass
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.operators.aggregates import PlainGroups
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.group import GroupRows
from hybridkg.operators.mixed_numbers import written
from hybridkg.planner.cost_model import CostModel
from hybridkg.query.parser import parse
from hybridkg.rdf.order import sorted_rows
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, double
from hybridkg.store.oxigraph import OxigraphStore

COLUMNS = ("a", "b", "s", "t")

PLAIN = [
    "SELECT ?a (SUM(?s) AS ?x) (COUNT(?b) AS ?n) { } GROUP BY ?a",
    "SELECT (AVG(?s) AS ?x) ?b (MIN(?s) AS ?low) (MAX(?s) AS ?high) { } GROUP BY ?b ?a",
    "SELECT ?a (COUNT(*) AS ?n) (COUNT(DISTINCT ?b) AS ?m) { } GROUP BY ?a ?c",
    "SELECT ?b { } GROUP BY ?a ?b HAVING (COUNT(?b) > 1) (SUM(?s) < 5)",
    "SELECT (SUM(?s) / COUNT(?s) AS ?x) (CONCAT(STR(?a), 'x') AS ?y) { } GROUP BY ?a HAVING (COUNT(?missing) = 0)",
    "SELECT (MAX(?t) AS ?x) (SUM(?t) - MIN(?s) AS ?y) (COUNT(?t) AS ?z) { } GROUP BY ?c",
    "SELECT (SUM(?s) AS ?x) { }",
    "SELECT (SUM(DISTINCT ?b) AS ?x) { } GROUP BY ?a",
    "SELECT (SUM(DISTINCT ?s) AS ?x) (AVG(DISTINCT ?s) AS ?y) (MAX(DISTINCT ?t) AS ?high) { } GROUP BY ?b",
    "SELECT (SUM(?s + 1) AS ?x) { } GROUP BY ?b",
    "SELECT (SUM(COALESCE(?t, 1)) AS ?x) (COUNT(DISTINCT ?s) AS ?n) { } GROUP BY ?a",
    "SELECT ?k { } GROUP BY (STR(?a) AS ?k)",
    "SELECT (SUM(?a) AS ?x) (AVG(?a) AS ?y) (MIN(?a) AS ?low) (MAX(?b) AS ?high) { } GROUP BY ?b",
    "SELECT (COUNT(?a + 1) AS ?x) (AVG(STRLEN(STR(?a))) AS ?y) { }",
    "SELECT (COUNT(DISTINCT *) AS ?x) (COUNT(*) AS ?n) { } GROUP BY ?b",
]
OTHERS = [
    "SELECT (GROUP_CONCAT(?a) AS ?x) { } GROUP BY ?b",
    "SELECT ?a { } GROUP BY ?a HAVING (EXISTS { ?a ?b ?c })",
]

nodes = st.sampled_from(
    [None, NamedNode("e:1"), NamedNode("e:2"), BlankNode("b"), Literal("x"), Literal("x", language="en")]
)
odd = st.sampled_from(
    [Literal(1), Literal("01", datatype=NamedNode(XSD + "integer")), Literal(1.0),
     Literal("+1", datatype=NamedNode(XSD + "int")), Literal("x", datatype=NamedNode(XSD + "integer")),
     Literal("y", datatype=NamedNode("e:type"))]
)  # fmt: skip
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(0, 30),
    st.sampled_from([0.1, 0.2, 0.3, 1e16, 1e300, -1e300, 1.7e308, 5e-324, -0.0, 0.0, 12.0]),
).map(double)
others = st.one_of(
    numbers, st.sampled_from([None, Literal(3), Literal("NaN", datatype=NamedNode(XSD + "double")), Literal("x")])
)
tables = st.lists(st.tuples(nodes | odd, nodes, numbers, numbers), max_size=12)
mixed = st.lists(st.tuples(nodes, nodes | odd, others, numbers), max_size=8)


@dataclass(frozen=True)
class Rows(PhysicalOperator):
    solutions: Solutions

    def run(self, context: ExecutionContext) -> Solutions:
        return self.solutions

    def describe(self) -> str:
        return "Rows"


def group_rows(text: str, rows: list, ranked: tuple[str, ...] = ()) -> GroupRows:
    form = parse(text).form
    modifiers = form.modifiers
    child = Rows(Solutions(COLUMNS, rows))
    return GroupRows(child, modifiers.group_by, modifiers.having, form.projection, ranked=ranked)


def run(operator: GroupRows) -> Solutions:
    context = ExecutionContext(None, None, None, lambda *_: [], OxigraphStore.memory, price=CostModel().price)
    return context.run(operator).in_rows()


@pytest.mark.parametrize("text", PLAIN)
@settings(max_examples=examples(5, 120), deadline=None)
@given(rows=tables | mixed)
def test_groups_are_those_of_oxigraph(text, rows):
    operator = group_rows(text, rows)
    with patch.object(PlainGroups, "groups", lambda *_, **__: None):
        want = run(operator)
    assert operator._plain is not None
    assert run(operator) == want


@settings(max_examples=examples(8, 200), deadline=None)
@given(tables | mixed, st.sampled_from(PLAIN), st.sampled_from(COLUMNS), st.randoms(use_true_random=False))
def test_doubles_are_summed_in_the_order_of_the_ranked_entity_wherever_its_rows_are(rows, text, name, random):
    operator = group_rows(text, rows, (name,))
    with patch.object(PlainGroups, "groups", lambda *_, **__: None):
        want = run(operator)
    assert run(operator) == want
    random.shuffle(rows)
    assert run(group_rows(text, rows, (name,))) == want


@pytest.mark.parametrize("more", ["", "(COUNT(DISTINCT ?b) AS ?n)"])
def test_a_computed_input_has_no_place_in_the_order_of_a_sum(more):
    # In the order of ?t, -1 - 1 - 1e16 is -10000000000000002; in the order of the differences, each -1 is lost.
    rows = [(NamedNode("e:1"), NamedNode("e:2"), double(0.0), double(value)) for value in (1.0, 1e16, 1.0)]
    operator = group_rows(f"SELECT (SUM(?s - ?t) AS ?x) {more} {{ }} GROUP BY ?a", rows, ("a",))
    with patch.object(PlainGroups, "groups", lambda *_, **__: None):
        want = run(operator)
    assert float(want.rows[0][want.variables.index("x")].value) == -10000000000000002.0
    assert run(operator) == want


def test_a_double_has_the_digits_of_oxigraph_where_two_forms_are_as_short():
    assert written(2.0**-25).value == "0.000000029802322387695313"  # repr: 2.9802322387695312e-08
    rows = [(NamedNode("e:1"), None, double(0.0), double(0.0)), (NamedNode("e:1"), None, double(2.0**-24), double(0.0))]
    operator = group_rows("SELECT (AVG(?s) AS ?x) { } GROUP BY ?a", rows)
    with patch.object(PlainGroups, "groups", lambda *_, **__: None):
        want = run(operator)
    assert run(operator) == want


@pytest.mark.parametrize(
    "digits", [("2.5", "0.5"), ("0.125", "0.375"), ("2.25", "0.5"), ("100.0", "-100"), ("7", "3.0")]
)
def test_a_sum_of_decimals_has_the_digits_of_oxigraph(digits):
    rows = [
        (NamedNode("e:1"), None, Literal(text, datatype=NamedNode(XSD + "decimal")), double(0.0)) for text in digits
    ]
    operator = group_rows("SELECT (SUM(?s) AS ?x) { } GROUP BY ?a", rows)
    with patch.object(PlainGroups, "groups", lambda *_, **__: None):
        want = run(operator)
    assert run(operator) == want


@pytest.mark.parametrize("aggregate", ["SUM", "AVG", "MIN", "MAX"])
def test_an_unbound_cell_is_an_error_of_a_distinct_aggregate(aggregate):
    rows = [(NamedNode("e:1"), None, cell, double(0.0)) for cell in (double(1.5), None, double(2.5), double(1.5))]
    operator = group_rows(f"SELECT (COUNT(*) AS ?n) ({aggregate}(DISTINCT ?s) AS ?x) {{ }} GROUP BY ?a", rows)
    assert run(operator).rows == [(Literal(4), None)]


def test_distinct_doubles_are_added_in_the_order_of_their_rows():
    numbers = (0.1, 0.7, 0.2, 0.1, 0.3, 1e16, -1e16, 0.7)
    rows = [(NamedNode("e:1"), NamedNode(f"e:{n}"), double(s), double(n)) for n, s in enumerate(numbers)]
    operator = group_rows("SELECT (SUM(DISTINCT ?s) AS ?x) { } GROUP BY ?a", rows)
    with patch.object(PlainGroups, "groups", lambda *_, **__: None):
        want = run(operator)
    assert run(operator) == want


@pytest.mark.parametrize("text", OTHERS)
def test_what_needs_a_sparql_engine_is_left_to_it(text):
    assert group_rows(text, [])._plain is None


def test_a_group_of_plain_numbers_needs_no_engine():
    rows = [(NamedNode("e:1"), None, double(1.5), double(2.0)), (NamedNode("e:1"), None, double(0.5), double(2.0))]
    operator = group_rows(PLAIN[0], rows)
    found = ExecutionContext(None, None, None, lambda *_: [], lambda triples: 1 / 0, price=CostModel().price).run(
        operator
    )
    assert [[str(cell) for cell in row] for row in found.rows] == [
        ["<e:1>", str(Literal("2", datatype=NamedNode(XSD + "double"))), str(Literal(0))]
    ]


def test_many_groups_are_in_the_order_of_their_columns_the_later_ones_too():
    rows = [(NamedNode(f"e:{n % 150}"), BlankNode(str(n % 4)), double(n % 7), double(n)) for n in range(900)]
    operator = group_rows("SELECT ?b (MAX(?s) AS ?x) (COUNT(*) AS ?n) { } GROUP BY ?b ?a", rows)
    found = run(operator).rows
    assert len(found) == 300
    assert found == sorted_rows(found[::-1], range(3))
