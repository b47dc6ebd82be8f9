"""Grouping of solutions by columns of ids, with a sum of counts for each group.

Dense counting where the combinations of values are few, sorting otherwise; both give the groups in ascending order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hybridkg.graph.match.compiled_loops import KERNEL
from hybridkg.graph.match.ids import BITMAP_SHARE, Counts, Mask
from hybridkg.graph.match.tables import SolutionTable
from hybridkg.graph.match.weights import EXACT_FLOAT, IdWeights, dense_sums, run_sums, summed
from hybridkg.interfaces.graph_index import UNBOUND, Ids

DENSE_SHARE = 4
"""A counting array replaces sorting when it has at most this many entries for each row."""

MAX_CODE = 2**62
"""The maximum number of combinations that one 64-bit code distinguishes."""


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Distinct rows, and the number of solutions of each: int64[table.size], at least 1."""

    table: SolutionTable
    counts: Counts

    @property
    def bound(self) -> int:
        """The largest count."""
        return int(self.counts.max(initial=0))

    def weights(self, name: str) -> IdWeights:
        """The counts by the only column, which has no UNBOUND."""
        return IdWeights(self.table.columns[name], self.counts, self.bound)


class _Digit(NamedTuple):
    """One column as the digit of a code: column - low, the last of `size` for UNBOUND if there is any.

    `values` are the ids that the digits stand for, None where they are the distances from `low`.
    """

    column: Ids
    low: int
    size: int
    has_unbound: bool
    values: Ids | None = None

    @classmethod
    def of(cls, column: Ids) -> _Digit:
        low, high = int(column.min()), int(column.max())
        has_unbound = bool(high == UNBOUND)
        if has_unbound:
            high = int(column[column != UNBOUND].max(initial=low)) if low != UNBOUND else low - 1
        return cls(column, low, high - low + 1 + has_unbound, has_unbound)

    def renumbered(self) -> _Digit:
        """The ranks among the distinct values, so that no digit is left out."""
        digits = self.appended(np.zeros(len(self.column), np.int64))
        if self.size <= BITMAP_SHARE * len(digits):
            marks = np.zeros(self.size, np.bool_)
            marks[digits] = True
            present = np.flatnonzero(marks)
            ranks = (np.cumsum(marks, dtype=np.uint32) - np.uint32(1))[digits]
        else:
            present, inverse = np.unique(digits, return_inverse=True)
            ranks = inverse.astype(np.uint32)
        return _Digit(ranks, 0, len(present), False, self.ids(present))

    def appended(self, codes: Counts) -> Counts:
        """Codes with this digit as a further one; may change the codes that it is given."""
        if (kernel := KERNEL.for_work(len(codes))) is not None:
            kernel.add_digit(codes, self.column, self.low, self.size)
            return codes
        codes *= self.size
        digits = self.column.astype(np.int64)
        digits -= self.low
        codes += np.minimum(digits, self.size - 1, out=digits)
        return codes

    def ids(self, digits: Counts) -> Ids:
        if self.values is not None:
            return self.values[digits]
        ids = (digits + self.low).astype(np.uint32)
        if self.has_unbound:
            ids[digits == self.size - 1] = UNBOUND
        return ids


