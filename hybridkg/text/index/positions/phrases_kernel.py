"""Phrases and windows of pairs of words, compiled. Import it through `hybridkg.compute.kernels` only.

`phrases.py` and `windows.py` are the numpy reference. occurrences_kernel.py documents the intersection of lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, njit, uint8, uint32, uint64
from numba.core.types import UniTuple

from hybridkg.text.index.codec.cursor_kernel import HELPER, OPTIONS, readonly
from hybridkg.text.index.codec.packing_kernel import unpack_block, unpack_occurrences
from hybridkg.text.index.positions.occurrences_kernel import (
    ONE,
    SEARCH_RATIO,
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
"""Returned as a count where a list has fewer positions than the sum of its tf."""

_NUMBERS, _BYTES, _OUT = readonly(uint32), readonly(uint8), uint32[::1]
_COUNTS: Any = UniTuple(uint64, 2)  # type: ignore[no-untyped-call, unused-ignore]


@njit(
    _COUNTS(
        *(_NUMBERS, _NUMBERS, _BYTES, uint64) * 2, uint64, boolean, uint64, _OUT, _OUT, _OUT, _OUT
    ), **OPTIONS
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def pairs(
    ids: Any, tf: Any, positions: Any, offset: Any, other_ids: Any, other_tf: Any, others: Any, other_offset: Any,
    size: Any, ordered: Any, width: Any, out_ids: Any, out_tf: Any, near_ids: Any, near_tf: Any,
) -> Any:  # fmt: skip
    """Two different words as a phrase, in any order within `width` places, or both.

    Args (in part):
        ids, tf, positions, offset: the list of the first word, ascending, and its place in the phrase.
        other_ids, other_tf, others, other_offset: the same of the second word.
        size: bytes of a position.
        ordered: whether the phrase is requested.
        width: of the windows; 0 for none.
        out_ids, out_tf: get the postings of the phrase; as long as the shorter list.
        near_ids, near_tf: get the postings of the windows.

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
        entity, first_tf, second_tf = ids[places[k]], uint64(tf[places[k]]), uint64(other_tf[other_places[k]])
        at, other_at = starts[k], other_starts[k]
        if (at + first_tf) * size > len(positions) or (other_at + second_tf) * size > len(others):
            return WRONG, WRONG
        if (first_tf <= TWO) & (second_tf <= TWO):
            begins, near = few(
                positions, at, first_tf, offset, others, other_at, second_tf, other_offset, width, size
            )  # fmt: skip
        else:
            begins = near = ZERO
            if ordered:
                begins = beginnings_of(positions, at, first_tf, offset, others, other_at, second_tf, other_offset, size)
            if width:
                near = windows_of(positions, at, first_tf, others, other_at, second_tf, width, size)
        if ordered:
            out_ids[n_out], out_tf[n_out] = entity, begins
            n_out += uint64(begins > ZERO)
        if width:
            near_ids[n_near], near_tf[n_near] = entity, near
            n_near += uint64(near > ZERO)
    return n_out, n_near


