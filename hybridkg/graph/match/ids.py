"""Sets of ids: uint32 arrays, ascending and distinct, and unions of ranges.

Every function chooses its way by the sizes alone, so equal inputs do equal work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import Ids

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]

NONE: Ids = np.empty(0, np.uint32)
NONE.setflags(write=False)

SEARCH_RATIO = 24
"""A set that is this many times smaller than another one is looked up in it; otherwise both are walked."""

BITMAP_SHARE = 40
"""A bitmap is looked up when it has at most this many times as many entries as there are ids."""

LISTED_SHARE = 5
"""A bitmap is listed when it has at most this many times as many entries as there are ids: listing an entry takes
1.2 ns, sorting an id 5 ns (2-core machine, numpy 2)."""


def solid(ids: Ids) -> bool:
    """Whether a set has no gap, so that it is a range."""
    return len(ids) > 0 and int(ids[-1]) - int(ids[0]) + 1 == len(ids)


def interval(ids: Ids, first: int, end: int) -> Ids:
    """The part of a set that lies in first..end (exclusive)."""
    if end <= first:
        return ids[:0]
    low, high = ids.searchsorted(np.array((first, end - 1), np.uint32)).tolist()
    if high < len(ids) and int(ids[high]) == end - 1:
        high += 1
    return ids[low:high]


def inside(ids: Ids, members: Ids) -> Mask:
    """bool[len(ids)]: whether each id is in the set `members`; `ids` in any order, repeats allowed.

    >>> inside(np.array([5, 1, 5], np.uint32), np.array([2, 5], np.uint32)).tolist()
    [True, False, True]
    """
    if len(members) == 0 or len(ids) == 0:
        return np.zeros(len(ids), np.bool_)
    low, high = int(members[0]), int(members[-1])
    if high - low + 1 == len(members):
        if len(members) == 1:
            return np.asarray(ids == members[0])
        return np.asarray((ids - np.uint32(low)) < np.uint32(len(members)))
    if len(ids) * SEARCH_RATIO < len(members) or high - low > BITMAP_SHARE * (len(ids) + len(members)):
        at = members.searchsorted(ids)
        at[at == len(members)] = 0
        return np.asarray(members[at] == ids)
    marks = np.zeros(high - low + 2, np.bool_)  # one more than there are ids, for all that lie outside
    marks[members - np.uint32(low)] = True
    place = ids - np.uint32(low)
    np.minimum(place, np.uint32(high - low + 1), out=place)
    return np.asarray(marks[place])


def both(left: Ids, right: Ids) -> Ids:
    """The ids that are in both sets.

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
    """The ids of the left set that are not in the right one."""
    if len(right) == 0 or len(left) == 0:
        return left
    return left[~inside(left, right)]


def distinct(ids: Ids) -> Ids:
    """The set of ids that are given in any order, with repeats.

    >>> distinct(np.array([7, 3, 7, 3], np.uint32)).tolist()
    [3, 7]
    """
    if len(ids) <= 1:
        return ids
    low, high = int(ids.min()), int(ids.max())
    if len(ids) < 64 or high - low > LISTED_SHARE * len(ids):
        ordered = np.sort(ids)
        keep = np.empty(len(ordered), np.bool_)
        keep[0] = True
        np.not_equal(ordered[1:], ordered[:-1], out=keep[1:])
        return ordered[keep]
    marks = np.zeros(high - low + 1, np.bool_)
    marks[ids - np.uint32(low)] = True
    found: NDArray[Any] = np.flatnonzero(marks)
    return (found + low).astype(np.uint32)


def either(sets: Iterable[Ids]) -> Ids:
    """The ids that are in any of the sets."""
    filled = [ids for ids in sets if len(ids)]
    if len(filled) <= 1:
        return filled[0] if filled else NONE
    return distinct(np.concatenate(filled))


@dataclass(frozen=True)
class IdRanges:
    """A set of ids as ranges, ascending, apart from each other and not empty.

    Args:
        bounds: (first, end) of each, end exclusive.

    >>> Ranges.of([(5, 9), (1, 3), (3, 4), (7, 7)]).bounds
    ((1, 4), (5, 9))
    """

    bounds: tuple[tuple[int, int], ...]

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
        """How many ids."""
        return sum(end - first for first, end in self.bounds)

    def __or__(self, other: IdRanges) -> IdRanges:
        """The ids of either."""
        return IdRanges.of(self.bounds + other.bounds)

    def __and__(self, other: IdRanges) -> IdRanges:
        """The ids of both."""
        found, mine, its = [], list(self.bounds), list(other.bounds)
        i = j = 0
        while i < len(mine) and j < len(its):
            found.append((max(mine[i][0], its[j][0]), min(mine[i][1], its[j][1])))
            if mine[i][1] < its[j][1]:
                i += 1
            else:
                j += 1
        return IdRanges.of(found)

    def __sub__(self, other: IdRanges) -> IdRanges:
        """The ids that the other does not have."""
        found = []
        for first, end in self.bounds:
            at = first
            for low, high in other.bounds:
                if high <= at or low >= end:
                    continue
                found.append((at, low))
                at = high
            found.append((at, end))
        return IdRanges.of(found)

    def holds(self, ids: Ids) -> Mask:
        """bool[len(ids)]: which ids are in the ranges; in any order, repeats allowed."""
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
        """Where in a set the ids of each range lie."""
        if not self.bounds:
            return []
        edges = ids.searchsorted(np.array(self.bounds, np.uint32).ravel()).tolist()
        return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]

    def of_set(self, ids: Ids) -> Ids:
        """The ids of a set that are in the ranges."""
        parts = [ids[a:b] for a, b in self.slices(ids)]
        if len(parts) <= 1:
            return parts[0] if parts else ids[:0]
        return np.concatenate(parts)


def _between(ids: Ids, first: int, end: int) -> Mask:
    if end == first + 1:
        return np.asarray(ids == np.uint32(first))
    return np.asarray((ids - np.uint32(first)) < np.uint32(end - first))
