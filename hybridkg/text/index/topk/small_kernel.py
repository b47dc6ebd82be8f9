"""Exhaustive top-k for queries of few postings, compiled. Import it through `hybridkg.compute.kernels` only.

Sparse postings would miss the cache in arrays over entities. The lists are therefore unpacked at once, cut into windows
of ids with about SHARE postings in all, and the entities of a window are numbered through a hash table that fits the L1
and L2 caches. `additive.score_numpy` is the numpy reference and gives the same bits: no fastmath, and no reordering of
operations here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, int64, njit, uint8, uint32, uint64
from numba.core import types

from hybridkg.text.index.codec.cursor_kernel import BLOCK, HELPER, OPTIONS, SEGMENT, seek_plain
from hybridkg.text.index.codec.cursor_kernel import readonly as _input
from hybridkg.text.index.codec.packing_kernel import unpack_block
from hybridkg.text.index.field_lengths import LONG
from hybridkg.text.index.topk.heap_kernel import offer, order_best
from hybridkg.text.index.topk.mixture_kernel import bounds_of_terms, min_product, score_mixtures
from hybridkg.text.models.additive import CHUNK

SHARE = 4_096
"""Approximate number of postings of a window."""

SPREAD = np.uint64(2654435769)
"""2 ** 32 divided by the golden ratio: Fibonacci hashing, which scatters neighbours (Knuth, TAOCP 6.4)."""

_BEST: Any = types.Tuple((uint32[::1], float64[::1]))  # type: ignore[no-untyped-call, unused-ignore]


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _unpacked(
    packed: Any, first: Any, at: Any, widths: Any, lists: Any, plain: Any, plain_tf: Any, ids: Any, tf: Any, cursor: Any
) -> None:
    """Unpacks all lists, concatenated; cursor[i] .. cursor[i + 1] is list i."""
    # The beginnings of lists are cold: the processor fetches them concurrently in a loop without other work.
    end, touch = uint64(0), uint32(0)
    for i in range(lists.shape[1]):
        if lists[2, i] >= 0:
            touch ^= first[lists[2, i]] ^ uint32(widths[lists[2, i], 0])
            cursor[i] = at[lists[2, i]]
    for i in range(lists.shape[1]):
        if lists[2, i] >= 0:
            touch ^= packed[4 * cursor[i]]
    ids[0] = touch  # a use, so that the loop is not optimised away
    for i in range(lists.shape[1]):
        cursor[i] = end
        postings = uint64(lists[4, i])
        if lists[2, i] < 0:
            begin = uint64(lists[3, i])
            for j in range(postings):
                ids[end + uint64(j)], tf[end + uint64(j)] = plain[begin + uint64(j)], plain_tf[begin + uint64(j)]
        else:
            block, unpacked = uint64(lists[2, i]), uint64(0)
            while unpacked < postings:
                n_block = min(uint64(BLOCK), postings - unpacked)
                unpack_block(packed, first[block], uint64(at[block]), widths, block, n_block, ids, tf, end + unpacked)
                block += uint64(1)
                unpacked += n_block
        end += postings
    cursor[lists.shape[1]] = end


@njit(
    _BEST(
        *SEGMENT, _input(int64, 2), _input(uint32), _input(uint32),
        _input(uint32, 2), _input(uint8, 2), _input(int64), _input(float64), _input(float64), _input(float64, 2),
        _input(float64), float64, _input(float64, 2), _input(float64), int64, _input(uint32),
        uint32[::1], uint32[::1], float64[::1], int64,
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def rank_small(
    packed: Any, first: Any, at: Any, widths: Any, lists: Any, plain: Any, plain_tf: Any,
    lengths: Any, narrow: Any, rows: Any, base: Any, slope: Any, coefficient: Any, gain: Any, k1: Any,
    background: Any, constant: Any, words: Any, rank_of: Any,
    table: Any, uints: Any, floats: Any, k: Any,
) -> Any:  # fmt: skip
    """Ids and scores of the k best entities, best first.

    Args beyond those of the form:
        lists: int64[5, lists]: term, field, first block or -1, first plain posting, postings; ascending by term.
        plain, plain_tf: uint32[...], ids and tf of plain lists.
        narrow, rank_of: as of `topk.top_k`.
        table: uint32[2 ** n], at least twice the postings; 0 before and after.
        uints: uint32[6 * (postings + 4) or more].
        floats: float64[3 * postings + (3 + fields) * CHUNK, and terms * postings for mixture models].
    """
    n_lists, n_terms, n_fields = lists.shape[1], len(gain), len(rows)
    saturates, is_narrow = k1 > 0.0, len(narrow) > 0
    together = n_fields > 1 and not saturates
    for f in range(n_fields):
        together &= rows[f] == rows[0]
    room = len(uints) // 6
    ids, tf, met = uints[:room], uints[room : 2 * room], uints[2 * room : 3 * room]
    place, seen, touched = uints[3 * room : 4 * room], uints[4 * room : 5 * room], uints[5 * room :]
    places = np.empty((3, n_lists + 1), np.int64)
    cursor, stop, ends = places[0], places[1], places[2, 1:]
    _unpacked(packed, first, at, widths, lists, plain, plain_tf, ids, tf, cursor)
    for i in range(n_lists):
        ends[i] = cursor[i + 1]
    postings = cursor[n_lists]
    # Of entities: x of the current term, partial score, x of each term; of postings: their part of x.
    x, total, share = floats[:postings], floats[postings : 2 * postings], floats[2 * postings : 3 * postings]
    each = floats[3 * postings + (3 + n_fields) * CHUNK :]
    chunk = floats[3 * postings : 3 * postings + (3 + n_fields) * CHUNK]
    slots = np.empty(CHUNK, np.uint32)
    used, inverse_empty_score = np.zeros(n_fields, np.bool_), np.zeros(n_terms)
    common_gain, log_empty, min_partial, kth_score = 0.0, 0.0, 0.0, -math.inf
    if not saturates:
        common_gain, log_empty = bounds_of_terms(base, gain, background, constant, together, used, inverse_empty_score)
    out_ids, out_ranks, out_scores = np.empty(k, np.uint32), np.empty(k, np.uint32), np.empty(k)
    windows, nodes, n_out = 1 + postings // SHARE, lengths.shape[1], int64(0)
    for window in range(windows):
        high = nodes * (window + 1) // windows
        n_postings = int64(0)
        for i in range(n_lists):
            stop[i] = ends[i] if window + 1 == windows else seek_plain(high, ids, cursor[i], ends[i])
            n_postings += stop[i] - cursor[i]
        if n_postings == 0:
            continue
        bits = uint64(1)
        while (int64(1) << bits) < 2 * n_postings:
            bits += uint64(1)
        shift, mask, n_found, n_term = uint64(32) - bits, (uint64(1) << bits) - uint64(1), uint64(0), uint64(0)
        for i in range(n_lists):
            t, f = lists[0, i], lists[1, i]
            c, row, stamp = coefficient[t, f], rows[f], uint32(t + 1)
            a, b = base[f], slope[f]
            # Apart from the rest, so that the processor fetches many lengths at once.
            if together:
                for j in range(uint64(cursor[i]), uint64(stop[i])):
                    share[j] = c * float64(tf[j])
            elif is_narrow:
                for j in range(uint64(cursor[i]), uint64(stop[i])):
                    length = uint32(narrow[ids[j], row])
                    if length == uint32(LONG):
                        length = lengths[row, ids[j]]
                    share[j] = c * float64(tf[j]) * (1.0 / (a + b * float64(length)))
            else:
                for j in range(uint64(cursor[i]), uint64(stop[i])):
                    share[j] = c * float64(tf[j]) * (1.0 / (a + b * float64(lengths[row, ids[j]])))
            for j in range(uint64(cursor[i]), uint64(stop[i])):
                entity = ids[j]
                h = ((uint64(entity) * SPREAD) & uint64(0xFFFFFFFF)) >> shift
                s = uint64(table[h])
                while s and met[s - uint64(1)] != entity:
                    h = (h + uint64(1)) & mask
                    s = uint64(table[h])
                if s:
                    s -= uint64(1)
                elif t < words:
                    s = n_found
                    n_found += uint64(1)
                    table[h] = uint32(n_found)
                    met[s], place[s], seen[s] = entity, uint32(h), uint32(0)
                    total[s] = 0.0 if saturates else 1.0
                    if not saturates:
                        for other in range(uint64(n_terms)):
                            each[s * uint64(n_terms) + other] = 0.0
                else:
                    continue
                before = 0.0 if seen[s] != stamp else x[s]
                touched[n_term] = uint32(s)
                n_term += uint64(seen[s] != stamp)
                seen[s] = stamp
                x[s] = before + share[j]
            cursor[i] = stop[i]
            if i + 1 < n_lists and lists[0, i + 1] == t:
                continue
            g, u = gain[t], inverse_empty_score[t]
            if saturates:
                for j in range(n_term):
                    s = uint64(touched[j])
                    share[j] = x[s]
                for j in range(n_term):
                    share[j] = g * share[j] / (k1 + share[j])
                for j in range(n_term):
                    total[touched[j]] += share[j]
            else:
                for j in range(n_term):
                    s = uint64(touched[j])
                    each[s * uint64(n_terms) + uint64(t)] = x[s]
                    total[s] *= 1.0 + x[s] * u
            n_term = uint64(0)
        for j in range(n_found):
            table[place[j]] = 0
        begin = uint64(0)
        while begin < n_found:
            until, n = min(begin + uint64(CHUNK), n_found), uint64(0)
            if saturates:
                for j in range(begin, until):
                    touched[n], chunk[n] = met[j], total[j]
                    n += uint64(1)
            else:
                if common_gain > 0.0 and n_out == len(out_ids) and out_scores[0] != kth_score:
                    kth_score = out_scores[0]
                    min_partial = min_product(kth_score, common_gain, log_empty)
                for j in range(begin, until):
                    slots[n], touched[n] = uint32(j), met[j]
                    n += uint64(not total[j] < min_partial)
                score_mixtures(
                    n, slots, touched, each, lengths, narrow, rows, base, slope, gain, background, constant, together,
                    used, chunk,
                )  # fmt: skip
            for j in range(n):
                if n_out < len(out_ids) or chunk[j] >= out_scores[0]:
                    own_rank = rank_of[touched[j]] if len(rank_of) else touched[j]
                    n_out = offer(touched[j], own_rank, chunk[j], out_ids, out_ranks, out_scores, n_out)
            begin = until
    order_best(out_ids[:n_out], out_ranks[:n_out], out_scores[:n_out])
    return out_ids[:n_out], out_scores[:n_out]
