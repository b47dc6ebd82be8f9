"""The compiled search for pairs of words. Import it through `hybridkg.text.kernels` only: importing it compiles it.

`positional.py` and `windows.py` do the same with numpy, and are the reference. Each list is read once. The entities of
both are found by a merge without branches, since the processor would guess half of them wrong; two merges, of the
lower and the upper half, run side by side, because each waits for what it has just read (1.7 ns a posting instead of
2.5). Where one list is much the longer, the entities of the other are searched in it. Where the occurrences of an
entity begin is the sum of the tf before it. Few words occur more than twice in an entity, so for those there are no
branches either.

Positions are read byte by byte, little-endian, whatever their width: one compiled function serves them all. A word's
positions in an entity are distinct. All numbers are unsigned: others are checked for being negative at every access.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, njit, uint8, uint32, uint64
from numba.core.types import Array, UniTuple

_ZERO: Any = np.uint64(0)
_ONE: Any = np.uint64(1)
_TWO: Any = np.uint64(2)

FAR = np.uint64(24)
"""So many times as long, and entities of the shorter list are searched in the longer one."""

_CHUNK = np.uint64(2048)

WRONG = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""Returned as a count where a list has fewer positions than its tf say."""

_NUMBERS = Array(uint32, 1, "C", readonly=True)
_BYTES = Array(uint8, 1, "C", readonly=True)
_OUT = uint32[::1]
_COUNTS: Any = UniTuple(uint64, 2)  # type: ignore[no-untyped-call, unused-ignore]
_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _search(ids: Any, start: Any, wanted: Any) -> Any:
    """The first place from `start` on with an id that is not below `wanted`: doubled steps, then halves."""
    n = uint64(len(ids))
    low, high, step = start, start, _ONE
    while high < n and ids[high] < wanted:
        low = high + _ONE
        high += step
        step += step
    high = min(high, n)
    while low < high:
        middle = (low + high) >> _ONE
        if ids[middle] < wanted:
            low = middle + _ONE
        else:
            high = middle
    return low


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _merge(ids: Any, i: Any, n: Any, others: Any, j: Any, m: Any, places: Any, other_places: Any, found: Any) -> Any:
    while i < n and j < m:
        one, other = ids[i], others[j]
        places[found], other_places[found] = i, j
        found += uint64(one == other)
        i += uint64(one <= other)
        j += uint64(other <= one)
    return found


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _two_merges(ids: Any, others: Any, places: Any, other_places: Any) -> Any:
    """The places of the ids of both lists; the outputs have room for two more than the shorter list has."""
    n, m = uint64(len(ids)), uint64(len(others))
    middle = n >> _ONE
    other_middle = _search(others, _ZERO, ids[middle])
    i = j = found = _ZERO
    high_i, high_j = middle, other_middle
    first_high = min(middle, other_middle) + _ONE
    high = first_high
    while (i < middle) & (j < other_middle) & (high_i < n) & (high_j < m):
        one, other = ids[i], others[j]
        high_one, high_other = ids[high_i], others[high_j]
        places[found], other_places[found] = i, j
        places[high], other_places[high] = high_i, high_j
        found += uint64(one == other)
        i += uint64(one <= other)
        j += uint64(other <= one)
        high += uint64(high_one == high_other)
        high_i += uint64(high_one <= high_other)
        high_j += uint64(high_other <= high_one)
    found = _merge(ids, i, middle, others, j, other_middle, places, other_places, found)
    high = _merge(ids, high_i, n, others, high_j, m, places, other_places, high)
    for k in range(first_high, high):
        places[found], other_places[found] = places[k], other_places[k]
        found += _ONE
    return found


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _searched(ids: Any, others: Any, places: Any, other_places: Any) -> Any:
    """As `_two_merges`, for few ids and many others."""
    m = uint64(len(others))
    j = found = _ZERO
    for i in range(uint64(len(ids))):
        j = _search(others, j, ids[i])
        if j == m:
            break
        places[found], other_places[found] = i, j
        found += uint64(others[j] == ids[i])
    return found


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _meet(ids: Any, others: Any, places: Any, other_places: Any) -> Any:
    n, m = uint64(len(ids)), uint64(len(others))
    if not (n and m):
        return _ZERO
    if n * FAR < m:
        return _searched(ids, others, places, other_places)
    if m * FAR < n:
        return _searched(others, ids, other_places, places)
    return _two_merges(ids, others, places, other_places)


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _starts(tf: Any, places: Any, n: Any, out: Any) -> None:
    """The sum of the tf before each of n ascending places."""
    size = uint64(len(tf))
    total = low = high = _ZERO
    if n * FAR < size:
        for k in range(n):
            high = uint64(places[k])
            between = _ZERO
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


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _at(positions: Any, i: Any, size: Any) -> Any:
    """Position number i of those of `size` bytes each."""
    if size == _ONE:
        return uint64(positions[i])
    at = i * size
    low = uint64(positions[at]) | uint64(positions[at + _ONE]) << uint64(8)
    if size == _TWO:
        return low
    return low | uint64(positions[at + _TWO]) << uint64(16) | uint64(positions[at + uint64(3)]) << uint64(24)


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _few(
    positions: Any, at: Any, n: Any, offset: Any, others: Any, other_at: Any, m: Any, other_offset: Any, width: Any,
    size: Any,
) -> Any:  # fmt: skip
    """(phrases, windows) of words that occur once or twice; the one occurrence is also read as the last."""
    one, last = _at(positions, at, size), _at(positions, at + n - _ONE, size)
    other, other_last = _at(others, other_at, size), _at(others, other_at + m - _ONE, size)
    # Sums wrap around, so that no difference need be negative.
    wanted, wanted_last = one - offset + other_offset, last - offset + other_offset
    begins = uint64((one >= offset) & ((wanted == other) | (wanted == other_last)))
    begins += uint64((n == _TWO) & (last >= offset) & ((wanted_last == other) | (wanted_last == other_last)))
    reach, span = width - _ONE, width + width - _ONE
    firsts, lasts = one - other + reach < span, last - other_last + reach < span
    near = firsts | lasts | (one - other_last + reach < span) | (last - other + reach < span)
    # At the same place the first word comes first, as in windows.py.
    apart = (n == _TWO) & (m == _TWO) & ((max(one, other) < min(last, other_last)) | (one == other_last))
    return begins, uint64(near) + uint64(apart & firsts & lasts)


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _begins(
    positions: Any, at: Any, n: Any, offset: Any, others: Any, other_at: Any, m: Any, other_offset: Any, size: Any
) -> Any:  # fmt: skip
    """At how many of n places of the first word the phrase begins."""
    found = _ZERO
    end, stop = at + n, other_at + m
    while at < end:
        place = _at(positions, at, size)
        at += _ONE
        if place < offset:
            continue
        wanted = place - offset + other_offset
        while other_at < stop and _at(others, other_at, size) < wanted:
            other_at += _ONE
        if other_at == stop:
            break
        found += uint64(_at(others, other_at, size) == wanted)
    return found


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _windows(positions: Any, at: Any, n: Any, others: Any, other_at: Any, m: Any, width: Any, size: Any) -> Any:
    """The windows of two words: neighbours among their places, each in one window only.

    At the same place the first word comes first.
    """
    found = _ZERO
    end, stop = at + n, other_at + m
    last, last_is_first, pending = _ZERO, False, False
    while at < end or other_at < stop:
        place, is_first = _ZERO, at < end
        if is_first:
            place = _at(positions, at, size)
        if other_at < stop:
            other = _at(others, other_at, size)
            if not is_first or other < place:
                place, is_first = other, False
        if is_first:
            at += _ONE
        else:
            other_at += _ONE
        if pending and is_first != last_is_first and place - last < width:
            found += _ONE
            pending = False
        else:
            last, last_is_first, pending = place, is_first, True
    return found


