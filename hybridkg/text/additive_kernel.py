"""The compiled ranking of additive models. Import it through `hybridkg.text.kernels` only: importing it compiles it.

Walks the postings in windows of entity ids, so its scratch memory fits the cache however large the graph is. Posting
lists are packed (embedded/packing.py) or plain. `additive.score_numpy` is the reference and gives the same bits; so no
fastmath, and no reordering of operations here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import boolean, float32, float64, int64, njit, uint32, uint64
from numba.core import types

from hybridkg.text.additive import CHUNK
from hybridkg.text.collect_kernel import collect_dense, collect_plain, collect_sparse
from hybridkg.text.few_kernel import rank_few
from hybridkg.text.heap_kernel import offer, order_best
from hybridkg.text.lists_kernel import (
    BLOCK,
    LISTS,
    NEVER,
    OPTIONS,
    ROOM,
    SEGMENT,
    lowest_bit,
    nearest,
    open_lists,
    seek_block,
    seek_plain,
)
from hybridkg.text.lists_kernel import readonly as _input
from hybridkg.text.look_up_kernel import look_up
from hybridkg.text.mixture_kernel import bounds_of_terms, least_product, logarithms
from hybridkg.text.restrict_kernel import restrict

__all__ = ["look_up", "rank", "rank_few", "restrict"]

SPARSE = 32
"""Where a list has so many postings for each living range of a window, they are looked for range by range; otherwise
all of them are looked at.
"""

_THREE: Any = types.Tuple((int64, int64, int64))  # type: ignore[no-untyped-call, unused-ignore]

_FORM = (
    _input(uint32, 2), _input(int64), _input(float64), _input(float64),
    _input(float64, 2), _input(float64), float64, _input(float64, 2), _input(float64), int64,
)  # fmt: skip
"""lengths, rows, base, slope, coefficient, gain, k1, background, constant, words"""


@njit(
    _THREE(
        *SEGMENT, *LISTS, *_FORM, _input(uint32), boolean, _input(uint32), int64, _input(float32), _input(int64),
        float64, float64, float64[::1], uint32[::1], uint32[::1], int64,
        uint32[::1], uint32[::1], float64[::1], int64, boolean, boolean,
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def rank(
    packed: Any, first: Any, at: Any, widths: Any,
    lists: Any, plain: Any, plain_tf: Any,
    lengths: Any, rows: Any, base: Any, slope: Any, coefficient: Any, gain: Any, k1: Any,
    background: Any, constant: Any, words: Any,
    allowed: Any, only_allowed: Any, rank_of: Any, width: Any, bounds: Any, order: Any,
    bounds_from: Any, bounds_below: Any, floats: Any, whole: Any, stamps: Any, stamp: Any,
    out_ids: Any, out_ranks: Any, out_scores: Any, n_out: Any, complete: Any, last: Any,
) -> Any:  # fmt: skip
    """Keeps the best entities in a heap, put in order at last; or writes down all of them, ascending.

    Args beyond those of the form and the lists:
        allowed: uint32[...], ascending: the only entities that count, where `only_allowed`.
        rank_of: uint32[nodes], what decides ties; empty for the ids themselves.
        width: entities of a window, a multiple of 64.
        bounds: float32[ranges], no score of an entity in this range of 8 ids is above; empty for all of them.
        order: int64[windows], where windows begin, in the order in which they are looked at; empty for ascending ones.
        bounds_from, bounds_below: only ranges with a bound of from..below are looked at.
        floats: float64[(terms + 3) * width + (fields + 3) * CHUNK or more].
        whole: uint32[4 * (width + 1) or more].
        stamps: uint32[2 * width or more], all at most `stamp`.
        out_ids, out_ranks, out_scores: the heap, of k, or room for all; n_out of it are filled.
        complete: whether all are wanted.
        last: whether the heap is to be put in order, best first.

    Returns:
        How many are filled, how many entities were scored, and the last stamp.
    """
    term, field, block, start, size = lists[0], lists[1], lists[2], lists[3], lists[4]
    n_lists, n_ranges, n_terms, n_fields = len(term), len(bounds), len(gain), len(rows)
    cursor, following = np.empty((n_lists, 4), np.int64), np.empty(n_lists, np.int64)
    ids, tf = np.empty(n_lists * ROOM, np.uint32), np.empty(n_lists * ROOM, np.uint32)
    # Of postings of a list: entity in the window, occurrences, part of x. Of entities: whether this window and this
    # term have come to it, x of the term at hand, what comes of all terms so far, x of each term.
    docs, often, touched = whole[: width + 1], whole[width + 1 : 2 * (width + 1)], whole[2 * (width + 1) :]
    found, entered, seen = whole[3 * (width + 1) :], stamps[:width], stamps[width:]
    x, total, share = floats[:width], floats[width : 2 * width], floats[2 * width : 3 * width]
    chunk, each = floats[3 * width :], floats[3 * width + (3 + n_fields) * CHUNK :]
    slots, entities = np.empty(CHUNK, np.uint32), np.empty(CHUNK, np.uint32)
    marks = np.zeros(width >> 6 if complete or only_allowed else 0, np.uint64)
    alive, bits = np.ones(width >> 3, np.uint8), np.zeros((width >> 9) + 1, np.uint64)
    saturates = k1 > 0.0
    # Fields that are read as one text are divided by its length once, so that equal sums are equal scores.
    together = n_fields > 1 and not saturates
    for f in range(n_fields):
        together &= rows[f] == rows[0]
    used, upon = np.zeros(n_fields, np.bool_), np.zeros(n_terms)
    common, lowest, least, known = 0.0, 0.0, 0.0, -math.inf
    if not saturates:
        common, lowest = bounds_of_terms(base, gain, background, constant, together, used, upon)
    open_lists(first, block, start, size, plain, cursor, following)
    low, scored, next_allowed, until, turn = int64(0), int64(0), 0, 0, 0
    filtered, least_size, limit = n_ranges > 0, 0.0, -math.inf
    n_words: Any = 0
    end: Any = int64(0)
    # Of the living ranges: the largest share of the term at hand, the largest sum of all terms so far, and what the
    # other terms may add: the bound less the largest shares, which are no more than what the bound was added up from.
    peak, reach, rest = np.empty(width >> 3), np.empty(width >> 3), np.empty(width >> 3)
    while True:
        if len(order):
            if turn == len(order):
                break
            if turn and order[turn] < order[turn - 1]:
                open_lists(first, block, start, size, plain, cursor, following)
                next_allowed = 0
            low = order[turn]
            turn += 1
        else:
            low = max(low, nearest(following, term, words))
        if low >= NEVER:
            break
        high = low + width
        if filtered:
            threshold = bounds_from
            if n_out == len(out_ids):
                # Bounds are sums of up to 64 singles: a little less is asked of them.
                limit = out_scores[0] - 1e-5 * (1.0 + abs(out_scores[0]))
                threshold = max(threshold, limit)
            lower, upper, r = float32(threshold), float32(bounds_below), low >> 3
            last_range = min(n_ranges, r + (width >> 3)) if len(order) else n_ranges
            while r + 64 <= last_range:  # LLVM compares several at once
                some = False
                for c in range(64):
                    some |= (bounds[r + c] >= lower) & (bounds[r + c] < upper)
                if some:
                    break
                r += 64
            while r < last_range and not lower <= bounds[r] < upper:
                r += 1
            if r == last_range:
                if len(order):
                    continue
                break
            low = r << 3
            last_range = min(last_range, r + (width >> 3))
            n_living, c, top = uint64(0), 0, uint64(1)
            for w in range((last_range - r + 63) >> 6):
                some, until_range = False, min(r + 64, last_range)
                if r + 64 <= last_range:
                    for d in range(64):
                        some |= (bounds[r + d] >= lower) & (bounds[r + d] < upper)
                members = uint64(0)
                if some or r + 64 > last_range:
                    for d in range(until_range - r):
                        lives = uint64((bounds[r + d] >= lower) & (bounds[r + d] < upper))
                        alive[c + d] = lives
                        members |= lives << uint64(d)
                        n_living += lives
                else:
                    for d in range(64):
                        alive[c + d] = 0
                bits[w] = members
                if members:
                    high = (r + 64) << 3
                    top = members
                r, c = r + 64, c + 64
            while not top >> uint64(63):
                top <<= uint64(1)
                high -= 8
            least_size = float64(n_living) * SPARSE * float64(lengths.shape[1]) / float64(high - low)
            n_words = (int64(c) >> 6) if saturates and limit > -math.inf else 0
            for w in range(n_words):
                left = bits[w]
                while left:
                    d = (uint64(w) << uint64(6)) + lowest_bit(left)
                    left &= left - uint64(1)
                    peak[d], reach[d], rest[d] = 0.0, 0.0, bounds[uint64(low >> 3) + d]
        if only_allowed:
            next_allowed = seek_plain(low, allowed, next_allowed, len(allowed))
            if next_allowed == len(allowed):
                if len(order):
                    continue
                break
            if allowed[next_allowed] >= high:
                low = int64(allowed[next_allowed])
                continue
            until = seek_plain(high, allowed, next_allowed, len(allowed))
        end = high
        stamp += 1
        window, n_found, n_term, begun = stamp, uint64(0), uint64(0), False
        for i in range(n_lists):
            t, f = term[i], field[i]
            if not begun:
                stamp += 1
                begun = True
            if following[i] < low:
                if block[i] < 0:
                    cursor[i, 1] = seek_plain(low, plain, cursor[i, 1], cursor[i, 2])
                    following[i] = plain[cursor[i, 1]] if cursor[i, 1] < cursor[i, 2] else NEVER
                else:
                    own = seek_block(low, first, cursor[i, 0], block[i] + (size[i] + BLOCK - 1) // BLOCK)
                    if own != cursor[i, 0]:
                        cursor[i, 0], cursor[i, 1], cursor[i, 2] = own, 0, -1
                    following[i] = low  # or above: what is below is passed over
            n = uint64(0)
            if following[i] >= end:
                pass
            elif block[i] < 0:
                n = collect_plain(i, plain, plain_tf, low, end, filtered, alive, cursor, following, docs, often)
            elif filtered and float64(size[i]) > least_size:
                n = collect_sparse(
                    i, packed, first, at, widths, block[i], size[i], low, end, bits, cursor, following, ids,
                    docs, often,
                )  # fmt: skip
            else:
                n = collect_dense(
                    i, packed, first, at, widths, block[i], size[i], low, end, filtered, alive, cursor, following,
                    ids, tf, docs, often,
                )  # fmt: skip
            c, row, a, b = coefficient[t, f], rows[f], base[f], slope[f]
            # Apart from the rest, so that the processor fetches many lengths at once.
            if together:
                for j in range(n):
                    share[j] = c * float64(often[j])
            else:
                for j in range(n):
                    length = lengths[row, uint64(low) + uint64(docs[j])]
                    share[j] = c * float64(often[j]) * (1.0 / (a + b * float64(length)))
            for j in range(n):
                d = uint64(docs[j])
                if entered[d] != window:
                    if t >= words:
                        continue
                    entered[d], found[n_found] = uint32(window), uint32(d)
                    n_found += uint64(1)
                    total[d] = 0.0 if saturates else 1.0
                    if not saturates:
                        for k in range(uint64(n_terms)):
                            each[d * uint64(n_terms) + k] = 0.0
                before = 0.0 if seen[d] != stamp else x[d]
                touched[n_term] = uint32(d)
                n_term += uint64(seen[d] != stamp)
                seen[d] = uint32(stamp)
                x[d] = before + share[j]
            if i + 1 < n_lists and term[i + 1] == t:
                continue
            g, u = gain[t], upon[t]
            for j in range(n_term):
                share[j] = x[touched[j]]
            if saturates:
                for j in range(n_term):
                    share[j] = g * share[j] / (k1 + share[j])
                for j in range(n_term):
                    total[touched[j]] += share[j]
                if n_words:
                    for j in range(n_term):
                        d = uint64(touched[j] >> uint32(3))
                        peak[d], reach[d] = max(peak[d], share[j]), max(reach[d], total[touched[j]])
                    n_living, end = uint64(0), low
                    for w in range(n_words):
                        left = bits[w]
                        while left:
                            d = (uint64(w) << uint64(6)) + lowest_bit(left)
                            rest[d] -= peak[d]
                            peak[d] = 0.0
                            if reach[d] + rest[d] < limit:
                                bits[w] ^= left & (~left + uint64(1))
                                alive[d] = 0
                            else:
                                n_living += uint64(1)
                                end = low + (int64(d + uint64(1)) << 3)
                            left &= left - uint64(1)
                    if n_living == uint64(0):
                        break
                    least_size = float64(n_living) * SPARSE * float64(lengths.shape[1]) / float64(end - low)
            else:
                for j in range(n_term):
                    d = uint64(touched[j])
                    each[d * uint64(n_terms) + uint64(t)] = share[j]
                    total[d] *= 1.0 + share[j] * u
            n_term, begun = uint64(0), False
        if complete or only_allowed:
            for j in range(n_found):
                marks[found[j] >> uint32(6)] |= uint64(1) << uint64(found[j] & uint32(63))
            n_found = uint64(0)
            for w in range(width >> 6):
                left = marks[w]
                marks[w] = 0
                if only_allowed:
                    members = uint64(0)
                    while next_allowed < until and int64(allowed[next_allowed]) < low + ((w + 1) << 6):
                        members |= uint64(1) << uint64(int64(allowed[next_allowed]) - low - (w << 6))
                        next_allowed += 1
                    left &= members
                while left:
                    found[n_found] = uint32((w << 6) + lowest_bit(left))
                    left &= left - uint64(1)
                    n_found += uint64(1)
        begin = uint64(0)
        while begin < n_found:
            stop, n = min(begin + uint64(CHUNK), n_found), uint64(0)
            if saturates:
                for j in range(begin, stop):
                    entities[n], chunk[n] = uint32(uint64(low) + uint64(found[j])), total[found[j]]
                    n += uint64(alive[found[j] >> uint32(3)])
            else:
                if common > 0.0 and not complete and n_out == len(out_ids) and out_scores[0] != known:
                    known = out_scores[0]
                    least = least_product(known, common, lowest)
                for j in range(begin, stop):
                    slots[n], entities[n] = found[j], uint32(uint64(low) + uint64(found[j]))
                    n += uint64(not total[found[j]] < least)
                logarithms(
                    n, slots, entities, each, lengths, rows, base, slope, gain, background, constant, together, used,
                    chunk,
                )  # fmt: skip
            scored += int64(n)
            if complete:
                for j in range(n):
                    out_ids[n_out + int64(j)], out_scores[n_out + int64(j)] = entities[j], chunk[j]
                n_out += int64(n)
            else:
                for j in range(n):
                    if n_out < len(out_ids) or chunk[j] >= out_scores[0]:
                        own_rank = rank_of[entities[j]] if len(rank_of) else entities[j]
                        n_out = offer(entities[j], own_rank, chunk[j], out_ids, out_ranks, out_scores, n_out)
            begin = stop
        low = high
    if last:
        order_best(out_ids[:n_out], out_ranks[:n_out], out_scores[:n_out])
    return n_out, scored, stamp
