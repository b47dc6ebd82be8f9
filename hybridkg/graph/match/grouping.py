"""Grouping of solutions by columns of ids, with a sum of counts for each group.

Dense counting where the combinations of values are few, sorting otherwise; both give the groups in ascending order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

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


class _Coded(NamedTuple):
    """A column as numbers below `size`, in the order of its values; `values` None: code + low, UNBOUND the last."""

    codes: Counts
    size: int
    low: int
    values: Ids | None
    open_end: bool

    def decoded(self, codes: Counts) -> Ids:
        if self.values is not None:
            return self.values[codes]
        ids = (codes + self.low).astype(np.uint32)
        if self.open_end:
            ids[codes == self.size - 1] = UNBOUND
        return ids


def _coded(column: Ids) -> _Coded:
    """By the distance from the lowest id."""
    low, high = int(column.min()), int(column.max())
    open_end = high == UNBOUND
    if open_end:
        high = int(column[column != UNBOUND].max(initial=low)) if low != UNBOUND else low - 1
    codes = column.astype(np.int64)
    codes -= low
    if open_end:
        np.minimum(codes, high - low + 1, out=codes)
    return _Coded(codes, high - low + 1 + open_end, low, None, open_end)


def _renumbered(coded: _Coded) -> _Coded:
    """By the rank among the distinct values."""
    if coded.size <= BITMAP_SHARE * len(coded.codes):
        marks = np.zeros(coded.size, np.bool_)
        marks[coded.codes] = True
        places = np.flatnonzero(marks)
        ranks = np.cumsum(marks) - 1
        codes = ranks[coded.codes]
    else:
        places, codes = np.unique(coded.codes, return_inverse=True)
    return _Coded(codes, len(places), 0, coded.decoded(places), False)


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
    coded = [_coded(column) for column in columns]
    if _combinations(coded) > DENSE_SHARE * size:
        coded = [_renumbered(one) for one in coded]
    if _combinations(coded) > MAX_CODE:
        return _grouped_by_rank(columns, coded, weights, bound * size)
    code = coded[0].codes
    for one in coded[1:]:
        code = code * one.size + one.codes
    n = _combinations(coded)
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
    for one in reversed(coded):
        code, rest = np.divmod(code, one.size)
        found.append(one.decoded(rest))
    return found[::-1], counts


def _combinations(coded: Sequence[_Coded]) -> int:
    n = 1
    for one in coded:
        n *= one.size
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
    columns: Sequence[Ids], coded: Sequence[_Coded], weights: Counts | None, bound: int
) -> tuple[list[Ids], Counts]:
    """With the codes renumbered after each column, so that any number of columns fits."""
    code = coded[0].codes
    for one in coded[1:]:
        code = np.unique(code, return_inverse=True)[1] * one.size + one.codes
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


def ascending(columns: Sequence[Ids]) -> bool:
    """Whether distinct rows are in ascending order, by the first column, then by the second, ..."""
    equal: Mask | None = None
    for column in columns:
        right = column[1:] >= column[:-1]
        if not (right if equal is None else right | ~equal).all():
            return False
        same = column[1:] == column[:-1]
        equal = same if equal is None else equal & same
    return True
