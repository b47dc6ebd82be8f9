"""Sets of ids: ascending, distinct uint32 arrays, and unions of ranges.

Every function chooses its algorithm by sizes, and by whether the compiled loops are loaded. The work that a run counts
does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.match.compiled_loops import KERNEL
from hybridkg.interfaces.graph_index import Ids

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]

NONE: Ids = np.empty(0, np.uint32)
NONE.setflags(write=False)

SEARCH_RATIO = 24
"""A set this many times smaller than another is looked up in it by binary search; otherwise both are scanned."""

BITMAP_SHARE = 40
"""A bitmap is used when its span is at most this many times the number of ids."""

FEW = 64
"""Ids that Python sorts faster than numpy."""

LISTED_SHARE = 5
"""A bitmap replaces sorting when its span is at most this many times the number of ids: 1.2 ns an entry, against 5 ns
for sorting an id (2-core machine, numpy 2)."""


def solid(ids: Ids) -> bool:
    """Whether a set is a non-empty range without gaps."""
    n = len(ids)
    return n > 0 and int(ids[-1]) - int(ids[0]) + 1 == n


def interval(ids: Ids, first: int, end: int) -> Ids:
    """The ids of a set in first..end (exclusive)."""
    if end <= first:
        return ids[:0]
    low, high = ids.searchsorted(np.array((first, end - 1), np.uint32)).tolist()
    if high < len(ids) and int(ids[high]) == end - 1:
        high += 1
    return ids[low:high]


def inside(ids: Ids, members: Ids) -> Mask:
    """bool[len(ids)]: whether each id is in the set `members`; `ids` in any order, repeats allowed, both uint32.

    >>> inside(np.array([5, 1, 5], np.uint32), np.array([2, 5], np.uint32)).tolist()
    [True, False, True]
    """
    n, of = len(ids), len(members)
    if of == 0 or n == 0:
        return np.zeros(n, np.bool_)
    low, high = int(members[0]), int(members[-1])
    if high - low + 1 == of:
        if of == 1:
            return np.asarray(ids == members[0])
        return np.asarray((ids - np.uint32(low)) < np.uint32(of))
    if n * SEARCH_RATIO < of or high - low > BITMAP_SHARE * (n + of):
        if n > FEW and (kernel := KERNEL.for_work(n)) is not None:
            mask = np.empty(n, np.bool_)
            kernel.are_members(np.ascontiguousarray(ids), np.ascontiguousarray(members), mask)
            return mask
        at = members.searchsorted(ids)
        at[at == of] = 0
        return np.asarray(members[at] == ids)
    marks = np.zeros(high - low + 2, np.bool_)  # the extra entry stands for all ids outside the span
    marks[members - np.uint32(low)] = True
    place = ids - np.uint32(low)
    np.minimum(place, np.uint32(high - low + 1), out=place)
    return np.asarray(marks[place])


def both(left: Ids, right: Ids) -> Ids:
    """The intersection of two sets.

    >>> both(np.array([1, 4, 9], np.uint32), np.array([4, 5, 9, 11], np.uint32)).tolist()
    [4, 9]
    """
    small, large = (left, right) if len(left) <= len(right) else (right, left)
    if len(small) == 0:
        return NONE
    if solid(large):
        return interval(small, int(large[0]), int(large[-1]) + 1)
    if solid(small):
        return interval(large, int(small[0]), int(small[-1]) + 1)
    return small[inside(small, large)]


def without(left: Ids, right: Ids) -> Ids:
    if len(right) == 0 or len(left) == 0:
        return left
    return left[~inside(left, right)]


def distinct(ids: Ids) -> Ids:
    """The set of ids given in any order, with repeats.

    >>> distinct(np.array([7, 3, 7, 3], np.uint32)).tolist()
    [3, 7]
    """
    n = len(ids)
    if n <= 1:
        return ids
    if n < FEW:
        return np.array(sorted({*ids.tolist()}), np.uint32)
    low, high = int(ids.min()), int(ids.max())
    if high - low > LISTED_SHARE * n:
        ordered = np.sort(ids)
        keep = np.empty(len(ordered), np.bool_)
        keep[0] = True
        np.not_equal(ordered[1:], ordered[:-1], out=keep[1:])
        return ordered[keep]
    marks = np.zeros(high - low + 1, np.bool_)
    marks[ids - np.uint32(low)] = True
    offsets: NDArray[Any] = np.flatnonzero(marks)
    return (offsets + low).astype(np.uint32)


def either(sets: Iterable[Ids]) -> Ids:
    filled = [ids for ids in sets if len(ids)]
    if len(filled) <= 1:
        return filled[0] if filled else NONE
    return distinct(np.concatenate(filled))


@dataclass(frozen=True)
class IdRanges:
    """A set of ids as ascending, disjoint, non-empty ranges that do not touch.

    Args:
        bounds: (first, end) of each, end exclusive.

    >>> IdRanges.of([(5, 9), (1, 3), (3, 4), (7, 7)]).bounds
    ((1, 4), (5, 9))
    """

    bounds: tuple[tuple[int, int], ...]

    @classmethod
    def one(cls, first: int, end: int) -> IdRanges:
        """A single range, which may be empty."""
        return cls(((first, end),) if first < end else ())

    @classmethod
    def of(cls, bounds: Iterable[tuple[int, int]]) -> IdRanges:
        """The union of ranges in any order."""
        merged: list[tuple[int, int]] = []
        for first, end in sorted(bounds):
            if end <= first:
                continue
            if merged and first <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((first, end))
        return cls(tuple(merged))

    @cached_property
    def size(self) -> int:
        return sum(end - first for first, end in self.bounds)

    def __or__(self, other: IdRanges) -> IdRanges:
        if not self.bounds or not other.bounds:
            return self if self.bounds else other
        return IdRanges.of(self.bounds + other.bounds)

    def __and__(self, other: IdRanges) -> IdRanges:
        common, mine, its = [], list(self.bounds), list(other.bounds)
        i = j = 0
        while i < len(mine) and j < len(its):
            common.append((max(mine[i][0], its[j][0]), min(mine[i][1], its[j][1])))
            if mine[i][1] < its[j][1]:
                i += 1
            else:
                j += 1
        return IdRanges.of(common)

    def __sub__(self, other: IdRanges) -> IdRanges:
        if not self.bounds or not other.bounds:
            return self
        rest = []
        for first, end in self.bounds:
            at = first
            for low, high in other.bounds:
                if high <= at or low >= end:
                    continue
                rest.append((at, low))
                at = high
            rest.append((at, end))
        return IdRanges.of(rest)

    def holds(self, ids: Ids) -> Mask:
        """bool[len(ids)]: whether each id is in the ranges; in any order, repeats allowed."""
        if not self.bounds:
            return np.zeros(len(ids), np.bool_)
        if len(self.bounds) <= 3:
            mask = _between(ids, *self.bounds[0])
            for first, end in self.bounds[1:]:
                mask |= _between(ids, first, end)
            return mask
        edges = np.array(self.bounds, np.uint32).ravel()
        return (edges.searchsorted(ids, side="right") & 1).astype(np.bool_)

    def slices(self, ids: Ids) -> list[tuple[int, int]]:
        """The places first..end in a set of the ids of each range; empty ones are left out."""
        if not self.bounds:
            return []
        edges = ids.searchsorted(np.array(self.bounds, np.uint32).ravel()).tolist()
        return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]

    def of_set(self, ids: Ids) -> Ids:
        parts = [ids[a:b] for a, b in self.slices(ids)]
        if len(parts) <= 1:
            return parts[0] if parts else ids[:0]
        return np.concatenate(parts)


def _between(ids: Ids, first: int, end: int) -> Mask:
    if end == first + 1:
        return np.asarray(ids == np.uint32(first))
    return np.asarray((ids - np.uint32(first)) < np.uint32(end - first))