@njit(
    _COUNTS(
        *(_NUMBERS, _NUMBERS, _BYTES, uint64) * 2, uint64, boolean, uint64, _OUT, _OUT, _OUT, _OUT
    ), **_OPTIONS
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def pairs(
    ids: Any, tf: Any, positions: Any, offset: Any, other_ids: Any, other_tf: Any, others: Any, other_offset: Any,
    size: Any, ordered: Any, width: Any, out_ids: Any, out_tf: Any, near_ids: Any, near_tf: Any,
) -> Any:  # fmt: skip
    """Two different words as a phrase, in any order within `width` places, or both.

    Args:
        ids: ascending.
        tf: of each.
        positions: all of them.
        offset: the word's place in the phrase.
        other_ids: the same of the other word.
        other_tf: of each.
        others: all positions.
        other_offset: its place.
        size: bytes of a position.
        ordered: whether the phrase is wanted.
        width: of the windows; 0 where they are not wanted.
        out_ids: gets the entities with the phrase where that is wanted; as long as the shorter list.
        out_tf: how often they have it.
        near_ids: gets the entities with windows where these are wanted.
        near_tf: how many they have.

    Returns:
        (entities with the phrase, entities with a window).
    """
    room = min(len(ids), len(other_ids)) + 2
    places, other_places = np.empty(room, np.uint32), np.empty(room, np.uint32)
    n = uint64(_meet(ids, other_ids, places, other_places))
    starts, other_starts = np.empty(n, np.uint64), np.empty(n, np.uint64)
    _starts(tf, places, n, starts)
    _starts(other_tf, other_places, n, other_starts)
    n_out = n_near = _ZERO
    for k in range(n):
        entity, own, theirs = ids[places[k]], uint64(tf[places[k]]), uint64(other_tf[other_places[k]])
        at, other_at = starts[k], other_starts[k]
        if (at + own) * size > len(positions) or (other_at + theirs) * size > len(others):
            return WRONG, WRONG
        if (own <= _TWO) & (theirs <= _TWO):
            begins, near = _few(
                positions, at, own, offset, others, other_at, theirs, other_offset, width, size
            )  # fmt: skip
        else:
            begins = near = _ZERO
            if ordered:
                begins = _begins(positions, at, own, offset, others, other_at, theirs, other_offset, size)
            if width:
                near = _windows(positions, at, own, others, other_at, theirs, width, size)
        if ordered:
            out_ids[n_out], out_tf[n_out] = entity, begins
            n_out += uint64(begins > _ZERO)
        if width:
            near_ids[n_near], near_tf[n_near] = entity, near
            n_near += uint64(near > _ZERO)
    return n_out, n_near


@njit(_COUNTS(*(_NUMBERS, _NUMBERS, _BYTES, uint64, uint64) * 2, _OUT, _OUT, _OUT), **_OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def beginnings(
    ids: Any, tf: Any, positions: Any, size: Any, offset: Any,
    other_ids: Any, other_tf: Any, others: Any, other_size: Any, other_offset: Any,
    out_ids: Any, out_tf: Any, out: Any,
) -> Any:  # fmt: skip
    """Where a phrase of two words begins, for those of more words; as `pairs`, but positions may differ in size.

    Args:
        ids: ascending.
        tf: of each.
        positions: all of them.
        size: bytes of a position.
        offset: the word's place in the phrase.
        other_ids: the same of the other word.
        other_tf: of each.
        others: all positions.
        other_size: bytes of one of them.
        other_offset: its place.
        out_ids: gets the entities; as long as the shorter list.
        out_tf: how often the phrase begins there.
        out: where; as many as there are `positions`.

    Returns:
        (entities, beginnings).
    """
    room = min(len(ids), len(other_ids)) + 2
    places, other_places = np.empty(room, np.uint32), np.empty(room, np.uint32)
    n = uint64(_meet(ids, other_ids, places, other_places))
    starts, other_starts = np.empty(n, np.uint64), np.empty(n, np.uint64)
    _starts(tf, places, n, starts)
    _starts(other_tf, other_places, n, other_starts)
    n_out = total = _ZERO
    for k in range(n):
        before, i, j = total, starts[k], other_starts[k]
        end, stop = i + uint64(tf[places[k]]), j + uint64(other_tf[other_places[k]])
        if end * size > len(positions) or stop * other_size > len(others):
            return WRONG, WRONG
        while i < end:
            place = _at(positions, i, size)
            i += _ONE
            if place >= offset:
                begin = place - offset
                while j < stop and _at(others, j, other_size) < begin + other_offset:
                    j += _ONE
                if j < stop and _at(others, j, other_size) == begin + other_offset:
                    out[total] = begin
                    total += _ONE
        out_ids[n_out], out_tf[n_out] = ids[places[k]], total - before
        n_out += uint64(total > before)
    return n_out, total
