"""Vectorized aggregation: groups of columnar solutions, to the last digit of every sum."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hybridkg.operators.column_join import concatenated
from hybridkg.operators.columns import Column, ColumnsDeclined, InColumns, NumberColumn, TermColumn, unbound
from hybridkg.operators.mixed_numbers import DOUBLE, WHOLE, MixedNumbers, mixed, whole, written
from hybridkg.operators.multiplicity import multiplicities
from hybridkg.operators.partition import FEW, KERNEL, Places, dense, is_sorted, lexical_order, partition
from hybridkg.query import ast
from hybridkg.rdf.terms import XSD, XSD_DECIMAL, XSD_DOUBLE, Literal, NamedNode, Term, double
from hybridkg.storage.distinct import sorted_distinct

MAX_REPEATED = 1 << 27
"""Additions of doubles for rows that stand for several; they take 0.2 s, in which nothing stops them."""

ANY_ORDER = 2
"""Maximum count of numbers whose sum does not depend on the order: 0 + a + b = 0 + b + a."""

EXACT = 2.0**53
"""Integers of at most this magnitude are exact in float64."""

SCALES = (1.0, 2.0**10, 2.0**20)
"""Powers of two by which doubles are multiplied to find whether they are all multiples of a small fraction."""

PLAIN_DOUBLE = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
"""Doubles that Oxigraph and Python parse alike."""

INTEGER, DECIMAL = NamedNode(XSD + "integer"), XSD_DECIMAL

PLAIN = {INTEGER: re.compile(r"[+-]?[0-9]+"), DECIMAL: re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")}
"""Integers and decimals that Oxigraph and Python parse alike; others are ill-typed, or are left to Oxigraph."""

DIGITS = 18
"""Characters up to which `int` parses a text; it refuses thousands of digits, which Decimal does not."""

Rows: TypeAlias = Places | slice
"""Some rows, in an order of their own; a slice for all."""

ALL = slice(None)

Divide = Callable[[Sequence[Term], Sequence[int]], Sequence[Term | None]]
"""Quotients of terms and counts as the SPARQL engine has them."""


@dataclass(frozen=True, eq=False)
class ColumnGroups:
    """Partition of solutions into groups.

    Args:
        solutions: the rows to group.
        keys: grouping variables.
        group: int[rows], group number of each row, in the order of the keys.
        first: int[groups], first row of each; empty for the one group of no rows.
        count: number of groups.
        summed_by: variables in whose term order numbers are summed, all that the rows have; None for the order of the
            rows.
        only_exact: whether a sum of doubles that depends on the order is declined.
        times: float64[rows], for how many equal rows each one stands; None for itself alone.
    """

    solutions: InColumns
    keys: Sequence[str]
    group: Places
    first: Places
    count: int
    summed_by: Sequence[str] | None
    only_exact: bool
    times: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        solutions: InColumns,
        keys: Sequence[str],
        *,
        summed_by: Sequence[str] | None,
        only_exact: bool,
        counts: Sequence[str] = (),
    ) -> ColumnGroups:
        """Groups; without keys there is one group, even of no rows (SPARQL 1.1 section 11.2).

        The product of the columns `counts` says for how many rows one stands.
        """
        times = multiplicities(solutions, counts)
        solutions = solutions.having({name: one for name, one in solutions.columns.items() if name not in counts})
        group, first = solutions.distinct(keys)
        return cls(solutions, keys, group, first, len(first) if keys else 1, summed_by, only_exact, times)

    def computed(self, aggregates: Sequence[tuple[str, ast.Aggregate]], divide: Divide) -> InColumns | None:
        """One row for each group: its keys, then its named aggregates. None if an argument is of another kind."""
        columns: dict[str, Column] = {
            name: _as_written(self.solutions.column(name).take(self.first)) for name in self.keys
        }
        for name, aggregate in aggregates:
            column = self._aggregated(aggregate, divide)
            if column is None:
                return None
            columns[name] = column
        return self.solutions.having(columns, self.count)

    def _aggregated(self, aggregate: ast.Aggregate, divide: Divide) -> Column | None:
        if aggregate.argument is None:
            return count_column(self._counted(ALL))
        assert isinstance(aggregate.argument, ast.Var)
        column, group = self.solutions.column(aggregate.argument.name), self.group
        is_bound = _bound(column)
        if aggregate.name == "COUNT" and not aggregate.distinct:
            return count_column(self._counted(ALL if is_bound is None else np.flatnonzero(is_bound)))
        rows: Rows = ALL if is_bound is None else np.flatnonzero(is_bound)
        if aggregate.distinct:
            rows = self._firsts(column, is_bound, in_order=aggregate.name in ("SUM", "AVG"))
        if aggregate.name == "COUNT":
            return count_column(np.bincount(group[rows], minlength=self.count))
        if aggregate.name == "SAMPLE":
            first, last_first = np.full(self.count, -1, np.intp), np.arange(len(group))[rows][::-1]
            first[group[last_first]] = last_first
            return _of_groups(column, sorted_distinct(group[rows]), np.arange(len(group)), first)
        if is_bound is not None and not is_bound.all():
            return self._of_bound_groups(aggregate, is_bound, divide)
        if aggregate.name in ("MIN", "MAX"):
            return self._extremes(column, rows, is_least=aggregate.name == "MIN")
        groups = replace(self, times=None) if aggregate.distinct else self
        return groups._totals(column, rows, divide if aggregate.name == "AVG" else None)

    def _of_bound_groups(self, aggregate: ast.Aggregate, is_bound: NDArray[np.bool_], divide: Divide) -> Column | None:
        """An aggregate for which an unbound cell is an error: its group has no value, the others are computed alone."""
        has_value = np.ones(self.count, np.bool_)
        has_value[self.group[~is_bound]] = False
        number = np.cumsum(has_value) - 1
        rows, count = np.flatnonzero(has_value[self.group]), int(has_value.sum())
        if not count:
            return unbound(self.count)
        times, group = None if self.times is None else self.times[rows], number[self.group[rows]]
        firsts = rows.searchsorted(self.first[has_value])
        solutions = self.solutions.take(rows)
        bound = replace(self, solutions=solutions, group=group, first=firsts, count=count, times=times)
        if (column := bound._aggregated(aggregate, divide)) is None:
            return None
        return concatenated([column, unbound(1)]).take(np.where(has_value, number, count))

    def _firsts(self, column: Column, is_bound: NDArray[np.bool_] | None, *, in_order: bool) -> Places:
        """The first row of each bound value in each group; `in_order` is that in which doubles are added."""
        rows: Places = np.arange(len(self.group))
        if in_order and not isinstance(self._order, slice):
            rows = self._order
        if is_bound is not None:
            rows = rows[is_bound[rows]]
        if not len(rows):
            return rows
        pairs = [self.group[rows], dense(column.keys)[rows]]
        order = lexical_order(pairs)
        is_first = np.append(True, np.any([key[order[1:]] != key[order[:-1]] for key in pairs], axis=0))
        firsts: Places = rows[np.sort(order[is_first])]
        return firsts

    def _counted(self, rows: Rows) -> NDArray[Any]:
        """The number of rows of each group, among some."""
        return np.bincount(self.group[rows], None if self.times is None else self.times[rows], self.count)

    def _extremes(self, column: Column, rows: Rows, *, is_least: bool) -> Column | None:
        if isinstance(column, NumberColumn) and len(self.first):
            best = extremes_of_groups(self.group[rows], column.numbers[rows], self.count, is_least=is_least)
            return None if best is None else _as_written(NumberColumn(best, column.literal))
        code, first = partition([column.keys], len(self.group))
        try:
            order = column.take(first).order(total=False)
        except ColumnsDeclined:
            return None
        distinct, rank = np.unique(order, return_inverse=True)
        if len(distinct) < len(first):
            return None  # of equal values of different datatypes, the first counts
        ranks, group = rank[code][rows], self.group[rows]
        extreme = np.full(self.count, len(distinct) if is_least else -1, np.intp)
        (np.minimum if is_least else np.maximum).at(extreme, group, ranks)
        row_of_rank = np.empty(len(distinct), np.intp)
        row_of_rank[rank] = first
        return _of_groups(_as_written(column), sorted_distinct(group), row_of_rank, extreme)

    def _totals(self, column: Column, rows: Rows, divide: Divide | None) -> Column | None:
        """Sums; with `divide`, means."""
        if isinstance(column, MixedNumbers):
            return self._of_mixed(column, rows, is_mean=divide is not None)
        numbers = _doubles(column)
        if numbers is not None and len(numbers[rows]):
            return self._of_doubles(numbers, rows, is_mean=divide is not None)
        exact = ExactNumbers.of(column)
        if exact is None:
            return None
        counts = self._counted(rows)
        sums = exact.sums(rows, self.group[rows], self.count, None if self.times is None else self.times[rows])
        if sums is None:
            return None
        if divide is None:
            return sums
        return mean(sums, count_column(counts), divide)

    def _of_mixed(self, column: MixedNumbers, rows: Rows, *, is_mean: bool) -> Column | None:
        """Sums or means of doubles and integers: those of a group without a double are integers."""
        sums = self._of_doubles(column.numbers, rows, is_mean=is_mean)
        if sums is None:
            return None
        is_double = column.kinds[rows] == DOUBLE
        has_double = np.bincount(self.group[rows][is_double], minlength=self.count) > 0
        if (is_mean and not has_double.all()) or not (np.abs(sums.numbers[~has_double]) < EXACT).all():
            return None  # the mean of integers is a decimal
        return mixed(sums.numbers, np.where(has_double, np.uint8(DOUBLE), np.uint8(WHOLE)), written)

    def _of_doubles(self, numbers: NDArray[np.float64], rows: Rows, *, is_mean: bool) -> NumberColumn | None:
        if self.only_exact and not (np.isfinite(numbers).all() and _is_exact(numbers, self.times)):
            return None
        if not self.only_exact and len(numbers[rows]) == len(numbers):
            rows = ALL if self._is_ordered(numbers) else self._order
        times = None if self.times is None else self.times[rows].astype(np.int64)
        if times is not None and int(times.sum()) > MAX_REPEATED:
            return None
        sums = sums_of_groups(self.group[rows], numbers[rows], self.count, times)
        if sums is None or not sums[1].all():
            return None
        total, counts = sums
        return NumberColumn(total / counts if is_mean else total, written)

    def _is_ordered(self, numbers: NDArray[np.float64]) -> bool:
        """Whether the numbers of each group come in the order of `_order`, or in one with the same sums, because rows
        of one entity have one number: the score of the MATCH by whose entity they are ordered.
        """
        if self.summed_by is None or not self.solutions.size:
            return True
        first = next((name for name in self.summed_by if name in self.solutions.columns), None)
        if first is None or (first in self.keys and isinstance(self.solutions.columns[first], TermColumn)):
            return False
        keys = self.solutions.columns[first].order(total=True)
        before, after = keys[:-1], keys[1:]
        return not (before > after).any() and not ((before == after) & (numbers[1:] != numbers[:-1])).any()

    @cached_property
    def _order(self) -> Rows:
        """Rows in the order of their terms, as in GroupRows."""
        if self.summed_by is None or not self.solutions.size or self._counted(ALL).max() <= ANY_ORDER:
            return ALL
        columns = self.solutions.columns
        # Keys in several forms (1 and 01) are one group, but different terms.
        names = [
            name
            for name in self.summed_by
            if name in columns and (name not in self.keys or isinstance(columns[name], TermColumn))
        ]
        keys = [columns[name].order(total=True) for name in names]
        return ALL if not keys or is_sorted(keys) else lexical_order(keys)


def sums_of_groups(
    group: Places, numbers: NDArray[np.float64], count: int, times: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
    """(sum, count) of the numbers of each group, added one after the other from 0; None if one is infinite, NaN or -0.

    Each is added as many times as `times` says, once by default.

    >>> sums_of_groups(np.array([1, 0, 1]), np.array([0.5, 2.0, 0.25]), 2)
    (array([2.  , 0.75]), array([1, 2]))
    """
    if (kernel := KERNEL.for_work(len(group))) is not None:
        totals, counts = np.zeros(count), np.zeros(count, np.int64)
        each = np.zeros(0, np.int64) if times is None else times
        added = kernel.add_groups(group, np.ascontiguousarray(numbers), each, totals, counts)
        return (totals, counts) if added else None
    if not np.isfinite(numbers).all() or np.signbit(numbers[numbers == 0]).any():
        return None
    if times is not None:
        group, numbers = group.repeat(times), numbers.repeat(times)
    # bincount adds one number after the other; `sum` and `reduceat` add in pairs.
    totals = np.bincount(group, numbers, count).astype(np.float64, copy=False)
    return totals, np.bincount(group, minlength=count)


def extremes_of_groups(
    group: Places, numbers: NDArray[np.float64], count: int, *, is_least: bool
) -> NDArray[np.float64] | None:
    """The least or greatest number of each group, infinite for none; None if one is NaN or -0, as the minimum of 0 and
    -0 is whichever comes first.

    >>> extremes_of_groups(np.array([1, 0, 1]), np.array([0.5, 2.0, 0.25]), 2, is_least=True)
    array([2.  , 0.25])
    """
    best = np.full(count, np.inf if is_least else -np.inf)
    if (kernel := KERNEL.for_work(len(group))) is not None:
        return best if kernel.extreme_of_groups(group, np.ascontiguousarray(numbers), best, is_least) else None
    if np.isnan(numbers).any() or np.signbit(numbers[numbers == 0]).any():
        return None
    (np.minimum if is_least else np.maximum).at(best, group, numbers)
    return best


def order_of_sums(first: Sequence[str], names: Iterable[str]) -> list[str]:
    """Variables by which rows are ordered before their numbers are summed: the `first` ones, then the others by name.

    >>> order_of_sums(["p"], ["s", "p", "a"])
    ['p', 'a', 's']
    """
    return list(dict.fromkeys((*first, *sorted(names))))


@dataclass(frozen=True, eq=False)
class ExactNumbers:
    """Integers and decimals as integers of a common scale.

    Args:
        values: int[distinct], of each distinct term, times 10 ** digits.
        is_decimal: bool[distinct].
        codes: int[rows].
        digits: fraction digits.
    """

    values: NDArray[np.float64]
    is_decimal: NDArray[np.bool_]
    codes: Places
    digits: int

    @classmethod
    def of(cls, column: Column) -> ExactNumbers | None:
        """None if a term is of another datatype."""
        codes = dense(column.keys)
        first = np.empty(int(codes.max(initial=-1)) + 1, np.intp)
        first[codes] = np.arange(len(codes))
        terms = column.take(first).cells()
        literals = [term for term in terms if type(term) is Literal and _is_plain(term)]
        if len(literals) < len(terms):
            return None
        numbers = [Decimal(literal.value) for literal in literals]
        digits = max((max(0, -int(number.as_tuple().exponent)) for number in numbers), default=0)
        scaled = [int(number.scaleb(digits)) for number in numbers]
        if any(abs(number) >= EXACT for number in scaled):
            return None
        decimal = [literal.datatype == DECIMAL for literal in literals]
        return cls(np.array(scaled, np.float64), np.array(decimal, np.bool_), codes, digits)

    def sums(self, rows: Rows, group: Places, count: int, times: NDArray[np.float64] | None = None) -> Column | None:
        """Sum of each group, an integer unless one of its numbers is a decimal; None if one may be too large.

        `times` says how many times each row counts, once by default.
        """
        codes = self.codes[rows]
        values = self.values[codes] if times is None else self.values[codes] * times
        if float(np.abs(values).sum()) >= EXACT:
            return None
        sums = np.bincount(group, values, count).astype(np.float64, copy=False)
        if not self.is_decimal.any():
            return NumberColumn(sums, whole)
        decimal = np.bincount(group, self.is_decimal[codes], count) > 0
        return TermColumn.of(
            [
                Literal(_decimal(int(number), self.digits), datatype=DECIMAL) if is_decimal
                else whole(number / 10**self.digits)
                for number, is_decimal in zip(sums.tolist(), decimal.tolist(), strict=True)
            ]
        )  # fmt: skip


def _is_plain(literal: Literal) -> bool:
    form = PLAIN.get(literal.datatype)
    return form is not None and form.fullmatch(literal.value) is not None


def whole_numbers(column: Column) -> NDArray[np.float64] | None:
    """float64[rows] of a column of integers; None if a cell is another term, or 2^53 at least."""
    if isinstance(column, NumberColumn):
        return column.numbers if column.literal is whole else None
    if len(column.keys) <= FEW:
        return _whole_numbers_of(column.cells())
    exact = ExactNumbers.of(column)
    return None if exact is None or exact.is_decimal.any() else exact.values[exact.codes]


def _whole_numbers_of(terms: Sequence[Term | None]) -> NDArray[np.float64] | None:
    """`whole_numbers` of a few terms."""
    numbers: list[int] = []
    for term in terms:
        if type(term) is not Literal or term.datatype != INTEGER or not _is_plain(term):
            return None
        text = term.value
        numbers.append(int(text) if len(text) <= DIGITS else int(Decimal(text)))
    if any(abs(number) >= EXACT for number in numbers):
        return None
    return np.array(numbers, np.float64)


def _decimal(number: int, digits: int) -> str:
    """The number times 10 ** -digits as Oxigraph writes it: without exponent, and without zeros at the end.

    >>> _decimal(-1250, 3), _decimal(2000, 3), _decimal(100, 0)
    ('-1.25', '2', '100')
    """
    text = format(Decimal(number).scaleb(-digits), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _is_exact(numbers: NDArray[np.float64], times: NDArray[np.float64] | None = None) -> bool:
    """Whether every sum of some of the numbers, each some times, is exact in every order.

    >>> _is_exact(np.array([0.5, 3.25])), _is_exact(np.array([0.1, 0.2]))
    (True, False)
    """
    for scale in SCALES:
        scaled = numbers * scale
        if float(np.abs(scaled if times is None else scaled * times).sum()) >= EXACT:
            return False
        if (scaled == np.rint(scaled)).all():
            return True
    return False


def _of_groups(column: Column, groups: Places, row_of: Places, number: Places) -> Column:
    """For each group the cell of row `row_of[number[group]]`; unbound except for the given groups."""
    chosen = column.take(row_of[number[groups]])
    if len(groups) == len(number):
        return chosen
    cells: list[Term | None] = [None] * len(number)
    for group, cell in zip(groups.tolist(), chosen.cells(), strict=True):
        cells[group] = cell
    return TermColumn.of(cells)


def mean(total: Column, count: Column, divide: Divide) -> Column:
    """Means of sums and counts of groups."""
    assert isinstance(count, NumberColumn)
    numbers = _doubles(total)
    if numbers is not None and len(numbers):
        return NumberColumn(numbers / count.numbers, written)
    pair, first = partition([total.keys, count.keys], len(count.numbers))
    cells = [term or Literal(0) for term in total.take(first).cells()]
    return TermColumn.of(divide(cells, count.numbers[first].astype(np.int64).tolist()), pair)


def count_column(counts: NDArray[Any]) -> NumberColumn:
    """Column of non-negative integers."""
    return NumberColumn(counts.astype(np.float64), whole)


def _bound(column: Column) -> NDArray[np.bool_] | None:
    """bool[rows]: which cells are bound; None for all."""
    return column.is_bound if column.has_unbound else None


def _doubles(column: Column) -> NDArray[np.float64] | None:
    """float64[rows]; None if a cell is no plain double."""
    if isinstance(column, NumberColumn):
        return column.numbers if column.literal in (double, written) else None
    if not isinstance(column, TermColumn):
        return None
    numbers = []
    for term in column.terms.tolist():
        if type(term) is not Literal or term.datatype != XSD_DOUBLE or not PLAIN_DOUBLE.fullmatch(term.value):
            return None
        numbers.append(float(term.value))
    return np.array(numbers, np.float64)[column.codes]


def _as_written(column: Column) -> Column:
    """The column with its literals in the form in which Oxigraph returns them."""
    if isinstance(column, TermColumn):
        return column.stored
    if isinstance(column, NumberColumn) and column.literal is double:
        return NumberColumn(column.numbers, written)
    if isinstance(column, MixedNumbers) and column.literal is double:
        return replace(column, literal=written)
    return column
