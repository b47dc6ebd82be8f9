"""Vectorized aggregation: the groups of operators/aggregates.py from columns, to the last digit of every sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.operators.columns import Column, InColumns, NumberColumn, Places, unbound
from hybridkg.query import ast
from hybridkg.rdf.terms import Literal, double

if TYPE_CHECKING:
    from collections.abc import Callable

ANY_ORDER = 2
"""Maximum count of numbers whose sum does not depend on the order: 0 + a + b = 0 + b + a."""


@dataclass(frozen=True, eq=False)
class ColumnGroups:
    """Partition of solutions into groups.

    Args:
        solutions: the rows to group.
        keys: grouping variables; columns of ids, or absent.
        group: int[rows], group number of each row; groups are numbered as they begin.
        first: int[groups], first row of each.
        keeps_order: whether numbers are summed in the order of the rows.
    """

    solutions: InColumns
    keys: Sequence[str]
    group: Places
    first: Places
    keeps_order: bool

    @classmethod
    def of(cls, solutions: InColumns, keys: Sequence[str], *, keeps_order: bool) -> ColumnGroups | None:
        """Groups; None if a key is not a column of ids."""
        columns = [solutions.ids(name) for name in keys if name in solutions.columns]
        group = np.zeros(solutions.size, np.intp)
        for column in columns:
            if column is None:
                return None
            group = _finer(group, np.unique(column.ids, return_inverse=True)[1])
        _, first, group = np.unique(group, return_index=True, return_inverse=True)
        begins = np.argsort(first)
        number = np.empty(len(first), np.intp)
        number[begins] = np.arange(len(first))
        return cls(solutions, keys, number[group], first[begins], keeps_order)

    def computed(
        self, aggregates: Sequence[tuple[str, ast.Aggregate]], written: Callable[[float], Literal]
    ) -> InColumns | None:
        """One row for each group: its keys, then its named aggregates. None if an argument is not of finite doubles."""
        rows, nothing = self.solutions, unbound(self.solutions.size)
        columns: dict[str, Column] = {name: rows.columns.get(name, nothing).take(self.first) for name in self.keys}
        for name, aggregate in aggregates:
            if aggregate.name == "COUNT":
                counts = self._count(aggregate)
                if counts is None:
                    return None
                columns[name] = NumberColumn(counts.astype(np.float64), _whole)
            else:
                numbers = self._number(aggregate)
                if numbers is None:
                    return None
                columns[name] = NumberColumn(numbers, written)
        return rows.having(columns, len(self.first))

    def _count(self, aggregate: ast.Aggregate) -> Places | None:
        group, n = self.group, len(self.first)
        if aggregate.argument is None:
            return np.bincount(group, minlength=n)
        assert isinstance(aggregate.argument, ast.Var)
        name = aggregate.argument.name
        if name not in self.solutions.columns:
            return np.zeros(n, np.intp)
        column = self.solutions.ids(name)
        if column is None:
            return None if aggregate.distinct else np.bincount(group, minlength=n)
        bound = column.ids != UNBOUND
        group, ids = group[bound], column.ids[bound]
        if aggregate.distinct:
            group = np.unique(group << 32 | ids) >> 32
        return np.bincount(group, minlength=n)

    def _number(self, aggregate: ast.Aggregate) -> NDArray[np.float64] | None:
        assert isinstance(aggregate.argument, ast.Var)
        column = self.solutions.numbers(aggregate.argument.name)
        if column is None or column.literal is not double:
            return None
        numbers, n = column.numbers, len(self.first)
        # The minimum of 0 and -0 is whichever comes first.
        if not np.isfinite(numbers).all() or np.signbit(numbers[numbers == 0]).any():
            return None
        if aggregate.name in ("MIN", "MAX"):
            is_min = aggregate.name == "MIN"
            extremes = np.full(n, np.inf if is_min else -np.inf)
            (np.minimum if is_min else np.maximum).at(extremes, self.group, numbers)
            return extremes
        # bincount adds one number after the other, from 0; `sum` and `reduceat` add in pairs.
        total = np.bincount(self.group[self._order], numbers[self._order], n).astype(np.float64, copy=False)
        if aggregate.name == "AVG":
            total /= np.bincount(self.group, minlength=n)
        return total

    @cached_property
    def _order(self) -> Places:
        """Rows in the order of their texts within each group, as in GroupRows."""
        order = np.arange(self.solutions.size)
        if self.keeps_order:
            return order
        crowded = np.flatnonzero(np.bincount(self.group)[self.group] > ANY_ORDER)
        place = self.group[crowded]
        for name, column in self.solutions.columns.items():
            if len(np.unique(place)) == len(place):
                break
            if name not in self.keys:
                place = _finer(place, _text_order(column.take(crowded)))
        order[crowded] = crowded[np.argsort(place, kind="stable")]
        return order


def _finer(place: Places, within: Places) -> Places:
    """Dense numbers in the order of (place, within), equal if both are.

    >>> _finer(np.array([1, 0, 1]), np.array([5, 9, 5])).tolist()
    [1, 0, 1]
    """
    dense: Places = np.unique(place * (int(within.max(initial=0)) + 1) + within, return_inverse=True)[1]
    return dense


def _text_order(column: Column) -> Places:
    texts = [str(cell) for cell in column.cells()]
    place: Mapping[str, int] = {text: n for n, text in enumerate(sorted(set(texts)))}
    return np.array([place[text] for text in texts], np.intp)


def _whole(number: float) -> Literal:
    return Literal(int(number))
