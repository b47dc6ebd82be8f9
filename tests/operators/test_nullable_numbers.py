"""A column of numbers with unbound cells gives what the same cells give as terms, and makes no term before one is read.

TermColumn, which holds the terms, is the reference.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.operators.column_join import concatenated
from hybridkg.operators.columns import Column, ColumnsDeclined, NumberColumn, TermColumn, unbound
from hybridkg.operators.nullable_numbers import NullableNumbers
from hybridkg.rdf.terms import Literal, double

numbers = st.one_of(st.none(), st.sampled_from([0.5, 2.0, -1.0, 1e300, 0.0, -0.0, float("inf"), float("nan")]))


def column_of(cells: list[float | None]) -> NullableNumbers:
    is_bound = np.array([cell is not None for cell in cells], bool)
    return NullableNumbers(np.array([7.0 if cell is None else cell for cell in cells]), is_bound, double)


def terms_of(cells: list[float | None]) -> list[Literal | None]:
    return [None if cell is None else double(cell) for cell in cells]


def classes(keys: np.ndarray) -> list[int]:
    return np.unique(keys, return_inverse=True)[1].tolist()


def order_of(column: Column, *, total: bool) -> list[int] | str:
    try:
        return np.argsort(column.order(total=total), kind="stable").tolist()
    except ColumnsDeclined as e:
        return str(e)


@given(st.lists(numbers, max_size=12))
def test_it_gives_what_terms_give(cells):
    column, terms = column_of(cells), TermColumn.of(terms_of(cells))
    assert column.cells() == terms.cells()
    assert column.mapped(str) == terms.mapped(str)
    assert column.has_unbound == terms.has_unbound
    assert column.is_bound.tolist() == [cell is not None for cell in cells]
    same = [[a == b for b in classes(column.keys)] for a in classes(column.keys)]
    assert same == [[a == b for b in classes(terms.keys)] for a in classes(terms.keys)]
    assert column.texts() is None


@given(st.lists(numbers, min_size=1, max_size=12), st.booleans())
def test_it_is_ordered_as_terms_are(cells, total):
    assert order_of(column_of(cells), total=total) == order_of(TermColumn.of(terms_of(cells)), total=total)


@given(st.lists(numbers, min_size=1, max_size=12), st.data())
def test_some_of_its_cells_and_each_of_them(cells, data):
    column = column_of(cells)
    places = data.draw(st.lists(st.integers(0, len(cells) - 1), max_size=8))
    assert column.take(np.array(places, np.intp)).cells() == [terms_of(cells)[place] for place in places]
    distinct, place = column.each()
    assert distinct.take(place).cells() == terms_of(cells)
    assert len(distinct.keys) == len(set(map(str, terms_of(cells))))


@given(st.lists(st.lists(numbers, max_size=5), min_size=1, max_size=4))
def test_columns_one_after_the_other_stay_numbers(parts):
    given_columns = [
        NumberColumn(np.array(cells, float), double) if None not in cells
        else unbound(len(cells)) if set(cells) == {None}
        else column_of(cells)
        for cells in parts
    ]  # fmt: skip
    whole = concatenated(given_columns)
    cells = [cell for part in parts for cell in part]
    assert whole.cells() == terms_of(cells)
    if any(cell is not None for cell in cells):
        assert isinstance(whole, NullableNumbers if None in cells else NumberColumn)


def test_no_term_is_made_before_one_is_read():
    def never(number: float) -> Literal:
        raise AssertionError(number)

    column = NullableNumbers(np.array([0.5, 0.0, 2.0]), np.array([True, False, True]), never)
    assert column.order(total=True).tolist() == [0.5, -np.inf, 2.0]
    assert column.take(np.array([1, 0])).is_bound.tolist() == [False, True]
    assert len(column.each()[0].keys) == 3
    whole = concatenated([column, unbound(2), NumberColumn(np.array([4.0]), never)])
    assert whole.is_bound.tolist() == [True, False, True, False, False, True]
    with pytest.raises(AssertionError):
        column.cells()
