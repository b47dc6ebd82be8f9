"""Joins of columns are joins of their rows."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.operators import column_join
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.columns import Column, IdColumn, InColumns, NumberColumn, TermColumn
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.join import HashJoin, Union
from hybridkg.operators.left_join import LeftJoin
from hybridkg.operators.minus import Minus
from hybridkg.planner.cost_model import CostModel
from hybridkg.query.parser import parse
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import XSD, Literal, NamedNode, double
from hybridkg.store.oxigraph import OxigraphStore

pytestmark = pytest.mark.quick

TERMS = [NamedNode("e:1"), NamedNode("e:2"), Literal("x"), Literal(1), Literal("01", datatype=NamedNode(XSD + "int"))]


class Named:
    n_nodes = 2

    def terms(self, ids: np.ndarray) -> list:
        return [None if i == UNBOUND else TERMS[i] for i in ids.tolist()]

    def order_keys(self, ids: np.ndarray, *, total: bool) -> None:
        return None


class Given(PhysicalOperator):
    def __init__(self, solutions: Solutions):
        self.solutions = solutions

    def run(self, context: ExecutionContext) -> Solutions:
        return self.solutions

    def describe(self) -> str:
        return "Given"


def new() -> ExecutionContext:
    return ExecutionContext(None, None, None, lambda *_: [], OxigraphStore.memory, price=CostModel().price)


def column(kind: str, cells: list[int]) -> Column:
    if kind == "ids":
        return IdColumn(np.array([UNBOUND if i > 3 else i for i in cells], np.uint32), Named())
    if kind == "numbers":
        return NumberColumn(np.array(cells, np.float64), double)
    return TermColumn.of([None if i > 3 else TERMS[i] for i in cells])


@st.composite
def sides(draw: st.DrawFn) -> tuple[InColumns, InColumns]:
    made = []
    for names in draw(st.sampled_from([("ab", "bc"), ("ab", "ab"), ("a", "bc"), ("abc", "cad")])):
        size = draw(st.integers(0, 5))
        columns = {
            name: column(
                draw(st.sampled_from(["ids", "ids", "terms", "numbers"])),
                draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)),
            )
            for name in names
        }
        made.append(InColumns(columns, size, new().made))
    return made[0], made[1]


def same(make, left: InColumns, right: InColumns, *, in_order: bool = True) -> None:
    columns = new().run(make(Given(left), Given(right)))
    rows = new().run(make(Given(left.in_rows()), Given(right.in_rows())))
    names = sorted(rows.variables)
    got, want = ([tuple(map(str, row)) for row in side.select(names).rows] for side in (columns, rows))
    assert got == want if in_order else Counter(got) == Counter(want)


CONDITION = parse("SELECT * { FILTER(IF(BOUND(?c), STR(?a) != '1', true)) }").form.where.elements[0].condition


@settings(max_examples=examples(30, 3000), deadline=None)
@given(sides(), st.sampled_from([0, 4, column_join.NESTED_LOOP_PAIRS]))
def test_joins_of_columns_are_joins_of_rows(drawn, nested):
    left, right = drawn
    with patch.object(column_join, "NESTED_LOOP_PAIRS", nested):  # of more pairs the keys are sorted
        same(HashJoin, left, right)
        same(LeftJoin, left, right)
        same(Minus, left, right)
        same(lambda a, b: LeftJoin(a, b, CONDITION), left, right)
        same(lambda a, b: Union((a, b)), left, right)
