"""Exhaustive ranking by additive models, compiled. Import it through `hybridkg.compute.kernels` only.

Postings are read in windows of entity ids, so that scratch memory fits the cache. Posting lists are packed
(text/index/codec/packing.py) or plain. `additive.score_numpy` is the numpy reference and gives the same bits; so no
fastmath, and no reordering of operations here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import boolean, float64, int64, njit, uint32, uint64
from numba.core import types

from hybridkg.text.index.codec.cursor_kernel import (
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
from hybridkg.text.index.codec.cursor_kernel import readonly as _input
from hybridkg.text.index.field_lengths import NO_LENGTHS
from hybridkg.text.index.topk.collect_kernel import collect_dense, collect_plain
from hybridkg.text.index.topk.heap_kernel import offer, order_best
from hybridkg.text.index.topk.mixture_kernel import bounds_of_terms, min_product, score_mixtures
from hybridkg.text.index.topk.restrict_kernel import restrict
from hybridkg.text.index.topk.single_call_kernel import rank_words
from hybridkg.text.index.topk.small_kernel import rank_small
from hybridkg.text.index.topk.word_lookup_kernel import look_up
from hybridkg.text.models.additive import CHUNK

__all__ = ["look_up", "rank", "rank_small", "rank_words", "restrict"]

_THREE: Any = types.Tuple((int64, int64, int64))  # type: ignore[no-untyped-call, unused-ignore]

_FORM = (
    _input(uint32, 2), _input(int64), _input(float64), _input(float64),
    _input(float64, 2), _input(float64), float64, _input(float64, 2), _input(float64), int64,
)  # fmt: skip
"""lengths, rows, base, slope, coefficient, gain, k1, background, constant, words"""


@njit(
    _THREE(
        *SEGMENT, *LISTS, *_FORM, _input(uint32), boolean, _input(uint32), int64,
        float64[::1], uint32[::1], uint32[::1], int64,
        uint32[::1], uint32[::1], float64[::1], int64, boolean, boolean,
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def rank(
    packed: Any, first: Any, at: Any, widths: Any,
    lists: Any, plain: Any, plain_tf: Any,
    lengths: Any, rows: Any, base: Any, slope: Any, coefficient: Any, gain: Any, k1: Any,
    background: Any, constant: Any, words: Any,
    allowed: Any, only_allowed: Any, rank_of: Any, width: Any, floats: Any, uints: Any, stamps: Any, stamp: Any,
    out_ids: Any, out_ranks: Any, out_scores: Any, n_out: Any, complete: Any, last: Any,
) -> Any:  # fmt: skip
    """The k best entities in a heap, or all of them, ascending.

    Args beyond those of the form and the lists:
        allowed, rank_of: as of `topk.top_k`; `allowed` counts where `only_allowed`.
        width: entities of a window, a multiple of 64.
        floats: float64[(terms + 3) * width + (fields + 3) * CHUNK or more].
        uints: uint32[4 * (width + 1) or more].
        stamps: uint32[2 * width or more], all at most `stamp`.
        out_ids, out_ranks, out_scores: the heap, of k, or room for all; n_out entries are filled.
        complete: whether all entities are requested.
        last: whether the heap is sorted at the end, best first.

    Returns:
        The number of filled entries, the number of scored entities, and the last stamp.
    """
    term, field, first_block, start, postings = lists[0], lists[1], lists[2], lists[3], lists[4]
    n_lists, n_terms, n_fields = len(term), len(gain), len(rows)
    cursor, next_ids = np.empty((n_lists, 4), np.int64), np.empty(n_lists, np.int64)
    ids, tf = np.empty(n_lists * ROOM, np.uint32), np.empty(n_lists * ROOM, np.uint32)
    # Of postings of a list: place in the window, tf, part of x. Of entities: the last window and the last term that met
    # it, x of the current term, partial score, x of each term.
    window_docs, counts, touched = uints[: width + 1], uints[width + 1 : 2 * (width + 1)], uints[2 * (width + 1) :]
    met, entered, seen = uints[3 * (width + 1) :], stamps[:width], stamps[width:]
    x, total, share = floats[:width], floats[width : 2 * width], floats[2 * width : 3 * width]
    chunk, each = floats[3 * width :], floats[3 * width + (3 + n_fields) * CHUNK :]
    slots, entities = np.empty(CHUNK, np.uint32), np.empty(CHUNK, np.uint32)
    marks = np.zeros(width >> 6 if complete or only_allowed else 0, np.uint64)
    saturates = k1 > 0.0
    # The length of fields that are read as one text divides once, so that equal sums give equal scores.
    together = n_fields > 1 and not saturates
    for f in range(n_fields):
        together &= rows[f] == rows[0]
    used, inverse_empty_score = np.zeros(n_fields, np.bool_), np.zeros(n_terms)
    common_gain, log_empty, min_partial, kth_score = 0.0, 0.0, 0.0, -math.inf
    if not saturates:
        common_gain, log_empty = bounds_of_terms(base, gain, background, constant, together, used, inverse_empty_score)
    open_lists(first, first_block, start, postings, plain, cursor, next_ids)
    low, scored, next_allowed, allowed_end = int64(0), int64(0), int64(0), int64(0)
    while True:
        low = max(low, nearest(next_ids, term, words))
        if low >= NEVER:
            break
        high = low + width
        if only_allowed:
            next_allowed = seek_plain(low, allowed, next_allowed, len(allowed))
            if next_allowed == len(allowed):
                break
            if allowed[next_allowed] >= high:
                low = int64(allowed[next_allowed])
                continue
            allowed_end = seek_plain(high, allowed, next_allowed, len(allowed))
        stamp += 1
        window, n_found, n_term, starts_term = stamp, uint64(0), uint64(0), False
        for i in range(n_lists):
            t, f = term[i], field[i]
            if not starts_term:
                stamp += 1
                starts_term = True
            if next_ids[i] < low:
                if first_block[i] < 0:
                    cursor[i, 1] = seek_plain(low, plain, cursor[i, 1], cursor[i, 2])
                    next_ids[i] = plain[cursor[i, 1]] if cursor[i, 1] < cursor[i, 2] else NEVER
                else:
                    block = seek_block(low, first, cursor[i, 0], first_block[i] + (postings[i] + BLOCK - 1) // BLOCK)
                    if block != cursor[i, 0]:
                        cursor[i, 0], cursor[i, 1], cursor[i, 2] = block, 0, -1
                    next_ids[i] = low  # a lower bound: smaller ids are skipped
            n = uint64(0)
            if next_ids[i] >= high:
                pass
            elif first_block[i] < 0:
                n = collect_plain(i, plain, plain_tf, low, high, cursor, next_ids, window_docs, counts)
            else:
                n = collect_dense(
                    i, packed, first, at, widths, first_block[i], postings[i], low, high, cursor, next_ids, ids, tf,
                    window_docs, counts,
                )  # fmt: skip
            c, row, a, b = coefficient[t, f], rows[f], base[f], slope[f]
            # A loop of its own, so that the processor fetches many lengths at once.
            if together:
                for j in range(n):
                    share[j] = c * float64(counts[j])
            else:
                for j in range(n):
                    length = lengths[row, uint64(low) + uint64(window_docs[j])]
                    share[j] = c * float64(counts[j]) * (1.0 / (a + b * float64(length)))
            for j in range(n):
                d = uint64(window_docs[j])
                if entered[d] != window:
                    if t >= words:
                        continue
                    entered[d], met[n_found] = uint32(window), uint32(d)
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
            g, u = gain[t], inverse_empty_score[t]
            for j in range(n_term):
                share[j] = x[touched[j]]
            if saturates:
                for j in range(n_term):
                    share[j] = g * share[j] / (k1 + share[j])
                for j in range(n_term):
                    total[touched[j]] += share[j]
            else:
                for j in range(n_term):
                    d = uint64(touched[j])
                    each[d * uint64(n_terms) + uint64(t)] = share[j]
                    total[d] *= 1.0 + share[j] * u
            n_term, starts_term = uint64(0), False
        if complete or only_allowed:
            for j in range(n_found):
                marks[met[j] >> uint32(6)] |= uint64(1) << uint64(met[j] & uint32(63))
            n_found = uint64(0)
            for w in range(width >> 6):
                remaining = marks[w]
                marks[w] = 0
                if only_allowed:
                    members = uint64(0)
                    while next_allowed < allowed_end and int64(allowed[next_allowed]) < low + ((w + 1) << 6):
                        members |= uint64(1) << uint64(int64(allowed[next_allowed]) - low - (w << 6))
                        next_allowed += 1
                    remaining &= members
                while remaining:
                    met[n_found] = uint32((w << 6) + lowest_bit(remaining))
                    remaining &= remaining - uint64(1)
                    n_found += uint64(1)
        begin = uint64(0)
        while begin < n_found:
            stop, n = min(begin + uint64(CHUNK), n_found), uint64(0)
            if saturates:
                for j in range(begin, stop):
                    entities[n], chunk[n] = uint32(uint64(low) + uint64(met[j])), total[met[j]]
                    n += uint64(1)
            else:
                if common_gain > 0.0 and not complete and n_out == len(out_ids) and out_scores[0] != kth_score:
                    kth_score = out_scores[0]
                    min_partial = min_product(kth_score, common_gain, log_empty)
                for j in range(begin, stop):
                    slots[n], entities[n] = met[j], uint32(uint64(low) + uint64(met[j]))
                    n += uint64(not total[met[j]] < min_partial)
                score_mixtures(
                    n, slots, entities, each, lengths, NO_LENGTHS, rows, base, slope, gain, background, constant,
                    together, used, chunk,
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