def grouped(columns: Sequence[Ids], size: int, weights: Counts | None, bound: int) -> tuple[list[Ids], Counts]:
    """(columns, counts) of the distinct rows, ascending; a count is the sum of the weights, or the number of rows.

    Args:
        columns: uint32[size] each.
        size: number of rows.
        weights: int64[size], at least 1; None for ones.
        bound: an upper bound on the weights.

    Raises:
        QueryLimitError: a sum exceeds MAX_COUNT.

    >>> grouped([np.array([4, 3, 4], np.uint32)], 3, None, 1)[1].tolist()
    [1, 2]
    """
    if size == 0:
        return [np.empty(0, np.uint32) for _ in columns], np.zeros(0, np.int64)
    if not columns:
        counts = np.array([size]) if weights is None else run_sums(weights, np.zeros(1, np.int64), bound * size)
        return [], counts
    if len(columns) == 1:
        return _grouped_by_one(columns[0], weights, bound)
    if ascending(columns, distinct=True):
        return list(columns), np.ones(size, np.int64) if weights is None else weights
    digits = [_Digit.of(column) for column in columns]
    if _combinations(digits) > DENSE_SHARE * size:
        digits = [digit.renumbered() for digit in digits]
    if _combinations(digits) > MAX_CODE:
        return _grouped_by_rank(columns, digits, weights, bound * size)
    code = np.zeros(size, np.int64)
    for digit in digits:
        code = digit.appended(code)
    n = _combinations(digits)
    if n <= DENSE_SHARE * size and bound * size < EXACT_FLOAT:
        counts = dense_sums(code, n, weights)
        code = np.flatnonzero(counts)
        counts = counts[code]
    else:
        order = None if weights is None else np.argsort(code, kind="stable")
        code = np.sort(code) if order is None else code[order]
        starts = _starts(code)
        counts = (
            np.diff(starts, append=size)
            if order is None or weights is None
            else run_sums(weights[order], starts, bound * size)
        )
        code = code[starts]
    found = []
    for digit in reversed(digits):
        code, rest = np.divmod(code, digit.size)
        found.append(digit.ids(rest))
    return found[::-1], counts


def _combinations(digits: Sequence[_Digit]) -> int:
    n = 1
    for digit in digits:
        n *= int(digit.size)  # numpy's integers would overflow
    return n


def _starts(ordered: Counts) -> Counts:
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))


def _grouped_by_one(column: Ids, weights: Counts | None, bound: int) -> tuple[list[Ids], Counts]:
    is_open = column == UNBOUND
    if not is_open.any():
        sums = summed(column, weights, bound)
        return [sums.ids], sums.listed
    rest = None if weights is None else weights[~is_open]
    sums = summed(column[~is_open], rest, bound)
    last = summed(column[is_open], None if weights is None else weights[is_open], bound)
    return [np.append(sums.ids, last.ids)], np.append(sums.listed, last.listed)


def _grouped_by_rank(
    columns: Sequence[Ids], digits: Sequence[_Digit], weights: Counts | None, bound: int
) -> tuple[list[Ids], Counts]:
    """With the codes renumbered after each column, so that any number of columns fits."""
    code = np.zeros(len(columns[0]), np.int64)
    for digit in digits:
        code = digit.appended(np.unique(code, return_inverse=True)[1])
    order = np.argsort(code, kind="stable")
    starts = _starts(code[order])
    counts = np.diff(starts, append=len(order)) if weights is None else run_sums(weights[order], starts, bound)
    first = order[starts]
    return [column[first] for column in columns], counts


def count_rows(
    table: SolutionTable, names: frozenset[str], weights: Counts | None = None, bound: int = 1
) -> CountedRows:
    """The groups of the rows of a table by the named columns that it has; rows of weight 0 do not count."""
    if weights is not None and not (weights > 0).all():
        table, weights = table.take(weights > 0), weights[weights > 0]
    chosen = [name for name in table.columns if name in names]
    columns, counts = grouped([table.columns[name] for name in chosen], table.size, weights, bound)
    return CountedRows(SolutionTable(dict(zip(chosen, columns, strict=True)), len(counts)), counts)


def ascending(columns: Sequence[Ids], *, distinct: bool = False) -> bool:
    """Whether rows are in ascending order, by the first column, then by the second, ..., and perhaps all distinct."""
    equal: Mask | None = None
    for column in columns:
        right = column[1:] >= column[:-1]
        if not (right if equal is None else right | ~equal).all():
            return False
        same = column[1:] == column[:-1]
        equal = same if equal is None else equal & same
    return not distinct or equal is None or not equal.any()
