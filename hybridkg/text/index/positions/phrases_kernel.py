"""The compiled search for pairs of words. Import it through `hybridkg.compute.kernels` only: importing it compiles it.

`positional.py` and `windows.py` do the same with numpy, and are the reference. Each list is read once;
occurrences_kernel.py says how.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, njit, uint8, uint32, uint64
from numba.core.types import Array, UniTuple

from hybridkg.text.index.codec.packing_kernel import unpack_block, unpack_occurrences
from hybridkg.text.index.positions.occurrences_kernel import (
    FAR,
    ONE,
    TWO,
    ZERO,
    beginnings_of,
    few,
    meet,
    position,
    starts_of,
    windows_of,
)

BLOCK = np.uint64(128)

WRONG = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""Returned as a count where a list has fewer positions than its tf say."""

_NUMBERS = Array(uint32, 1, "C", readonly=True)
_BYTES = Array(uint8, 1, "C", readonly=True)
_OUT = uint32[::1]
_COUNTS: Any = UniTuple(uint64, 2)  # type: ignore[no-untyped-call, unused-ignore]
_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}


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
    n = uint64(meet(ids, other_ids, places, other_places))
    starts, other_starts = np.empty(n, np.uint64), np.empty(n, np.uint64)
    starts_of(tf, places, n, starts)
    starts_of(other_tf, other_places, n, other_starts)
    n_out = n_near = ZERO
    for k in range(n):
        entity, own, theirs = ids[places[k]], uint64(tf[places[k]]), uint64(other_tf[other_places[k]])
        at, other_at = starts[k], other_starts[k]
        if (at + own) * size > len(positions) or (other_at + theirs) * size > len(others):
            return WRONG, WRONG
        if (own <= TWO) & (theirs <= TWO):
            begins, near = few(
                positions, at, own, offset, others, other_at, theirs, other_offset, width, size
            )  # fmt: skip
        else:
            begins = near = ZERO
            if ordered:
                begins = beginnings_of(positions, at, own, offset, others, other_at, theirs, other_offset, size)
            if width:
                near = windows_of(positions, at, own, others, other_at, theirs, width, size)
        if ordered:
            out_ids[n_out], out_tf[n_out] = entity, begins
            n_out += uint64(begins > ZERO)
        if width:
            near_ids[n_near], near_tf[n_near] = entity, near
            n_near += uint64(near > ZERO)
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
    n = uint64(meet(ids, other_ids, places, other_places))
    starts, other_starts = np.empty(n, np.uint64), np.empty(n, np.uint64)
    starts_of(tf, places, n, starts)
    starts_of(other_tf, other_places, n, other_starts)
    n_out = total = ZERO
    for k in range(n):
        before, i, j = total, starts[k], other_starts[k]
        end, stop = i + uint64(tf[places[k]]), j + uint64(other_tf[other_places[k]])
        if end * size > len(positions) or stop * other_size > len(others):
            return WRONG, WRONG
        while i < end:
            place = position(positions, i, size)
            i += ONE
            if place >= offset:
                begin = place - offset
                while j < stop and position(others, j, other_size) < begin + other_offset:
                    j += ONE
                if j < stop and position(others, j, other_size) == begin + other_offset:
                    out[total] = begin
                    total += ONE
        out_ids[n_out], out_tf[n_out] = ids[places[k]], total - before
        n_out += uint64(total > before)
    return n_out, total


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _unpack(packed: Any, first: Any, at: Any, widths: Any, block: Any, n: Any, ids: Any, tf: Any) -> None:
    """A whole list of n postings; the outputs have room for three more."""
    done = ZERO
    while done < n:
        size = min(BLOCK, n - done)
        unpack_block(packed, first[block], uint64(at[block]), widths, block, size, ids, tf, done)
        done += size
        block += ONE


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _block_of(first: Any, begin: Any, low: Any, n: Any, wanted: Any) -> Any:
    """The last of n blocks from `begin` on whose first id is not above `wanted`, or `low`; it is not below `low`."""
    step = ONE
    while low + step < n and first[begin + low + step] <= wanted:
        low += step
        step += step
    high = min(low + step, n)
    while high - low > ONE:
        middle = (low + high) >> ONE
        if first[begin + middle] <= wanted:
            low = middle
        else:
            high = middle
    return low


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _meet_packed(
    ids: Any, packed: Any, first: Any, at: Any, widths: Any, begin: Any, m: Any, once: Any,
    places: Any, starts: Any, often: Any,
) -> Any:  # fmt: skip
    """Few ids and a long packed list: only the blocks are unpacked in which they may be.

    Args:
        ids: ascending.
        packed: of the segment, as `first`, `at` and `widths`.
        first: id of each block.
        at: where each block is.
        widths: of its values.
        begin: the first block of the list.
        m: its postings.
        once: whether each of them is one occurrence.
        places: gets the places in `ids` of those that the list has.
        starts: gets where their occurrences begin.
        often: gets how many they are.
    """
    block_ids, block_tf = np.empty(BLOCK + uint64(4), np.uint32), np.empty(BLOCK + uint64(4), np.uint32)
    sums = np.empty(BLOCK + uint64(4), np.uint32)
    n_blocks = (m + BLOCK - ONE) // BLOCK
    unpacked = WRONG
    size = j = own = summed = total = found = within = passed = ZERO
    for i in range(uint64(len(ids))):
        wanted = ids[i]
        own = _block_of(first, begin, own, n_blocks, wanted)
        block = begin + own
        if own != unpacked:
            size, j = min(BLOCK, m - own * BLOCK), ZERO
            unpack_block(
                packed, first[block], uint64(at[block]), widths, block, size, block_ids, block_tf, ZERO
            )  # fmt: skip
            unpacked = own
            within = passed = ZERO
        low, high = j, size
        while low < high:
            middle = (low + high) >> ONE
            if block_ids[middle] < wanted:
                low = middle + ONE
            else:
                high = middle
        j = low
        if j == size or block_ids[j] != wanted:
            continue
        if once:
            start = own * BLOCK + j
        else:
            while summed < own:  # these are full
                if widths[begin + summed, 1]:
                    unpack_occurrences(packed, uint64(at[begin + summed]), widths, begin + summed, BLOCK, sums, ZERO)
                    for k in range(BLOCK):
                        total += uint64(sums[k])
                else:
                    total += BLOCK
                summed += ONE
            while passed < j:
                within += uint64(block_tf[passed])
                passed += ONE
            start = total + within
        places[found], starts[found], often[found] = i, start, block_tf[j]
        found += ONE
    return found


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _starts(tf: Any, n: Any, places: Any, found: Any, tokens: Any, out: Any) -> None:
    """Where the occurrences at some places of a list begin; it has n postings."""
    if n == tokens:
        for k in range(found):
            out[k] = places[k]
    else:
        starts_of(tf[:n], places, found, out)


