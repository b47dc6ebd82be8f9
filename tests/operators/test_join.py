"""Joins over solution lists, against the definitions of SPARQL 1.1 section 18.3 read aloud."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from hybridkg.errors import QueryLimitError
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.join import HashJoin, Union
from hybridkg.operators.left_join import LeftJoin
from hybridkg.operators.minus import Minus
from hybridkg.planner.cost_model import CostModel
from hybridkg.rdf.solutions import Solutions

A, B = NamedNode("x:a"), NamedNode("x:b")


class Given(PhysicalOperator):
    """An operator with fixed rows."""

    def __init__(self, solutions: Solutions):
        self.solutions = solutions

    def run(self, context: ExecutionContext) -> Solutions:
        return self.solutions

    def describe(self) -> str:
        return "Given"


def context(max_rows: int = 1000) -> ExecutionContext:
    return ExecutionContext(
        None, None, None, lambda node, fields: [], lambda triples: None, max_rows, price=CostModel().price
    )


cells = st.sampled_from([None, A, B])
tables = st.lists(st.sampled_from("xyz"), unique=True, max_size=3).flatmap(
    lambda names: st.lists(st.tuples(*[cells for _ in names]), max_size=5).map(
        lambda rows: Solutions(tuple(names), rows)
    )
)


def mappings(solutions: Solutions) -> list[dict]:
    return [
        {name: cell for name, cell in zip(solutions.variables, row, strict=True) if cell is not None}
        for row in solutions.rows
    ]


def compatible(a: dict, b: dict) -> bool:
    return all(a[name] == b[name] for name in a.keys() & b.keys())


def bag(rows: Iterable[dict]) -> Counter:
    return Counter(frozenset(row.items()) for row in rows)


@given(tables, tables)
def test_join_is_the_merge_of_compatible_pairs(left, right):
    got = HashJoin(Given(left), Given(right)).run(context())
    want = [a | b for a in mappings(left) for b in mappings(right) if compatible(a, b)]
    assert bag(mappings(got)) == bag(want)


@given(tables, tables)
def test_left_join_keeps_the_rows_that_find_no_partner(left, right):
    got = LeftJoin(Given(left), Given(right)).run(context())
    want = []
    for a in mappings(left):
        partners = [a | b for b in mappings(right) if compatible(a, b)]
        want += partners or [a]
    assert bag(mappings(got)) == bag(want)


@given(tables, tables)
def test_minus_removes_only_what_shares_a_bound_variable(left, right):
    got = Minus(Given(left), Given(right)).run(context())
    want = [a for a in mappings(left) if not any(compatible(a, b) and a.keys() & b.keys() for b in mappings(right))]
    assert bag(mappings(got)) == bag(want)


@given(tables, tables)
def test_union_keeps_every_row_of_both(left, right):
    got = Union((Given(left), Given(right))).run(context())
    assert bag(mappings(got)) == bag(mappings(left) + mappings(right))


@given(tables, tables)
def test_operators_do_not_change_what_they_read(left, right):
    before = (list(left.rows), list(right.rows))
    for operator in (HashJoin, LeftJoin, Minus):
        operator(Given(left), Given(right)).run(context())
    assert (left.rows, right.rows) == before


def test_a_product_that_is_too_large_is_an_error_not_a_full_memory():
    wide = Solutions(("x",), [(A,)] * 100)
    other = Solutions(("y",), [(B,)] * 100)
    with pytest.raises(QueryLimitError, match="more than 1,000 rows"):
        HashJoin(Given(wide), Given(other)).run(context())


def test_own_time_excludes_the_children():
    run = context()
    join = HashJoin(Given(Solutions(("x",), [(A,)])), Given(Solutions(("x",), [(A,)])))
    run.run(join)
    assert len(run.actuals) == 3
    assert run.actuals[id(join)].rows == 1


class Fails(Given):
    """An operator that runs another one, and fails."""

    def run(self, context: ExecutionContext) -> Solutions:
        context.run(Given(self.solutions))
        raise QueryLimitError("too large")


class FallsBack(Given):
    """An operator that runs another one where its first choice fails."""

    def run(self, context: ExecutionContext) -> Solutions:
        context.unless(lambda: context.run(Fails(self.solutions)), QueryLimitError)
        return context.run(Given(self.solutions))


def test_own_times_add_up_to_the_time_of_the_root_also_after_a_run_that_failed():
    run = context()
    one = Solutions(("x",), [(A,)])
    root = HashJoin(FallsBack(one), FallsBack(one))
    run.run(root)
    operator, rows, start, end = run.runs[-1]
    assert (operator, rows, run.running) == (root, 1, [])
    assert len(run.actuals) == len(run.runs) == 7  # not the two that failed
    assert all(actual.own_ns > 0 for actual in run.actuals.values())
    assert sum(actual.own_ns for actual in run.actuals.values()) == end - start
