"""Arithmetic over columns has the values of Oxigraph."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.operators import column_groups
from hybridkg.operators.columns import IdColumn, InColumns, NumberColumn, TermColumn
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.expressions import column_of, evaluate, true_in_columns, true_rows
from hybridkg.operators.mixed_numbers import DOUBLE, WHOLE, mixed
from hybridkg.operators.number_expressions import NumberExpressions
from hybridkg.planner.cost_model import CostModel
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.rdf.term_texts import TermTexts
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, double
from hybridkg.store.oxigraph import OxigraphStore

pytestmark = pytest.mark.quick

VALUES = [
    Literal(1975), Literal(-3), Literal(0), Literal(2.5), Literal("0.1", datatype=NamedNode(XSD + "decimal")),
    Literal("2.5", datatype=NamedNode(XSD + "float")), Literal(9007199254740993),
    Literal("123456789.123456789", datatype=NamedNode(XSD + "decimal")),
]  # fmt: skip
ODD = [Literal("12"), NamedNode("e:1"), None, Literal("x", datatype=NamedNode(XSD + "integer"))]
TEXTS = [
    "?s + 0.01 * (?y - 1975)", "?s * ?y", "-?s + 1", "?s / ?y", "(?s + ?t) / 2", "?y - ?s", "?s * 2e0 - ?t", "?s + 1",
    "0.7 * ?s + 0.3 * ?y", "?s / (?s - ?s)", "?s + ?y + ?y",
]  # fmt: skip

OF_ANY = [
    "COALESCE(?u, 0)", "COALESCE(?u, ?w)", "COALESCE(?w, ?u, ?s)", "?s + COALESCE(?u, 0)", "COALESCE(?u, 0) + ?w",
    "COALESCE(?u, 0.5) + ?s", "COALESCE(?u / ?w, -1)", "COALESCE(?none, ?u)", "IF(?u > ?s, ?u, ?w)", "IF(?w, 1, 0)",
    "IF(BOUND(?u), 1, 0)", "IF(?u > 1 || !BOUND(?w), ?s, 0)", "IF(?w = 2, ?u, ?none)", "BOUND(?u)", "!BOUND(?w)",
    "!?u", "?u || ?w > 1", "?u && ?w", "?s > 0 && (?u > 0 || ?w > 0)", "?u < ?w", "?u != ?w", "ABS(?u - ?s)",
    "ROUND(?u)", "ROUND(?s * 10) / 10", "FLOOR(?w)", "CEIL(?u)", "FLOOR(?u / 10) * 10", "-?w", "+?u",
    "-(?u > 1)", "?u + (?w > 1)",
    "?w * ?w - ?w", "?w / 2", "?u / 0", "COALESCE(?w / 0, 7)", "?w + true", "(?u > 1) = (?w > 1)", "(?u > 1) = 1",
    "IF(?u > 1, ?u > 2, ?w > 1)", "IF(?u > 1, true, ?w)", "COALESCE(?u > 1, false)", "COALESCE(?y, ?u)", "?y = ?w",
    "?u = ?y", "ROUND(?y)",
    'IF(?u > 1, "high", "low")', 'IF(?u > 1, "a", IF(?w > 1, <e:b>, "c"))', 'IF(?w, "x", "y")', 'IF(?none, "x", "y")',
    'IF(?y > 1, "x", "y")', 'IF(?s > 0, IF(?u > 1, "a", "b"), "c")', 'IF(?u > 1, "a"@en, "b")',
    "1e0 / (-?w)", "1e0 / (?w * -1)", "1e0 / (0 * ?w * -3)", "1e0 / (-0 * COALESCE(-0.5e0, 1))", "1e0 / ((-0) * ?w)",
    "1e0 / (-0.0 * ?u)", "0.1 < ?u", "IF(0.0, ?u, ?w)", "2.5 = ?u", "-0.5 + ?u",
    "IF(?y, ?u, 0)", "?u > 2.5e0", "2.5e0 * ?w", "1.5e-1 + ?u", "COALESCE(?w, 2.5e0)",
]  # fmt: skip

doubles = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 0.1, 0.30000000000000004, 1e300, -1e300, 5e-324])


def expression(text: str) -> ast.Expression:
    return parse(f"SELECT ({text} AS ?x) {{ }}").form.projection[0].expression


def new() -> ExecutionContext:
    return ExecutionContext(None, None, None, lambda *_: [], OxigraphStore.memory, price=CostModel().price)


def solutions(rows: list) -> InColumns:
    s, t, y = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {name: NumberColumn(np.array(cells, np.float64), double) for name, cells in (("s", s), ("t", t))}
    return InColumns({**columns, "y": TermColumn.of(list(y))}, len(rows), new().made)


rows = st.lists(st.tuples(doubles, doubles, st.sampled_from(VALUES)), min_size=1, max_size=6)
odd = st.lists(st.tuples(doubles, doubles, st.sampled_from(VALUES + ODD)), min_size=1, max_size=6)

decimals = st.from_regex(r"[+-]?[0-9]{0,16}\.[0-9]{1,16}", fullmatch=True, alphabet="+-.0123456789")


@settings(max_examples=examples(60, 5_000), deadline=None)
@given(drawn=st.lists(decimals, min_size=20, max_size=20), number=doubles)
def test_a_decimal_is_promoted_as_oxigraph_does(drawn, number):
    table = solutions([(number, 1.0, None)])
    for text in drawn:
        one = expression(f"?s * {text}" if text[0] in "+-" else f"{text} + ?s")
        assert column_of(one, table, new()).cells() == evaluate(one, table.in_rows(), new()), text


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=examples(5, 300), deadline=None)
@given(drawn=rows | odd)
def test_arithmetic_is_that_of_oxigraph(text, drawn):
    table = solutions(drawn)
    want = evaluate(expression(text), table.in_rows(), new())
    assert list(map(str, column_of(expression(text), table, new()).cells())) == list(map(str, want))


some_doubles = st.none() | doubles | st.sampled_from(
    [0.5, -0.5, 2.5, -2.5, 0.49999999999999994, -0.0, 2.0, 4503599627370497.5, float("inf"), float("nan")]
)  # fmt: skip
some_wholes = st.none() | st.sampled_from([0, 1, 2, -3, 94906267, 9007199254740991])
any_rows = st.lists(
    st.tuples(doubles, some_doubles, some_wholes, st.sampled_from([*VALUES, *ODD])), min_size=1, max_size=6
)


def with_absent(rows: list) -> InColumns:
    """?s is a double in each row, ?u one in some, ?w an integer in some, and ?y anything."""
    s, u, w, y = zip(*rows, strict=True)
    kinds = [[0 if cell is None else kind for cell in cells] for cells, kind in ((u, DOUBLE), (w, WHOLE))]
    columns = {
        "s": NumberColumn(np.array(s, np.float64), double),
        "u": mixed(np.array([cell or 0.0 for cell in u]), np.array(kinds[0], np.uint8), double),
        "w": mixed(np.array([float(cell or 0) for cell in w]), np.array(kinds[1], np.uint8), double),
        "y": TermColumn.of(list(y)),
    }
    return InColumns(columns, len(rows), new().made)


@pytest.mark.parametrize("text", OF_ANY)
@settings(max_examples=examples(8, 300), deadline=None)
@given(drawn=any_rows)
def test_absent_numbers_and_conditions_have_the_values_of_oxigraph(text, drawn):
    table = with_absent(drawn)
    want = evaluate(expression(text), table.in_rows(), new())
    assert list(map(str, column_of(expression(text), table, new()).cells())) == list(map(str, want))
    condition = ast.Call("IF", (expression(text), *(ast.Lit(word, XSD + "boolean") for word in ("true", "false"))))
    want = true_rows(evaluate(condition, table.in_rows(), new()))
    assert true_in_columns(condition, table, new()).tolist() == want


@pytest.mark.parametrize("text", [text for text in OF_ANY if not {"?y", "?none"} & set(re.findall(r"\?\w+", text))])
def test_they_need_no_engine(text):
    table = with_absent([(0.5, None, 2, None), (0.25, 1.5, None, None), (0.1, 2.5, 3, None), (0.1, 0.5, 1, None)])
    found = NumberExpressions(table, lambda part: column_of(part, table, new())).column(expression(text))
    if text in NEED_ORACLE:
        assert found is None
    else:
        assert found is not None


NEED_ORACLE = (
    'IF(?s > 0, IF(?u > 1, "a", "b"), "c")',
    'IF(?u > 1, "a"@en, "b")',
    "?w / 2",
    "(?u > 1) = (?w > 1)",
    "(?u > 1) = 1",
    "COALESCE(?w / 0, 7)",
    "IF(?u > 1, true, ?w)",
)
"""Decimals, comparisons of truth values, and truth values beside numbers."""


@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "=", "!="])
@settings(max_examples=examples(6, 300), deadline=None)
@given(drawn=rows | odd)
def test_comparisons_are_those_of_oxigraph(op, drawn):
    table = solutions(drawn)
    yes, no = (ast.Lit(word, XSD + "boolean") for word in ("true", "false"))
    condition = ast.Call("IF", (expression(f"?s {op} ?y"), yes, no))
    want = true_rows(evaluate(condition, table.in_rows(), new()))
    assert true_in_columns(condition, table, new()).tolist() == want


def test_numbers_need_no_engine_beyond_the_distinct_values():
    table = solutions([(0.5, 1.0, Literal(1975)), (0.25, 1.0, Literal(1976))])
    asked = []

    def evaluated(part: ast.Expression) -> TermColumn:
        asked.append(part)
        return column_of(part, table, new())

    found = NumberExpressions(table, evaluated).column(expression("?s * 2 + ?y"))
    assert found is not None
    assert found.numbers.tolist() == [1976.0, 1976.5]
    assert all(not isinstance(part, ast.Binary) for part in asked)


class Nodes:
    """Ids of nodes, and one of a literal."""

    n_nodes = 2

    def terms(self, ids: np.ndarray) -> list:
        return [[NamedNode("e:1"), NamedNode("e:2"), Literal(1)][i] for i in ids.tolist()]

    def order_keys(self, ids: np.ndarray, *, total: bool) -> None:
        return None


@pytest.mark.parametrize("op", ["=", "!="])
@pytest.mark.parametrize("ids", [([0, 1, 1], [0, 0, 1]), ([0, 2, 2], [2, 2, 1])])
def test_nodes_are_equal_where_their_ids_are(op, ids):
    columns = {name: IdColumn(np.array(own, np.uint32), Nodes()) for name, own in zip("ab", ids, strict=True)}
    table = InColumns(columns, 3, new().made)
    yes, no = (ast.Lit(word, XSD + "boolean") for word in ("true", "false"))
    condition = ast.Call("IF", (expression(f"?a {op} ?b"), yes, no))
    want = true_rows(evaluate(condition, table.in_rows(), new()))
    assert true_in_columns(condition, table, new()).tolist() == want


class Named:
    """Ids of IRIs, the last one of a blank node, in the order of their numbers but for two."""

    n_nodes = 4
    nodes = (NamedNode("e:2"), NamedNode("e:10"), NamedNode("e:é"), BlankNode("b"))

    def terms(self, ids: np.ndarray) -> list:
        return [self.nodes[i] for i in ids.tolist()]

    def texts(self, ids: np.ndarray) -> TermTexts:
        return TermTexts.of(self.terms(ids))

    def order_keys(self, ids: np.ndarray, *, total: bool) -> np.ndarray:
        return np.array([2, 1, 3, 0])[ids]


@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "=", "!="])
@pytest.mark.parametrize("ids", [([0, 1, 2, 0], [1, 2, 2, 2]), ([0, 3, 1], [3, 0, 1])])
def test_texts_of_iris_are_compared_by_the_order_of_nodes(op, ids):
    graph = Named()
    columns = {name: IdColumn(np.array(own, np.uint32), graph) for name, own in zip("ab", ids, strict=True)}
    table = InColumns(columns, len(ids[0]), new().made)
    yes, no = (ast.Lit(word, XSD + "boolean") for word in ("true", "false"))
    compared = expression(f"STR(?a) {op} STR(?b)")
    condition = ast.Call("IF", (compared, yes, no))
    want = true_rows(evaluate(condition, table.in_rows(), new()))
    assert true_in_columns(condition, table, new()).tolist() == want
    mask = NumberExpressions(table, lambda part: column_of(part, table, new())).truth(compared)
    assert (mask is None) == (3 in ids[0])


INTEGERS = ["7", "-3", "+007", "0", "9007199254740991", "9007199254740992", "1" + "0" * 5_000, "0" * 5_000 + "4", "1.5"]


@settings(max_examples=examples(100, 3_000), deadline=None)
@given(st.lists(st.sampled_from([*VALUES, *ODD, *(Literal(n, datatype=NamedNode(XSD + "integer")) for n in INTEGERS)])))
def test_a_few_integers_are_read_as_many_are(terms):
    column = TermColumn.of(terms)
    few = column_groups.whole_numbers(column)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_groups, "FEW", -1)
        many = column_groups.whole_numbers(column)
    assert (few is None) == (many is None)
    assert few is None or few.tolist() == many.tolist()
