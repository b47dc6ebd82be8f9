"""The compiled ranking of additive models. Import it through `hybridkg.text.kernels` only: importing it compiles it.

Walks the postings in windows of entity ids, so its scratch memory fits the cache however large the graph is. Posting
lists are packed (embedded/packing.py) or plain. `additive.score_numpy` is the reference and gives the same bits; so no
fastmath, and no reordering of operations here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, float32, float64, int64, njit, uint32, uint64
from numba.core import types

from hybridkg.text.additive import GROUP, SMALLEST
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
    unpack,
)
from hybridkg.text.lists_kernel import readonly as _input
from hybridkg.text.logarithm_kernel import log
from hybridkg.text.look_up_kernel import look_up

__all__ = ["look_up", "rank"]

LEAST, MOST = 1e-30, 1e30
"""Between these, x and a term's share of a score are above 0 whatever the length of a text."""

_TWO: Any = types.Tuple((int64, int64))  # type: ignore[no-untyped-call, unused-ignore]

_FORM = (
    _input(uint32, 2), _input(int64), _input(float64), _input(float64),
    _input(float64, 2), _input(float64), float64, _input(float64, 2), _input(float64), int64,
)  # fmt: skip
"""lengths, rows, base, slope, coefficient, gain, k1, background, constant, words"""


