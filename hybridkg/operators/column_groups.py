"""What operators/aggregates.py computes from rows, from columns: the same groups, to the last digit of every sum."""

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
"""So many numbers have one sum in any order: 0 + a + b is 0 + b + a."""


@dataclass(frozen=True, eq=False)
class ColumnGroups:
    """The rows of some solutions, by the group that each is in.

    Args:
        solutions: what is grouped.
        keys: the variables that it is grouped by; of ids, or lacking.
        group: int[rows], the number of the group of each; groups are numbered as they begin.
        first: int[groups], the first row of each.
        keeps_order: whether numbers are added up in the order of the rows.
    """

    solutions: InColumns
    keys: Sequence[str]
    group: Places
    first: Places
    keeps_order: bool

    @classmethod
    def of(cls, solutions: InColumns, keys: Sequence[str], *, keeps_order: bool) -> ColumnGroups | None:
        """The groups; None where a key is not in ids."""
        held = [solutions.ids(name) for name in keys if name in solutions.columns]
        group = np.zeros(solutions.size, np.intp)
        for column in held:
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
        """A row for each group: its keys, then its aggregates. None where one is not of finite doubles.

        Args:
            aggregates: what is counted or computed of numbers, each with its name.
            written: how a computed number is written.
        """
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
        # The least of 0 and -0 is whichever comes first.
        if not np.isfinite(numbers).all() or np.signbit(numbers[numbers == 0]).any():
            return None
        if aggregate.name in ("MIN", "MAX"):
            least = aggregate.name == "MIN"
            found = np.full(n, np.inf if least else -np.inf)
            (np.minimum if least else np.maximum).at(found, self.group, numbers)
            return found
        # bincount adds one number after the other, beginning with 0, and not in pairs as `sum` and `reduceat` do.
        total = np.bincount(self.group[self._order], numbers[self._order], n).astype(np.float64, copy=False)
        if aggregate.name == "AVG":
            total /= np.bincount(self.group, minlength=n)
        return total

    @cached_property
    def _order(self) -> Places:
        """The rows, in the order of their texts within each group; the law is that of GroupRows."""
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
    """Numbers from 0 in the order of (place, within), equal where both are.

    >>> _finer(np.array([1, 0, 1]), np.array([5, 9, 5])).tolist()
    [1, 0, 1]
    """
    found: Places = np.unique(place * (int(within.max(initial=0)) + 1) + within, return_inverse=True)[1]
    return found


def _text_order(column: Column) -> Places:
    """The place of each cell among the texts of all."""
    texts = [str(cell) for cell in column.cells()]
    place: Mapping[str, int] = {text: n for n, text in enumerate(sorted(set(texts)))}
    return np.array([place[text] for text in texts], np.intp)


def _whole(number: float) -> Literal:
    return Literal(int(number))
