"""Intersection of posting lists by positions, for pairs and phrases. Compiled together with phrases_kernel.py.

Two lists are intersected by a merge without branches, half of which would be mispredicted; two merges, of the lower and
the upper half, are interleaved, because each waits for its loads (1.7 ns a posting instead of 2.5). Where one list is
much longer, the entities of the other are searched in it. The occurrences of an entity begin at the sum of the tf
before it. Few words occur more than twice in an entity; up to two occurrences need no branches either.

Positions are read byte by byte, little-endian, so that one compiled function serves all widths. A word's positions in
an entity are distinct. All numbers are unsigned, since signed indices are checked at every access.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint64

from hybridkg.text.index.codec.cursor_kernel import HELPER

ZERO: Any = np.uint64(0)
ONE: Any = np.uint64(1)
TWO: Any = np.uint64(2)

SEARCH_RATIO = np.uint64(24)
"""The ratio of lengths above which entities of the shorter list are searched in the longer one."""

_CHUNK = np.uint64(2048)


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _search(ids: Any, start: Any, wanted: Any) -> Any:
    """The first place from `start` on with an id of at least `wanted`, by galloping search."""
    n = uint64(len(ids))
    low, high, step = start, start, ONE
    while high < n and ids[high] < wanted:
        low = high + ONE
        high += step
        step += step
    high = min(high, n)
    while low < high:
        middle = (low + high) >> ONE
        if ids[middle] < wanted:
            low = middle + ONE
        else:
            high = middle
    return low


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _merge(ids: Any, i: Any, n: Any, others: Any, j: Any, m: Any, places: Any, other_places: Any, n_common: Any) -> Any:
    while i < n and j < m:
        one, other = ids[i], others[j]
        places[n_common], other_places[n_common] = i, j
        n_common += uint64(one == other)
        i += uint64(one <= other)
        j += uint64(other <= one)
    return n_common


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _two_merges(ids: Any, others: Any, places: Any, other_places: Any) -> Any:
    """The places of the common ids in both lists; the outputs have room for two more than the shorter list."""
    n, m = uint64(len(ids)), uint64(len(others))
    middle = n >> ONE
    other_middle = _search(others, ZERO, ids[middle])
    i = j = n_common = ZERO
    high_i, high_j = middle, other_middle
    first_high = min(middle, other_middle) + ONE
    high = first_high
    while (i < middle) & (j < other_middle) & (high_i < n) & (high_j < m):
        one, other = ids[i], others[j]
        high_one, high_other = ids[high_i], others[high_j]
        places[n_common], other_places[n_common] = i, j
        places[high], other_places[high] = high_i, high_j
        n_common += uint64(one == other)
        i += uint64(one <= other)
        j += uint64(other <= one)
        high += uint64(high_one == high_other)
        high_i += uint64(high_one <= high_other)
        high_j += uint64(high_other <= high_one)
    n_common = _merge(ids, i, middle, others, j, other_middle, places, other_places, n_common)
    high = _merge(ids, high_i, n, others, high_j, m, places, other_places, high)
    for k in range(first_high, high):
        places[n_common], other_places[n_common] = places[k], other_places[k]
        n_common += ONE
    return n_common


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _searched(ids: Any, others: Any, places: Any, other_places: Any) -> Any:
    """`_two_merges` for few ids and many others, by search."""
    m = uint64(len(others))
    j = n_common = ZERO
    for i in range(uint64(len(ids))):
        j = _search(others, j, ids[i])
        if j == m:
            break
        places[n_common], other_places[n_common] = i, j
        n_common += uint64(others[j] == ids[i])
    return n_common


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def meet(ids: Any, others: Any, places: Any, other_places: Any) -> Any:
    n, m = uint64(len(ids)), uint64(len(others))
    if not (n and m):
        return ZERO
    if n * SEARCH_RATIO < m:
        return _searched(ids, others, places, other_places)
    if m * SEARCH_RATIO < n:
        return _searched(others, ids, other_places, places)
    return _two_merges(ids, others, places, other_places)


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def starts_of(tf: Any, places: Any, n: Any, out: Any) -> None:
    """Fills `out` with the sum of the tf before each of n ascending places."""
    size = uint64(len(tf))
    total = low = high = ZERO
    if n * SEARCH_RATIO < size:
        for k in range(n):
            high = uint64(places[k])
            between = ZERO
            for i in range(low, high):
                between += uint64(tf[i])
            total += between
            low = high
            out[k] = total
        return
    before = np.empty(_CHUNK, np.uint64)
    for k in range(n):
        place = uint64(places[k])
        while place >= high:
            low, high = high, min(high + _CHUNK, size)
            for i in range(low, high):
                before[i - low] = total
                total += uint64(tf[i])
        out[k] = before[place - low]


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def position(positions: Any, i: Any, size: Any) -> Any:
    """Position number i of those of `size` bytes each."""
    if size == ONE:
        return uint64(positions[i])
    at = i * size
    low = uint64(positions[at]) | uint64(positions[at + ONE]) << uint64(8)
    if size == TWO:
        return low
    return low | uint64(positions[at + TWO]) << uint64(16) | uint64(positions[at + uint64(3)]) << uint64(24)


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def few(
    positions: Any, at: Any, n: Any, offset: Any, others: Any, other_at: Any, m: Any, other_offset: Any, width: Any,
    size: Any,
) -> Any:  # fmt: skip
    """(phrases, windows) of words that occur once or twice; a single occurrence is read as first and last."""
    one, last = position(positions, at, size), position(positions, at + n - ONE, size)
    other, other_last = position(others, other_at, size), position(others, other_at + m - ONE, size)
    # Unsigned differences wrap around.
    wanted, wanted_last = one - offset + other_offset, last - offset + other_offset
    begins = uint64((one >= offset) & ((wanted == other) | (wanted == other_last)))
    begins += uint64((n == TWO) & (last >= offset) & ((wanted_last == other) | (wanted_last == other_last)))
    reach, span = width - ONE, width + width - ONE
    firsts, lasts = one - other + reach < span, last - other_last + reach < span
    near = firsts | lasts | (one - other_last + reach < span) | (last - other + reach < span)
    # At the same place the first word comes first, as in windows.py.
    apart = (n == TWO) & (m == TWO) & ((max(one, other) < min(last, other_last)) | (one == other_last))
    return begins, uint64(near) + uint64(apart & firsts & lasts)


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def beginnings_of(
    positions: Any, at: Any, n: Any, offset: Any, others: Any, other_at: Any, m: Any, other_offset: Any, size: Any
) -> Any:  # fmt: skip
    """The number of places of the first word at which the phrase begins."""
    count = ZERO
    end, stop = at + n, other_at + m
    while at < end:
        place = position(positions, at, size)
        at += ONE
        if place < offset:
            continue
        wanted = place - offset + other_offset
        while other_at < stop and position(others, other_at, size) < wanted:
            other_at += ONE
        if other_at == stop:
            break
        count += uint64(position(others, other_at, size) == wanted)
    return count


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def windows_of(positions: Any, at: Any, n: Any, others: Any, other_at: Any, m: Any, width: Any, size: Any) -> Any:
    """The number of disjoint windows of two words, which are neighbours among their places; ties: first word first."""
    count = ZERO
    end, stop = at + n, other_at + m
    last, last_is_first, pending = ZERO, False, False
    while at < end or other_at < stop:
        place, is_first = ZERO, at < end
        if is_first:
            place = position(positions, at, size)
        if other_at < stop:
            other = position(others, other_at, size)
            if not is_first or other < place:
                place, is_first = other, False
        if is_first:
            at += ONE
        else:
            other_at += ONE
        if pending and is_first != last_is_first and place - last < width:
            count += ONE
            pending = False
        else:
            last, last_is_first, pending = place, is_first, True
    return count
