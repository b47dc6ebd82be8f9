"""A column of doubles, integers and unbound cells gives what these give as terms, and makes none before it is read.

TermColumn, which holds the terms, is the reference.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.operators.column_join import concatenated
from hybridkg.operators.columns import Column, ColumnsDeclined, NumberColumn, TermColumn, unbound
from hybridkg.operators.mixed_numbers import DOUBLE, NO_NUMBER, WHOLE, MixedNumbers, mixed, whole
from hybridkg.rdf.terms import Literal, double

numbers = st.one_of(
    st.none(),
    st.sampled_from([0.5, 2.0, -1.0, 1e300, 0.0, -0.0, float("inf"), float("nan")]),
    st.sampled_from([0, 2, -7]),
)
"""None, a double or an integer."""


def kind_of(cell: float | None) -> int:
    return NO_NUMBER if cell is None else WHOLE if isinstance(cell, int) else DOUBLE


def column_of(cells: list[float | None]) -> MixedNumbers:
    kinds = np.array([kind_of(cell) for cell in cells], np.uint8)
    return MixedNumbers(np.array([7.0 if cell is None else float(cell) for cell in cells]), kinds, double)


def terms_of(cells: list[float | None]) -> list[Literal | None]:
    return [None if cell is None else whole(cell) if isinstance(cell, int) else double(cell) for cell in cells]


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
    is_bound = column.is_bound
    assert (is_bound is None) == (None not in cells)
    assert is_bound is None or is_bound.tolist() == [cell is not None for cell in cells]
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
    whole_column = concatenated([_made(cells) for cells in parts])
    cells = [cell for part in parts for cell in part]
    assert whole_column.cells() == terms_of(cells)
    if any(cell is not None for cell in cells):
        assert isinstance(whole_column, NumberColumn if len(set(map(kind_of, cells))) == 1 else MixedNumbers)


def _made(cells: list[float | None]) -> Column:
    """A column as an operator has it: of ids where all cells are unbound."""
    if set(cells) <= {None}:
        return unbound(len(cells))
    column = column_of(cells)
    return mixed(column.numbers, column.kinds, double)


def test_no_term_is_made_before_one_is_read():
    def never(number: float) -> Literal:
        raise AssertionError(number)

    kinds = np.array([DOUBLE, NO_NUMBER, DOUBLE], np.uint8)
    column = MixedNumbers(np.array([0.5, 0.0, 2.0]), kinds, never)
    assert column.order(total=True).tolist() == [0.5, -np.inf, 2.0]
    assert column.take(np.array([1, 0])).is_bound.tolist() == [False, True]
    assert len(column.each()[0].keys) == 3
    with pytest.raises(AssertionError):
        column.cells()
