"""The compiled ranking of every match of common words. Import it through `hybridkg.text.kernels` only.

Where many entities match and many are wanted, to choose among postings takes longer than to score them all. So here
is as little as possible for each posting: no threshold, no marks, no branch. `additive.score_numpy` is the reference
and gives the same bits: no fastmath, and no reordering of operations here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, int64, njit, uint8, uint32, uint64
from numba.core import types

from hybridkg.text.additive import CHUNK
from hybridkg.text.embedded.packing_kernel import unpack_ids, unpack_occurrences
from hybridkg.text.heap_kernel import offer, order_best
from hybridkg.text.lengths import LONG
from hybridkg.text.lists_kernel import BLOCK, INLINE, LISTS, OPTIONS, SEGMENT, seek_plain
from hybridkg.text.lists_kernel import readonly as _input
from hybridkg.text.mixture_kernel import bounds_of_terms, least_product, logarithms

OFTEN = 8
"""Occurrences from which on a score is not looked up."""

STRIP = 64
"""Entities that are compared with the k-th best score at once."""

FIRST = 4_096
"""Entities of a window while there is no k-th best score."""

MATCHES = 0.5
"""Below the product of every entity that matches, which is at least 1; of others it is below 0."""

MOST_UPON = 1e290
"""What x is multiplied with may be infinite, and x 0."""

_TWO: Any = types.Tuple((int64, int64))  # type: ignore[no-untyped-call, unused-ignore]


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _take(
    i: Any, packed: Any, first: Any, at: Any, widths: Any, block: Any, size: Any, low: Any, high: Any, cursor: Any,
    ids: Any, often: Any, n: Any,
) -> Any:  # fmt: skip
    """Puts the postings of a packed list in low..high to ids[n:] and often[n:]; returns where they end."""
    own, end, begin = uint64(cursor[i]), uint64(block + (size + BLOCK - 1) // BLOCK), n
    while own < end and int64(first[own]) < high:
        here = uint64(min(BLOCK, size - (int64(own) - block) * BLOCK))
        unpack_ids(packed, first[own], uint64(at[own]), widths, own, here, ids, n)
        unpack_occurrences(packed, uint64(at[own]), widths, own, here, often, n)
        n += here
        own += uint64(1)
    if n > begin and int64(ids[n - uint64(1)]) >= high:
        own -= uint64(1)  # is looked at again
        while n > begin and int64(ids[n - uint64(1)]) >= high:
            n -= uint64(1)
    cursor[i] = own
    skipped = uint64(0)
    while begin + skipped < n and int64(ids[begin + skipped]) < low:
        skipped += uint64(1)
    if skipped:
        for j in range(begin, n - skipped):
            ids[j], often[j] = ids[j + skipped], often[j + skipped]
    return n - skipped


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def _choose(ids: Any, scores: Any, rank_of: Any, out_ids: Any, out_ranks: Any, out_scores: Any) -> Any:
    """Puts the best of some entities into a heap; returns how many these are."""
    n = int64(0)
    for j in range(uint64(len(ids))):
        if n < len(out_ids) or scores[j] >= out_scores[0]:
            rank = rank_of[ids[j]] if len(rank_of) else ids[j]
            n = offer(ids[j], rank, scores[j], out_ids, out_ranks, out_scores, n)
    return n


@njit(
    _TWO(
        *SEGMENT, *LISTS, _input(uint32, 2), _input(uint8, 2), _input(int64), _input(float64), _input(float64),
        _input(float64, 2), _input(float64), float64, _input(float64, 2), _input(float64), int64, _input(uint32),
        int64, int64, float64[::1], uint32[::1], uint32[::1], uint32[::1], float64[::1],
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def best_of_all(
    packed: Any, first: Any, at: Any, widths: Any, lists: Any, plain: Any, plain_tf: Any,
    lengths: Any, narrow: Any, rows: Any, base: Any, slope: Any, coefficient: Any, gain: Any, k1: Any,
    background: Any, constant: Any, words: Any, rank_of: Any, width: Any, room: Any,
    floats: Any, whole: Any, out_ids: Any, out_ranks: Any, out_scores: Any,
) -> Any:  # fmt: skip
    """The best entities, best first.

    Args beyond those of the form and the lists, which are as `pruned_kernel.best` has them:
        narrow: uint8[nodes, rows], of `narrow_lengths`; needed unless fields are read as one text.
        rank_of: uint32[nodes], what decides ties; empty for the ids themselves.
        width: entities of a window, a multiple of STRIP.
        room: postings of a window, at most: those of each list, up to width, and 2 * ROOM for each list.
        floats: float64[(3 + fields) * CHUNK + 3 * width + 2 * k + room, and of logarithms terms * width].
        whole: uint32[3 * width + 2 * k + 2 * room].
        out_ids, out_ranks, out_scores: room for k.

    Returns:
        How many there are, and how many entities were scored.
    """
    n_lists, n_terms, n_fields, nodes = lists.shape[1], len(gain), len(rows), lengths.shape[1]
    saturates = k1 > 0.0
    together = n_fields > 1 and not saturates
    for f in range(n_fields):
        together &= rows[f] == rows[0]
    used, upon = np.zeros(n_fields, np.bool_), np.zeros(n_terms)
    common, lowest, known = 0.0, 0.0, -math.inf
    least = 0.0 if saturates else MATCHES
    if not saturates:
        common, lowest = bounds_of_terms(base, gain, background, constant, together, used, upon)
    # Of entities of the window: x of the term at hand, what comes of the terms so far; those that are scored, and their
    # numbers plus one. Of postings: part of x, then x; ids, occurrences. Of what may be among the best: scores, ids.
    wanted, many = len(out_ids), (3 + n_fields) * CHUNK
    x, total, chunk, left = floats[:width], floats[width : 2 * width], floats[2 * width :][:many], 2 * width + many
    share, kept, each = floats[left:][:room], floats[left + room :], floats[left + room + 2 * wanted + width :]
    found, number, ids = whole[:width], whole[width : 2 * width], whole[2 * width :][:room]
    often, kept_ids = whole[2 * width + room :][:room], whole[2 * width + 2 * room :]
    bits = total.view(np.int64)  # in the same order as the numbers, which are not negative; -0.0 is below 0
    slots, entities = np.empty(CHUNK, np.uint32), np.empty(CHUNK, np.uint32)
    ends, cursor = np.zeros(n_terms, np.int64), np.empty(n_lists, np.int64)
    inverse = np.full((n_fields, LONG + 1), -1.0)  # of LONG: another look
    for f in range(n_fields):
        for one in range(LONG):
            inverse[f, one] = 1.0 / (base[f] + slope[f] * float64(one))
    # Of a term with one list: what its occurrences in a field of a length add to a score, once it is asked for.
    score_of, is_filled = np.empty((n_terms if saturates else 0, OFTEN * (LONG + 1))), np.zeros(n_terms, np.bool_)
    for i in range(n_lists):
        cursor[i] = lists[3, i] if lists[2, i] < 0 else lists[2, i]
    nothing = -0.0 if saturates else -1.0
    x[:] = 0.0
    total[:] = nothing
    number[:] = uint32(0)
    n_kept, scored, low = int64(0), int64(0), int64(0)
    while low < nodes:
        high = min(low + (width if known > -math.inf else min(width, FIRST)), nodes)
        from_, n, begun = uint64(low), uint64(0), uint64(0)
        for i in range(n_lists):
            t, f, begin = lists[0, i], lists[1, i], n
            if lists[2, i] < 0:
                stop = seek_plain(high, plain, cursor[i], lists[3, i] + lists[4, i])
                for j in range(uint64(cursor[i]), uint64(stop)):
                    ids[n], often[n] = plain[j], plain_tf[j]
                    n += uint64(1)
                cursor[i] = stop
            else:
                n = _take(i, packed, first, at, widths, lists[2, i], lists[4, i], low, high, cursor, ids, often, n)
            c, row, g, u = coefficient[t, f], rows[f], gain[t], min(upon[t], MOST_UPON)
            more = i + 1 < n_lists and lists[0, i + 1] == t
            if saturates and begin == begun and not more:  # the only list of its term
                known_scores = score_of[t]
                if not is_filled[t]:
                    is_filled[t] = True
                    for o in range(OFTEN):
                        for one in range(LONG):
                            own = c * float64(o) * inverse[f, one]
                            known_scores[o * (LONG + 1) + one] = g * own / (k1 + own)
                for j in range(begin, n):
                    d = uint64(ids[j])
                    one, o = uint64(narrow[d, row]), uint64(often[j])
                    if (one == uint64(LONG)) | (o >= uint64(OFTEN)):
                        own = c * float64(often[j]) * (1.0 / (base[f] + slope[f] * float64(lengths[row, d])))
                        total[d - from_] += g * own / (k1 + own)
                    else:
                        total[d - from_] += known_scores[o * uint64(LONG + 1) + one]
                n = begun
                continue
            if together:
                for j in range(begin, n):
                    share[j] = c * float64(often[j])
            else:
                inverse_of, n_long = inverse[f], uint64(0)
                for j in range(begin, n):
                    share[j] = inverse_of[narrow[ids[j], row]]
                for j in range(begin, n):
                    n_long += uint64(share[j] < 0.0)
                if n_long:
                    for j in range(begin, n):
                        if share[j] < 0.0:
                            share[j] = 1.0 / (base[f] + slope[f] * float64(lengths[row, ids[j]]))
                for j in range(begin, n):
                    share[j] = c * float64(often[j]) * share[j]
            if begin > begun or more:  # of several lists
                for j in range(begin, n):
                    x[uint64(ids[j]) - from_] += share[j]
            if more:
                continue
            if begin > begun:
                for j in range(begun, n):  # an entity of several lists has its x once, then 0
                    d = uint64(ids[j]) - from_
                    share[j] = x[d]
                    x[d] = 0.0
            if saturates:
                for j in range(begun, n):
                    share[j] = g * share[j] / (k1 + share[j])
                for j in range(begun, n):
                    total[uint64(ids[j]) - from_] += share[j]
                n = uint64(0)
            elif t < words:
                for j in range(begun, n):
                    d = uint64(ids[j]) - from_
                    total[d] = abs(total[d]) * (1.0 + share[j] * u)
            else:
                for j in range(begun, n):
                    total[uint64(ids[j]) - from_] *= 1.0 + share[j] * u
            begun, ends[t] = n, int64(n)
        begin, m, limit = uint64(0), uint64(0), np.float64(least).view(np.int64)
        while begin < uint64(high - low):
            some = uint64(0)
            for d in range(uint64(STRIP)):
                some += uint64(bits[begin + d] >= limit)
            if some:
                for d in range(begin, begin + uint64(STRIP)):
                    found[m] = uint32(d)
                    m += uint64(bits[d] >= limit)
            begin += uint64(STRIP)
        if saturates:
            for j in range(m):
                kept_ids[n_kept], kept[n_kept] = uint32(from_ + uint64(found[j])), total[found[j]]
                n_kept += 1
        else:
            for j in range(m):
                number[found[j]] = uint32(j + uint64(1))
            for j in range(m * uint64(n_terms)):
                each[j] = 0.0
            begun, done = uint64(0), uint64(0)
            for t in range(uint64(n_terms)):
                for j in range(begun, uint64(ends[t])):
                    s = uint64(number[uint64(ids[j]) - from_])
                    if s:
                        each[(s - uint64(1)) * uint64(n_terms) + t] += share[j]
                begun = max(begun, uint64(ends[t]))
                ends[t] = 0
            for j in range(m):
                number[found[j]] = uint32(0)
            while done < m:
                here = min(m - done, uint64(CHUNK))
                for j in range(here):
                    slots[j], entities[j] = uint32(done + j), uint32(from_ + uint64(found[done + j]))
                logarithms(
                    here, slots, entities, each, lengths, narrow, rows, base, slope, gain, background, constant,
                    together, used, chunk,
                )  # fmt: skip
                for j in range(here):
                    kept_ids[n_kept], kept[n_kept] = entities[j], chunk[j]
                    n_kept += int64(chunk[j] >= known)
                done += here
        total[:begin] = nothing
        low, scored = high, scored + int64(m)
        if n_kept > 2 * wanted:
            known = np.partition(kept[:n_kept], n_kept - wanted)[n_kept - wanted]
            m = uint64(0)
            for j in range(uint64(n_kept)):
                kept_ids[m], kept[m] = kept_ids[j], kept[j]
                m += uint64(kept[m] >= known)
            n_kept = int64(m)
            if n_kept > 2 * wanted:  # very many are equal
                n_kept = _choose(kept_ids[:n_kept], kept[:n_kept], rank_of, out_ids, out_ranks, out_scores)
                kept_ids[:n_kept], kept[:n_kept] = out_ids[:n_kept], out_scores[:n_kept]
            if saturates:
                least = max(known, 0.0)
            elif common > 0.0:
                least = max(least_product(known, common, lowest), MATCHES)
    n_out = _choose(kept_ids[:n_kept], kept[:n_kept], rank_of, out_ids, out_ranks, out_scores)
    order_best(out_ids[:n_out], out_ranks[:n_out], out_scores[:n_out])
    return n_out, scored
