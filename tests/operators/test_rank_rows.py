"""RANK BY over columns has the order and the values of RANK BY over rows, also where scores are absent."""

from __future__ import annotations

from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.columns import InColumns, TermColumn
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.mixed_numbers import DOUBLE, NO_NUMBER, mixed
from hybridkg.operators.order_rows import RankRows
from hybridkg.planner.cost_model import CostModel
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import Literal, NamedNode, double
from hybridkg.store.oxigraph import OxigraphStore

EXPRESSIONS = [
    "?s", "?s + ?t", "COALESCE(?s, 0.25)", "COALESCE(?s, 0)", "?s + COALESCE(?t, 0)", "COALESCE(?s, ?t, -1)",
    "IF(BOUND(?t), ?s, 0.5)", "COALESCE(?s, 2) + 0.01 * ?g", "10 * ?g + COALESCE(?t, 0)", "IF(?s > ?t, ?s, ?g)", "?g",
    "-?s", "ROUND(?s)", "?s / ?t",
]  # fmt: skip

scores = st.none() | st.sampled_from([0.5, 1.5, 2.0, -1.0, 0.0, 0.25, 100.0])
rows = st.lists(st.tuples(scores, scores, st.sampled_from([Literal(3), Literal(1), None])), min_size=1, max_size=8)


@dataclass(frozen=True)
class Given(PhysicalOperator):
    solutions: Solutions

    def run(self, context: ExecutionContext) -> Solutions:
        return self.solutions

    def describe(self) -> str:
        return "Given"


def new() -> ExecutionContext:
    return ExecutionContext(None, None, None, lambda *_: [], OxigraphStore.memory, price=CostModel().price)


def numbers(cells: tuple[float | None, ...]):
    kinds = np.array([NO_NUMBER if cell is None else DOUBLE for cell in cells], np.uint8)
    return mixed(np.array([cell or 0.0 for cell in cells], np.float64), kinds, double)


def expression(text: str) -> ast.Expression:
    return parse(f"SELECT ({text} AS ?r) {{ }}").form.projection[0].expression


@pytest.mark.parametrize("text", EXPRESSIONS)
@settings(max_examples=examples(10, 300), deadline=None)
@given(drawn=rows)
def test_columns_are_ranked_as_rows_are(text, drawn):
    s, t, g = zip(*drawn, strict=True)
    entities = TermColumn.of([NamedNode(f"e:{n % 5}") for n in range(len(drawn))])
    columns = {"x": entities, "s": numbers(s), "t": numbers(t), "g": TermColumn.of(list(g))}
    table = InColumns(columns, len(drawn), new().made)
    operator = RankRows(Given(table), expression(text), "r", ("s", "t"), ("x",))
    with patch.object(RankRows, "_by_number", lambda *_: None):
        want = new().run(operator)
    found = new().run(operator)
    assert found.variables == want.variables
    assert [list(map(str, row)) for row in found.rows] == [list(map(str, row)) for row in want.rows]


def test_absent_scores_are_ranked_in_columns():
    table = InColumns({"s": numbers((0.5, None, 2.0))}, 3, new().made)
    found = new().run(RankRows(Given(table), expression("COALESCE(?s, 1) * 2"), "r", ("s",), ()))
    assert isinstance(found, InColumns)
    assert [str(row[1].value) for row in found.rows] == ["4", "2", "1"]