@njit  # type: ignore[untyped-decorator, unused-ignore]
def _same(positions: Any, at: Any, n: Any, width: Any, size: Any) -> Any:
    """The windows of a word and itself: neighbours among its places, each in one window only."""
    found = ZERO
    end = at + n
    last, pending = ZERO, False
    while at < end:
        place = position(positions, at, size)
        at += ONE
        if pending and place - last < width:
            found += ONE
            pending = False
        else:
            last, pending = place, True
    return found


@njit(
    boolean(
        _NUMBERS, _NUMBERS, _NUMBERS, Array(uint8, 2, "C", readonly=True), _BYTES, uint64,
        Array(uint64, 2, "C", readonly=True), uint64, _OUT, _OUT, _OUT, _OUT, uint64[:, ::1],
    ), **_OPTIONS
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def packed_pairs(
    packed: Any, first: Any, at: Any, widths: Any, positions: Any, size: Any, jobs: Any, width: Any,
    out_ids: Any, out_tf: Any, near_ids: Any, near_tf: Any, counts: Any,
) -> Any:  # fmt: skip
    """Pairs of words of packed lists, as a phrase and in any order within `width` places.

    Args:
        packed: of the segment, as `first`, `at`, `widths` and `positions`.
        first: id of each block.
        at: where each block is.
        widths: of its values.
        positions: of all lists.
        size: bytes of a position.
        jobs: uint64[jobs, 11]: of one word its list, the list's first block, postings, first token and tokens, none
            empty; the same of the other word; how far it is behind. A list that two neighbouring jobs have is
            unpacked once.
        width: of the windows, at least 1.
        out_ids: gets the entities with the phrases, job by job; as long as the shorter lists together.
        out_tf: how often they have it.
        near_ids: the same of the windows.
        near_tf: how many they have.
        counts: uint64[jobs, 4]: gets entities with the phrase, phrases, entities with windows, windows.

    Returns:
        Whether all positions were there.
    """
    room = most = ZERO
    for i in range(uint64(len(jobs))):
        n, m = jobs[i, 2], jobs[i, 7]
        most = max(most, min(n, m))
        room = max(room, min(n, m) if min(n, m) * FAR < max(n, m) else max(n, m))
    ids0, tf0 = np.empty(room + uint64(4), np.uint32), np.empty(room + uint64(4), np.uint32)
    ids1, tf1 = np.empty(room + uint64(4), np.uint32), np.empty(room + uint64(4), np.uint32)
    places, other_places = np.empty(most + TWO, np.uint32), np.empty(most + TWO, np.uint32)
    starts, other_starts = np.empty(most, np.uint64), np.empty(most, np.uint64)
    held0 = held1 = WRONG
    n_out = n_near = ZERO
    for i in range(uint64(len(jobs))):
        one, n, token, tokens = jobs[i, 0], jobs[i, 2], jobs[i, 3], jobs[i, 4]
        other, m, other_token, other_tokens = jobs[i, 5], jobs[i, 7], jobs[i, 8], jobs[i, 9]
        distance = jobs[i, 10]
        if max(token + tokens, other_token + other_tokens) * size > uint64(len(positions)):
            return False
        unpacks, other_unpacks = n <= m * FAR, m <= n * FAR
        if unpacks and other_unpacks and one != other:
            # Words that follow each other are in turn the one and the other: a list stays where it is.
            swapped = held0 == other or held1 == one
        else:
            swapped = held1 == one if unpacks else held0 == other
        ids, tf, other_ids, other_tf = ids0, tf0, ids1, tf1
        if swapped:
            ids, tf, other_ids, other_tf = ids1, tf1, ids0, tf0
        if unpacks and (held1 if swapped else held0) != one:
            _unpack(packed, first, at, widths, jobs[i, 1], n, ids, tf)
            held0, held1 = (held0, one) if swapped else (one, held1)
        held = held0 if swapped else held1
        if other_unpacks and one != other and held != other:  # noqa: PLR1714
            _unpack(packed, first, at, widths, jobs[i, 6], m, other_ids, other_tf)
            held0, held1 = (other, held1) if swapped else (held0, other)
        if one == other:
            found = n
            other_ids, other_tf = ids, tf
            for k in range(n):
                places[k] = other_places[k] = k
            _starts(tf, n, places, n, tokens, starts)
            for k in range(n):
                other_starts[k] = starts[k]
        elif not other_unpacks:
            found = _meet_packed(
                ids[:n], packed, first, at, widths, jobs[i, 6], m, m == other_tokens, places, other_starts, other_tf
            )  # fmt: skip
            _starts(tf, n, places, found, tokens, starts)
            held0, held1 = (WRONG, held1) if swapped else (held0, WRONG)
        elif not unpacks:
            found = _meet_packed(
                other_ids[:m], packed, first, at, widths, jobs[i, 1], n, n == tokens, other_places, starts, tf
            )  # fmt: skip
            _starts(other_tf, m, other_places, found, other_tokens, other_starts)
            held0, held1 = (held0, WRONG) if swapped else (WRONG, held1)
        else:
            found = uint64(meet(ids[:n], other_ids[:m], places, other_places))
            _starts(tf, n, places, found, tokens, starts)
            _starts(other_tf, m, other_places, found, other_tokens, other_starts)
        before, near_before = n_out, n_near
        begun = nearby = ZERO
        for k in range(found):
            entity = ids[places[k]] if unpacks else other_ids[other_places[k]]
            own = uint64(tf[places[k]] if unpacks else tf[k])
            theirs = uint64(other_tf[other_places[k]] if other_unpacks else other_tf[k])
            if starts[k] + own > tokens or other_starts[k] + theirs > other_tokens:
                return False
            begin, other_begin = token + starts[k], other_token + other_starts[k]
            if one == other:
                begins = near = ZERO
                if own > ONE:
                    begins = beginnings_of(positions, begin, own, ZERO, positions, begin, own, distance, size)
                    near = _same(positions, begin, own, width, size)
            elif (own <= TWO) & (theirs <= TWO):
                begins, near = few(
                    positions, begin, own, ZERO, positions, other_begin, theirs, distance, width, size
                )  # fmt: skip
            else:
                begins = beginnings_of(positions, begin, own, ZERO, positions, other_begin, theirs, distance, size)
                near = windows_of(positions, begin, own, positions, other_begin, theirs, width, size)
            begun += begins
            nearby += near
            out_ids[n_out], out_tf[n_out] = entity, begins
            n_out += uint64(begins > ZERO)
            near_ids[n_near], near_tf[n_near] = entity, near
            n_near += uint64(near > ZERO)
        counts[i, 0], counts[i, 1], counts[i, 2], counts[i, 3] = n_out - before, begun, n_near - near_before, nearby
    return True