@njit(_COUNTS(*(_NUMBERS, _NUMBERS, _BYTES, uint64, uint64) * 2, _OUT, _OUT, _OUT), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def beginnings(
    ids: Any, tf: Any, positions: Any, size: Any, offset: Any,
    other_ids: Any, other_tf: Any, others: Any, other_size: Any, other_offset: Any,
    out_ids: Any, out_tf: Any, out: Any,
) -> Any:  # fmt: skip
    """The beginnings of a phrase of two words, a step in those of more words.

    The lists are those of `pairs`, but positions may differ in size. `out_ids`, `out_tf` and `out` get the entities,
    the number of beginnings in each and their positions.

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


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _unpack(packed: Any, first: Any, at: Any, widths: Any, block: Any, n: Any, ids: Any, tf: Any) -> None:
    """Unpacks a list of n postings; the outputs have room for three more."""
    done = ZERO
    while done < n:
        size = min(BLOCK, n - done)
        unpack_block(packed, first[block], uint64(at[block]), widths, block, size, ids, tf, done)
        done += size
        block += ONE


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _block_of(first: Any, begin: Any, low: Any, n: Any, wanted: Any) -> Any:
    """The last of n blocks from `begin` on, at least `low`, whose first id is at most `wanted`."""
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


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _meet_packed(
    ids: Any, packed: Any, first: Any, at: Any, widths: Any, begin: Any, m: Any, once: Any,
    places: Any, starts: Any, out_tf: Any,
) -> Any:  # fmt: skip
    """The intersection of few ids, which ascend, with a long packed list, unpacking only blocks that may contain one.

    The list has m postings from the block `begin` on, all of tf 1 if `once`. places, starts and out_tf get the place of
    each common id in `ids`, its first occurrence and its tf.
    """
    block_ids, block_tf = np.empty(BLOCK + uint64(4), np.uint32), np.empty(BLOCK + uint64(4), np.uint32)
    sums = np.empty(BLOCK + uint64(4), np.uint32)
    n_blocks = (m + BLOCK - ONE) // BLOCK
    unpacked = WRONG
    size = j = block_place = summed = total = n_common = within = passed = ZERO
    for i in range(uint64(len(ids))):
        wanted = ids[i]
        block_place = _block_of(first, begin, block_place, n_blocks, wanted)
        block = begin + block_place
        if block_place != unpacked:
            size, j = min(BLOCK, m - block_place * BLOCK), ZERO
            unpack_block(
                packed, first[block], uint64(at[block]), widths, block, size, block_ids, block_tf, ZERO
            )  # fmt: skip
            unpacked = block_place
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
            start = block_place * BLOCK + j
        else:
            while summed < block_place:  # full blocks
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
        places[n_common], starts[n_common], out_tf[n_common] = i, start, block_tf[j]
        n_common += ONE
    return n_common


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _starts(tf: Any, n: Any, places: Any, n_places: Any, tokens: Any, out: Any) -> None:
    """Fills `out` with the first occurrence at each of the places of a list of n postings."""
    if n == tokens:
        for k in range(n_places):
            out[k] = places[k]
    else:
        starts_of(tf[:n], places, n_places, out)


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _same(positions: Any, at: Any, n: Any, width: Any, size: Any) -> Any:
    """The number of disjoint windows of a word with itself."""
    count = ZERO
    end = at + n
    last, pending = ZERO, False
    while at < end:
        place = position(positions, at, size)
        at += ONE
        if pending and place - last < width:
            count += ONE
            pending = False
        else:
            last, pending = place, True
    return count


@njit(
    boolean(
        _NUMBERS, _NUMBERS, _NUMBERS, readonly(uint8, 2), _BYTES, uint64, readonly(uint64, 2), uint64,
        _OUT, _OUT, _OUT, _OUT, uint64[:, ::1],
    ), **OPTIONS
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def packed_pairs(
    packed: Any, first: Any, at: Any, widths: Any, positions: Any, size: Any, jobs: Any, width: Any,
    out_ids: Any, out_tf: Any, near_ids: Any, near_tf: Any, counts: Any,
) -> Any:  # fmt: skip
    """Pairs of words of packed lists, as a phrase and in any order within `width` places.

    Args (in part):
        size: bytes of a position.
        jobs: uint64[jobs, 11]: of one word its list, the list's first block, postings, first token and tokens, none
            empty; the same of the other word; the distance between them. A list that two consecutive jobs share is
            unpacked once.
        width: of the windows, at least 1.
        out_ids, out_tf: get the postings of the phrases, job by job; as long as the shorter lists together.
        near_ids, near_tf: get the postings of the windows.
        counts: uint64[jobs, 4]: gets entities with the phrase, phrases, entities with windows, windows.

    Returns:
        Whether no positions were missing.
    """
    room = max_common = ZERO
    for i in range(uint64(len(jobs))):
        n, m = jobs[i, 2], jobs[i, 7]
        max_common = max(max_common, min(n, m))
        room = max(room, min(n, m) if min(n, m) * SEARCH_RATIO < max(n, m) else max(n, m))
    ids0, tf0 = np.empty(room + uint64(4), np.uint32), np.empty(room + uint64(4), np.uint32)
    ids1, tf1 = np.empty(room + uint64(4), np.uint32), np.empty(room + uint64(4), np.uint32)
    places, other_places = np.empty(max_common + TWO, np.uint32), np.empty(max_common + TWO, np.uint32)
    starts, other_starts = np.empty(max_common, np.uint64), np.empty(max_common, np.uint64)
    in_first = in_second = WRONG
    n_out = n_near = ZERO
    for i in range(uint64(len(jobs))):
        one, n, token, tokens = jobs[i, 0], jobs[i, 2], jobs[i, 3], jobs[i, 4]
        other, m, other_token, other_tokens = jobs[i, 5], jobs[i, 7], jobs[i, 8], jobs[i, 9]
        distance = jobs[i, 10]
        if max(token + tokens, other_token + other_tokens) * size > uint64(len(positions)):
            return False
        unpacks, other_unpacks = n <= m * SEARCH_RATIO, m <= n * SEARCH_RATIO
        if unpacks and other_unpacks and one != other:
            # The second word of a job is the first of the next: its list stays in its buffer.
            swapped = in_first == other or in_second == one
        else:
            swapped = in_second == one if unpacks else in_first == other
        ids, tf, other_ids, other_tf = ids0, tf0, ids1, tf1
        if swapped:
            ids, tf, other_ids, other_tf = ids1, tf1, ids0, tf0
        if unpacks and (in_second if swapped else in_first) != one:
            _unpack(packed, first, at, widths, jobs[i, 1], n, ids, tf)
            in_first, in_second = (in_first, one) if swapped else (one, in_second)
        in_other = in_first if swapped else in_second
        if other_unpacks and one != other and in_other != other:  # noqa: PLR1714
            _unpack(packed, first, at, widths, jobs[i, 6], m, other_ids, other_tf)
            in_first, in_second = (other, in_second) if swapped else (in_first, other)
        if one == other:
            n_common = n
            other_ids, other_tf = ids, tf
            for k in range(n):
                places[k] = other_places[k] = k
            _starts(tf, n, places, n, tokens, starts)
            for k in range(n):
                other_starts[k] = starts[k]
        elif not other_unpacks:
            n_common = _meet_packed(
                ids[:n], packed, first, at, widths, jobs[i, 6], m, m == other_tokens, places, other_starts, other_tf
            )  # fmt: skip
            _starts(tf, n, places, n_common, tokens, starts)
            in_first, in_second = (WRONG, in_second) if swapped else (in_first, WRONG)
        elif not unpacks:
            n_common = _meet_packed(
                other_ids[:m], packed, first, at, widths, jobs[i, 1], n, n == tokens, other_places, starts, tf
            )  # fmt: skip
            _starts(other_tf, m, other_places, n_common, other_tokens, other_starts)
            in_first, in_second = (in_first, WRONG) if swapped else (WRONG, in_second)
        else:
            n_common = uint64(meet(ids[:n], other_ids[:m], places, other_places))
            _starts(tf, n, places, n_common, tokens, starts)
            _starts(other_tf, m, other_places, n_common, other_tokens, other_starts)
        before, near_before = n_out, n_near
        n_phrases = n_windows = ZERO
        for k in range(n_common):
            entity = ids[places[k]] if unpacks else other_ids[other_places[k]]
            own_tf = uint64(tf[places[k]] if unpacks else tf[k])
            other_tf_here = uint64(other_tf[other_places[k]] if other_unpacks else other_tf[k])
            if starts[k] + own_tf > tokens or other_starts[k] + other_tf_here > other_tokens:
                return False
            begin, other_begin = token + starts[k], other_token + other_starts[k]
            if one == other:
                begins = near = ZERO
                if own_tf > ONE:
                    begins = beginnings_of(positions, begin, own_tf, ZERO, positions, begin, own_tf, distance, size)
                    near = _same(positions, begin, own_tf, width, size)
            elif (own_tf <= TWO) & (other_tf_here <= TWO):
                begins, near = few(
                    positions, begin, own_tf, ZERO, positions, other_begin, other_tf_here, distance, width, size
                )  # fmt: skip
            else:
                begins = beginnings_of(
                    positions, begin, own_tf, ZERO, positions, other_begin, other_tf_here, distance, size
                )
                near = windows_of(positions, begin, own_tf, positions, other_begin, other_tf_here, width, size)
            n_phrases += begins
            n_windows += near
            out_ids[n_out], out_tf[n_out] = entity, begins
            n_out += uint64(begins > ZERO)
            near_ids[n_near], near_tf[n_near] = entity, near
            n_near += uint64(near > ZERO)
        counts[i, 0], counts[i, 1], counts[i, 2], counts[i, 3] = (
            n_out - before,
            n_phrases,
            n_near - near_before,
            n_windows,
        )
    return True