@njit(
    _TWO(
        *SEGMENT, *LISTS, *_FORM, _input(uint32), boolean, _input(uint32), int64, _input(float32), _input(int64),
        float64, float64,
        float64[::1], float64[::1], uint64[::1], uint32[::1], uint32[::1], float64[::1], int64, boolean, boolean,
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def rank(
    packed: Any, first: Any, at: Any, widths: Any,
    term: Any, field: Any, block: Any, start: Any, size: Any, plain: Any, plain_tf: Any,
    lengths: Any, rows: Any, base: Any, slope: Any, coefficient: Any, gain: Any, k1: Any,
    background: Any, constant: Any, words: Any,
    allowed: Any, only_allowed: Any, rank_of: Any, width: Any, bounds: Any, order: Any, bounds_from: Any,
    bounds_below: Any, zeros: Any, rest: Any, marks: Any, out_ids: Any, out_ranks: Any, out_scores: Any, n_out: Any,
    complete: Any, last: Any,
) -> Any:  # fmt: skip
    """Keeps the best entities in a heap, put in order at last; or writes down all of them, ascending.

    Args beyond those of the form and the lists:
        allowed: uint32[...], ascending: the only entities that count, where `only_allowed`.
        rank_of: uint32[nodes], what decides ties; empty for the ids themselves.
        width: entities of a window, a multiple of 64.
        bounds: float32[ranges], no score of an entity in this range of 8 ids is above; empty for all of them.
        order: int64[windows], where windows begin, in the order in which they are looked at; empty for ascending ones.
        bounds_from, bounds_below: only ranges with a bound of from..below are looked at.
        zeros: float64[(terms + 1) * width or more], 0 and will be.
        rest: float64[(fields + 3) * width or more].
        marks: uint64[2 * width / 64 or more], 0 and will be.
        out_ids, out_ranks, out_scores: the heap, of k, or room for all; n_out of it are filled.
        complete: whether all are wanted.
        last: whether the heap is to be put in order, best first.

    Returns:
        How many are filled, and how many entities were scored.
    """
    n_lists, n_ranges, n_terms, n_fields = len(term), len(bounds), len(gain), len(rows)
    cursor, following = np.empty((n_lists, 3), np.int64), np.empty(n_lists, np.int64)
    ids, tf = np.empty(n_lists * ROOM, np.uint32), np.empty(n_lists * ROOM, np.uint32)
    total, p, product = rest[:width], rest[width : 2 * width], rest[2 * width : 3 * width]
    inverse = rest[3 * width : (3 + n_fields) * width]
    # zeros: totals, then x of each term (only of the one at hand, where it saturates).
    # marks: entities of the window, then those of the term at hand.
    matched = width >> 6
    docs, found = np.empty(width + 1, np.uint32), np.empty(width + 1, np.uint32)
    alive, kept = np.ones(width >> 3, np.uint8), np.empty(BLOCK, np.uint64)
    saturates = k1 > 0.0
    # Whether an x or a score that is above 0 tells that an entity has come before.
    positive = saturates and k1 < MOST
    # Fields that are read as one text are divided by its length once, so that equal sums are equal scores.
    together = n_fields > 1 and not saturates
    for f in range(n_fields):
        together &= rows[f] == rows[0]
    for i in range(n_lists):
        positive &= coefficient[term[i], field[i]] > LEAST and gain[term[i]] > LEAST
    open_lists(first, block, start, size, plain, cursor, following)
    low, scored, next_allowed, until, turn = int64(0), int64(0), 0, 0, 0
    while True:
        if len(order):
            if turn == len(order):
                break
            low, next_allowed = order[turn], 0
            turn += 1
            for i in range(n_lists):
                if block[i] < 0:
                    cursor[i, 1] = start[i]
                elif cursor[i, 0] != block[i]:
                    cursor[i, 0], cursor[i, 2] = block[i], -1
                cursor[i, 1] = start[i] if block[i] < 0 else 0
                following[i] = -1
        else:
            low = max(low, nearest(following, term, words))
        if low >= NEVER:
            break
        high = low + width
        if n_ranges:
            threshold = bounds_from
            if n_out == len(out_ids):
                # Bounds are sums of up to 64 singles: a little less is asked of them.
                threshold = max(threshold, out_scores[0] - 1e-5 * (1.0 + abs(out_scores[0])))
            r = low >> 3
            until_range = min(n_ranges, r + (width >> 3)) if len(order) else n_ranges
            least, most = float32(threshold), float32(bounds_below)
            while r + 64 <= until_range:  # LLVM compares several at once
                some = False
                for c in range(64):
                    some |= (bounds[r + c] >= least) & (bounds[r + c] < most)
                if some:
                    break
                r += 64
            while r < until_range and not least <= bounds[r] < most:
                r += 1
            if r == until_range:
                if len(order):
                    continue
                break
            low = r << 3
            living = min(width >> 3, until_range - r)
            for c in range(living):
                alive[c] = (bounds[r + c] >= least) & (bounds[r + c] < most)
            while not alive[living - 1]:
                living -= 1
            high = low + (living << 3)
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
        # Words of bits that may be set, of the term at hand and of all.
        term_from, term_to, span_from, span_to = width, -1, width, -1
        n_term, n_found = uint64(0), uint64(0)
        for i in range(n_lists):
            t, f = term[i], field[i]
            c, row = coefficient[t, f], rows[f]
            a, b = (1.0, 0.0) if together else (base[f], slope[f])
            x = uint64(width if saturates else (1 + t) * width)
            bits = uint64(matched if saturates or t >= words else 0)
            if following[i] < low:
                if block[i] < 0:
                    cursor[i, 1] = seek_plain(low, plain, cursor[i, 1], cursor[i, 2])
                    following[i] = plain[cursor[i, 1]] if cursor[i, 1] < cursor[i, 2] else NEVER
                else:
                    own = seek_block(low, first, cursor[i, 0], block[i] + (size[i] + BLOCK - 1) // BLOCK)
                    if own != cursor[i, 0]:
                        cursor[i, 0], cursor[i, 1], cursor[i, 2] = own, 0, -1
                    following[i] = low  # or above: what is below is passed over
            while following[i] < high:
                if block[i] >= 0 and cursor[i, 2] < 0:
                    unpack(i, packed, first, at, widths, block, size, cursor, ids, tf)
                begin, stop = uint64(cursor[i, 1]), uint64(cursor[i, 2])
                if block[i] < 0:
                    if stop - begin > uint64(BLOCK):
                        stop = begin + uint64(BLOCK)
                    last_id = int64(plain[stop - uint64(1)])
                else:
                    begin, stop = begin + uint64(i * ROOM), stop + uint64(i * ROOM)
                    last_id = int64(ids[stop - uint64(1)])
                if block[i] < 0:
                    if last_id >= high:
                        stop = uint64(seek_plain(high, plain, int64(begin), int64(stop)))
                    n_kept = uint64(0)
                    for j in range(begin, stop):
                        kept[n_kept] = j
                        n_kept += uint64(alive[(uint64(plain[j]) - uint64(low)) >> uint64(3)])
                    if stop > begin:
                        term_from = min(term_from, (int64(plain[begin]) - low) >> 6)
                        term_to = max(term_to, (int64(plain[stop - uint64(1)]) - low) >> 6)
                    for k in range(n_kept):
                        j = kept[k]
                        entity = uint64(plain[j])
                        d = entity - uint64(low)
                        before = zeros[x + d]
                        zeros[x + d] = before + c * float64(plain_tf[j]) * (
                            1.0 / (a + b * float64(lengths[row, entity]))
                        )
                        if positive:
                            docs[n_term] = uint32(d)
                            n_term += uint64(before == 0.0)
                        else:
                            marks[bits + (d >> uint64(6))] |= uint64(1) << (d & uint64(63))
                    cursor[i, 1] = int64(stop)
                    following[i] = plain[stop] if int64(stop) < cursor[i, 2] else NEVER
                    continue
                while begin < stop and ids[begin] < low:
                    begin += uint64(1)
                if last_id >= high:
                    stop = begin
                    while ids[stop] < high:
                        stop += uint64(1)
                if stop > begin:
                    term_from = min(term_from, (int64(ids[begin]) - low) >> 6)
                    term_to = max(term_to, (int64(ids[stop - uint64(1)]) - low) >> 6)
                if n_ranges:
                    n_kept = uint64(0)
                    for j in range(begin, stop):  # without a branch: whether a range lives cannot be foreseen
                        kept[n_kept] = j
                        n_kept += uint64(alive[(uint64(ids[j]) - uint64(low)) >> uint64(3)])
                else:
                    n_kept = stop - begin
                    for k in range(n_kept):
                        kept[k] = begin + uint64(k)
                if positive:
                    for k in range(n_kept):
                        j = kept[k]
                        entity = uint64(ids[j])
                        d = entity - uint64(low)
                        before = zeros[x + d]
                        zeros[x + d] = before + c * float64(tf[j]) * (1.0 / (a + b * float64(lengths[row, entity])))
                        docs[n_term] = uint32(d)
                        n_term += uint64(before == 0.0)
                else:
                    for k in range(n_kept):
                        j = kept[k]
                        entity = uint64(ids[j])
                        d = entity - uint64(low)
                        zeros[x + d] += c * float64(tf[j]) * (1.0 / (a + b * float64(lengths[row, entity])))
                        marks[bits + (d >> uint64(6))] |= uint64(1) << (d & uint64(63))
                place = int64(stop) - i * ROOM
                cursor[i, 1] = place
                if place < cursor[i, 2]:
                    following[i] = ids[stop]
                elif cursor[i, 0] + 1 < block[i] + (size[i] + BLOCK - 1) // BLOCK:
                    cursor[i, 0] += 1
                    cursor[i, 1], cursor[i, 2] = 0, -1
                    following[i] = first[cursor[i, 0]]
                else:
                    following[i] = NEVER
            if i + 1 < n_lists and term[i + 1] == t:
                continue
            span_from, span_to = min(span_from, term_from), max(span_to, term_to)
            if positive:
                for j in range(n_term):
                    d = uint64(docs[j])
                    p[j] = zeros[uint64(width) + d]
                    zeros[uint64(width) + d] = 0.0
                g = gain[t]
                for j in range(n_term):
                    p[j] = g * p[j] / (k1 + p[j])
                for j in range(n_term):
                    d = uint64(docs[j])
                    before = zeros[d]
                    zeros[d] = before + p[j]
                    found[n_found] = uint32(d)
                    n_found += uint64(before == 0.0)
                n_term = uint64(0)
            elif saturates:
                n = 0
                for w in range(term_from, term_to + 1):
                    left = marks[matched + w]
                    if left:
                        marks[matched + w] = 0
                        marks[w] |= left
                        while left:
                            docs[n] = (w << 6) + lowest_bit(left)
                            left &= left - uint64(1)
                            n += 1
                for j in range(n):
                    p[j] = zeros[width + docs[j]]
                    zeros[width + docs[j]] = 0.0
                g = gain[t]
                for j in range(n):
                    p[j] = g * p[j] / (k1 + p[j])
                for j in range(n):
                    zeros[docs[j]] += p[j]
            term_from, term_to = width, -1
        if positive and not (complete or only_allowed):
            scored += int64(n_found)
            for j in range(n_found):
                member = uint64(found[j])
                score = zeros[member]
                zeros[member] = 0.0
                if n_out < len(out_ids) or score >= out_scores[0]:
                    entity32 = uint32(uint64(low) + member)
                    own_rank = rank_of[entity32] if len(rank_of) else entity32
                    n_out = offer(entity32, own_rank, score, out_ids, out_ranks, out_scores, n_out)
            low = high
            continue
        for j in range(n_found):
            marks[found[j] >> uint32(6)] |= uint64(1) << uint64(found[j] & uint32(63))
        n = 0
        for w in range(span_from, span_to + 1):
            left, other = marks[w], marks[matched + w]
            if not left | other:
                continue
            marks[w], marks[matched + w] = 0, 0
            if only_allowed:
                while next_allowed < until and int64(allowed[next_allowed]) < low + (w << 6):
                    next_allowed += 1
                members = uint64(0)
                while next_allowed < until and int64(allowed[next_allowed]) < low + ((w + 1) << 6):
                    members |= uint64(1) << uint64(int64(allowed[next_allowed]) - low - (w << 6))
                    next_allowed += 1
                other |= left & ~members
                left &= members
            other &= ~left
            while left:
                docs[n] = (w << 6) + lowest_bit(left)
                left &= left - uint64(1)
                n += 1
            while other:
                d = (w << 6) + lowest_bit(other)
                other &= other - uint64(1)
                if saturates:
                    zeros[d] = 0.0
                else:
                    for t in range(n_terms):
                        zeros[(1 + t) * width + d] = 0.0
        next_allowed = until
        scored += n
        if saturates:
            for j in range(n):
                total[j] = zeros[docs[j]]
                zeros[docs[j]] = 0.0
        else:
            for j in range(n):
                total[j] = 0.0
            for f in range(n_fields):
                used = together and f == 0
                for t in range(n_terms):
                    used |= background[t, f] > 0.0
                if used:
                    a, b, row = base[f], slope[f], rows[f]
                    for j in range(n):
                        inverse[f * width + j] = 1.0 / (a + b * float64(lengths[row, low + docs[j]]))
            grouped = 0
            for t in range(n_terms):
                g, c, x = gain[t], constant[t], uint64((1 + t) * width)
                for j in range(n):
                    p[j] = zeros[x + uint64(docs[j])]
                    zeros[x + uint64(docs[j])] = 0.0
                if together:
                    for j in range(n):
                        p[j] *= inverse[j]
                for f in range(n_fields):
                    w0 = background[t, f]
                    if w0 > 0.0:
                        for j in range(n):
                            p[j] += w0 * inverse[f * width + j]
                if grouped == 0:
                    for j in range(n):
                        product[j] = max(p[j] + c, SMALLEST)
                else:
                    for j in range(n):
                        product[j] *= max(p[j] + c, SMALLEST)
                grouped += 1
                if grouped == GROUP or t + 1 == n_terms or gain[t + 1] != g:
                    grouped = 0
                    for j in range(n):
                        total[j] += g * log(product[j])
        if complete:
            for j in range(n):
                out_ids[n_out + j] = uint32(low + docs[j])
                out_scores[n_out + j] = total[j]
            n_out += n
        else:
            for j in range(n):
                if n_out < len(out_ids) or total[j] >= out_scores[0]:
                    entity32 = uint32(low + docs[j])
                    own_rank = rank_of[entity32] if len(rank_of) else entity32
                    n_out = offer(entity32, own_rank, total[j], out_ids, out_ranks, out_scores, n_out)
        low = high
    if last:
        order_best(out_ids[:n_out], out_ranks[:n_out], out_scores[:n_out])
    return n_out, scored
