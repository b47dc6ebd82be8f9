"""The compiled ranking of queries with common words. Import it through `hybridkg.compute.kernels` only.

Ranges of 4 ids are looked at from the highest bounds down, some at a time: a *batch*. Its ranges are numbered, and
what comes of their entities lies together in memory, however far from each other they are. Terms are looked for in a
batch one after the other, rare ones first; before the first and after each, ranges are given up in which the terms
still to come cannot lift any entity to the k-th best score. Scores of what is left are summed up in the order of the
query: `additive.score_numpy` is the reference and gives the same bits, so no fastmath, and no reordering of those
operations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import boolean, float64, int32, int64, njit, uint8, uint16, uint32, uint64
from numba.core import types

from hybridkg.text.index.codec.cursor_kernel import LISTS, OPTIONS, ROOM, SEGMENT
from hybridkg.text.index.codec.cursor_kernel import readonly as _input
from hybridkg.text.index.field_lengths import LONG
from hybridkg.text.index.layout import DOC_BLOCK, DOC_BLOCK_SHIFT
from hybridkg.text.index.topk.block_choice_kernel import next_cut, next_listed, next_ranges, reached_in
from hybridkg.text.index.topk.block_max import FINE
from hybridkg.text.index.topk.blocks_kernel import take_all, take_near, take_plain
from hybridkg.text.index.topk.bounds_kernel import (
    UNITS,
    bound_of,
    fill_bounds,
    list_levels,
    steps_of,
    term_upper_bounds,
)
from hybridkg.text.index.topk.entity_bounds_kernel import (
    empty_doc_parts,
    init_upper_bounds,
    prune_blocks,
    replace_bound_by_score,
    tighten_by_length,
)
from hybridkg.text.index.topk.heap_kernel import offer, order_best
from hybridkg.text.index.topk.mixture_kernel import bounds_of_terms, least_product, logarithms
from hybridkg.text.models.additive import CHUNK

SPARSE = 32
"""Where a list has so many postings for each range of a batch, they are looked for range by range."""

ROUNDS = 3
"""Batches from the highest bounds down; then the other ranges come in the order of their ids."""

LISTED = 64
"""Room for so many times the ranges that come first: those of the first two batches are listed."""

FEW = 32
"""Of so few each batch of those that are listed has twice the ranges of the one before."""

MORE = 8
"""Each round has so many times the ranges of the one before."""

_FOUR: Any = types.Tuple((int64, int64, float64, float64))  # type: ignore[no-untyped-call, unused-ignore]


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def _limit(score: Any, most: Any) -> Any:
    """Bounds are summed up in another order than scores: a little less than a score is asked of them.

    What it takes:
        most: the largest bound that there can be, of which rounding loses a share.
    """
    return score - 1e-5 * (1.0 + abs(score)) - 1e-12 * most


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def _least(score: Any, limit: Any, is_sum: Any, nothing: Any, common: Any, lowest: Any) -> Any:
    """What comes of the terms of an entity at least whose score reaches another."""
    return limit - nothing if is_sum else least_product(score, common, lowest)


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def _allow(allowed: Any, bounds: Any, out: Any) -> None:
    """Leaves bounds only to ranges with any of some entities; out: uint8[ranges], 0, gets which of them."""
    for j in range(len(allowed)):
        out[allowed[j] >> DOC_BLOCK_SHIFT] |= uint8(1) << uint8(allowed[j] & (DOC_BLOCK - 1))
    for r in range(len(bounds)):
        if out[r] == 0:
            bounds[r] = uint16(0)


@njit(
    _FOUR(
        _input(uint64, 2), _input(uint8), _input(int64, 2), _input(float64, 2), _input(float64), _input(uint8),
        _input(int64),
        _input(float64), *SEGMENT, *LISTS, _input(uint32, 2), _input(uint8, 2), _input(int64), _input(float64),
        _input(float64),
        _input(float64, 2), _input(float64), float64, _input(float64, 2), _input(float64), int64,
        _input(uint32), boolean, _input(uint32), int64, int64,
        uint16[::1], float64[::1], int32[::1], float64[::1], uint32[::1], float64[::1],
        uint32[::1], uint32[::1], float64[::1],
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def top_k(
    members: Any, levels: Any, where: Any, codes: Any, factor: Any, bit_of: Any, place: Any, highest: Any,
    packed: Any, first: Any, at: Any, widths: Any, lists: Any, plain: Any, plain_tf: Any,
    lengths: Any, narrow: Any, rows: Any, base: Any, slope: Any, coefficient: Any, gain: Any, k1: Any,
    background: Any, constant: Any, words: Any, allowed: Any, only_allowed: Any, rank_of: Any, wanted: Any, most: Any,
    bounds: Any, sums: Any, slot_of: Any, floats: Any, whole: Any, room: Any,
    out_ids: Any, out_ranks: Any, out_scores: Any,
) -> Any:  # fmt: skip
    """The best entities, best first.

    Args beyond those of the form and the lists:
        members: uint64[terms with peaks, words], which ranges have one.
        levels: uint8[...], of the peaks.
        where: int64[c, 5], all of `peaks.Bounding` but factor, of each common term.
        codes: float64[terms with peaks, levels], x of each level.
        factor: float64[c], of `peaks.Bounding`.
        bit_of: uint8[fields], the place of each in a set of fields.
        place: int64[terms], the row of `where`; -1, -2, ... for the terms without peaks.
        highest: float64[terms], the largest background.
        narrow: uint8[nodes, rows], of `narrow_lengths`; empty if not at hand.
        allowed: uint32[...], ascending: the only entities that count, where `only_allowed`.
        rank_of: uint32[nodes], what decides ties; empty for the ids themselves.
        wanted: about how many ranges come first.
        most: ranges of a batch, at most.
        bounds: uint16[ranges], gets the bounds, as of `term_upper_bounds`.
        sums: float64[ranges], 0 and will be.
        slot_of: int32[ranges], -1 and will be.
        floats: float64[((terms + 3) * RANGE + terms) * most or more].
        whole: uint32[3 * (RANGE * most + ROOM) + 4 * most or more].
        room: float64[(3 + fields + terms) * CHUNK or more].
        out_ids, out_ranks, out_scores: room for k.

    Returns:
        How many there are, how many entities were scored, and what bounds mean, as `term_upper_bounds` returns it.
    """
    n_terms, n_fields, n_lists, n_ranges = len(gain), len(rows), lists.shape[1], len(bounds)
    saturates, is_narrow = k1 > 0.0, len(narrow) > 0
    together = n_fields > 1 and not saturates
    for f in range(n_fields):
        together &= rows[f] == rows[0]
    used, upon = np.zeros(n_fields, np.bool_), np.zeros(n_terms)
    parts, shares_at = np.empty((n_terms, n_fields + 1)), np.empty((n_fields, LONG + 1))
    common, lowest, least, known = 0.0, 0.0, -math.inf, -math.inf
    if not saturates:
        common, lowest = bounds_of_terms(base, gain, background, constant, together, used, upon)
    # Products where all gains are the same, which takes no logarithm for each term; otherwise what these add. Lengths
    # are looked at where they tell more than the bounds of one text do.
    is_sum = saturates or common == 0.0
    by_lengths = not is_sum and not together
    if by_lengths:
        empty_doc_parts(base, slope, background, constant, upon, parts, shares_at)
    n_others, n_own = 0, 0
    begins, often_in_all = np.zeros(n_terms + 1, np.int64), np.zeros(n_terms, np.int64)
    for i in range(n_lists):
        begins[lists[0, i] + 1] = i + 1
        often_in_all[lists[0, i]] += lists[4, i]
        n_own += lists[4, i] if place[lists[0, i]] < 0 else 0
    turns = np.arange(n_terms)
    for t in range(1, n_terms):  # the rarest first
        i = t
        while i > 0 and often_in_all[turns[i - 1]] > often_in_all[turns[i]]:
            turns[i - 1], turns[i] = turns[i], turns[i - 1]
            i -= 1
    for t in range(n_terms):
        begins[t + 1] = max(begins[t + 1], begins[t])
        n_others += int64(place[t] < 0)
    n_words = members.shape[1]
    others = np.zeros((n_others, n_words), np.uint64)
    before = np.empty((n_terms, n_words), np.uint32)
    steps, own_at, own_steps = np.empty((n_terms, FINE)), np.zeros(n_others + 1, np.int64), np.empty(n_own)
    shares = np.empty((n_terms, FINE + 1))
    nothing, unit = term_upper_bounds(
        where, codes, factor, place, gain, k1, is_sum, highest, packed, first, at, widths, lists, plain, plain_tf,
        lengths, rows, base, slope, coefficient, begins, others, before, steps, shares, own_at, own_steps, sums,
    )  # fmt: skip
    members_of = np.zeros(n_ranges if only_allowed else 0, np.uint8)
    room_of_list = min(LISTED * int64(wanted), n_ranges) + ROOM
    listed, n_listed, lower, floor = np.empty(room_of_list, np.uint32), uint64(0), uint16(1), uint16(1)
    if n_terms == 1 and place[0] >= 0 and not only_allowed:
        n_listed, floor = list_levels(
            members[where[0, 0]], levels, uint64(where[0, 1]), uint64(where[0, 4]), shares[0], unit, wanted, before[0],
            bounds, listed,
        )  # fmt: skip
    is_filled = bool(n_listed == uint64(0))
    if is_filled:
        fill_bounds(
            members, levels, where, place, gain, k1, is_sum, highest, others, before, shares, own_at, own_steps, unit,
            bounds,
        )  # fmt: skip
        if only_allowed:
            _allow(allowed, bounds, members_of)
        floor = next_cut(bounds, uint16(2), uint16(65535), MORE * wanted)
        if floor > uint16(1):
            n_listed, r = next_ranges(bounds, uint64(0), floor, uint16(65535), listed)
            n_listed = n_listed if r == uint64(n_ranges) else uint64(0)  # too many
    is_listed = bool(n_listed > uint64(0))
    if not is_listed:
        lower = next_cut(bounds, uint16(2), uint16(65535), wanted)
    else:
        lower = reached_in(listed[:n_listed], bounds, floor, wanted) if is_filled else floor
    # Of entities: x of each term, then its share; what came of the terms so far, room for a share, what the terms still
    # to come do at most. Of ranges: what each term does at most.
    width, size = uint64(DOC_BLOCK * most), uint64(n_terms) * uint64(DOC_BLOCK * most)
    x, total, share = floats[:size], floats[size : size + width], floats[size + width : size + 2 * width]
    rest, step = floats[size + 2 * width : size + 3 * width], floats[size + 3 * width :]
    # Of postings: entity in the batch, its id, occurrences. Of ranges: which they are, those that live, those of these
    # that have the term at hand.
    docs, ids, often = whole[: width + ROOM], whole[width + ROOM : 2 * (width + ROOM)], whole[2 * (width + ROOM) :]
    ranges, live = whole[3 * (width + ROOM) :][:most], whole[3 * (width + ROOM) + most :][:most]
    having, matched = whole[3 * (width + ROOM) + 2 * most :][:most], np.empty(width, np.uint8)
    inside, sets = whole[3 * (width + ROOM) + 3 * most :][:most], np.empty(n_terms * most, np.uint8)
    slots, entities = np.empty(CHUNK, np.uint32), np.empty(CHUNK, np.uint32)
    block_ids, block_tf = np.empty(ROOM, np.uint32), np.empty(ROOM, np.uint32)
    chunk, each = room[: (3 + n_fields) * CHUNK], room[(3 + n_fields) * CHUNK :]
    cursor, of_x = np.empty(n_lists, np.int64), 1.0 / base[0] if together else 1.0
    n_out, scored, limit, rounds = int64(0), int64(0), -math.inf, 0
    j: Any = uint64(0)
    m: Any = uint64(0)
    upper, among_listed = uint16(65535), wanted
    while True:
        for i in range(n_lists):
            cursor[i] = lists[3, i] if lists[2, i] < 0 else lists[2, i]
        r = uint64(0)
        while True:
            least_bound = max(lower, bound_of(limit, nothing, unit))
            if is_listed:
                n, r = next_listed(listed[:n_listed], bounds, r, least_bound, upper, ranges)
            else:
                n, r = next_ranges(bounds, r, least_bound, upper, ranges)
            if n == uint64(0):
                break
            if n_out == len(out_ids) and out_scores[0] != known:
                known = out_scores[0]
                limit = _limit(known, unit * UNITS)
                least = _least(known, limit, is_sum, nothing, common, lowest)
            for t in range(uint64(n_terms)):
                steps_of(
                    t, ranges, n, members, levels, where, place, others, before, steps, own_at, own_steps,
                    step[t * uint64(most) :], sets[t * uint64(most) :],
                )  # fmt: skip
            init_upper_bounds(n, n_terms, is_sum, step, sets, uint64(most), total, rest)
            for j in range(n):
                live[j] = j
            n_live = prune_blocks(live, n, is_sum, least, total, rest, ranges, slot_of)
            if by_lengths and least > 0.0:
                tighten_by_length(
                    live, n_live, ranges, lengths, narrow, rows, parts, shares_at, least, step, sets, uint64(most),
                    total, rest,
                )  # fmt: skip
                n_live = prune_blocks(live, n_live, is_sum, least, total, rest, ranges, slot_of)
            for j in range(n_live):
                slot = uint64(live[j])
                slot_of[ranges[slot]] = int32(slot)
                for e in range(slot << uint64(DOC_BLOCK_SHIFT), (slot + uint64(1)) << uint64(DOC_BLOCK_SHIFT)):
                    matched[e] = 0
                    for t in range(uint64(n_terms)):
                        x[t * width + e] = 0.0
            for turn in range(n_terms):
                t = turns[turn]
                own, own_sets, n_having = step[t * most :], sets[t * most :], uint64(0)
                for j in range(n_live):
                    having[n_having] = live[j]
                    n_having += uint64(own[live[j]] >= 0.0)
                if n_having == uint64(0):
                    continue
                of_term = x[uint64(t) * width :]
                for i in range(begins[t], begins[t + 1]):
                    f, block, size, n_in = lists[1, i], lists[2, i], lists[4, i], uint64(0)
                    for j in range(n_having):
                        inside[n_in] = having[j]
                        n_in += uint64(own_sets[having[j]] >> bit_of[f]) & uint64(1)
                    if n_in == uint64(0):
                        continue
                    low = int64(ranges[inside[0]]) << DOC_BLOCK_SHIFT
                    high = (int64(ranges[inside[n_in - uint64(1)]]) + 1) << DOC_BLOCK_SHIFT
                    share_of_ids = float64(high - low) / (float64(lengths.shape[1]) * float64(n_in))
                    if block < 0:
                        m = take_plain(
                            i, plain, plain_tf, lists[3, i] + size, low, high, cursor, slot_of, docs, ids, often
                        )  # fmt: skip
                    elif float64(size) * share_of_ids > SPARSE:
                        m = take_near(
                            i, packed, first, at, widths, block, size, ranges, inside, n_in, cursor, block_ids,
                            docs, ids, often,
                        )  # fmt: skip
                    else:
                        m = take_all(
                            i, packed, first, at, widths, block, size, low, high, cursor, slot_of, block_ids, block_tf,
                            docs, ids, often,
                        )  # fmt: skip
                    c, row, a, b = coefficient[t, f], rows[f], base[f], slope[f]
                    # Apart from the rest, so that the processor fetches many lengths at once.
                    if together:
                        for j in range(m):
                            share[j] = c * float64(often[j])
                    elif is_narrow:
                        for j in range(m):
                            length = uint32(narrow[ids[j], row])
                            if length == uint32(LONG):
                                length = lengths[row, ids[j]]
                            share[j] = c * float64(often[j]) * (1.0 / (a + b * float64(length)))
                    else:
                        for j in range(m):
                            share[j] = c * float64(often[j]) * (1.0 / (a + b * float64(lengths[row, ids[j]])))
                    for j in range(m):
                        of_term[docs[j]] += share[j]
                    if t < words:
                        for j in range(m):
                            matched[docs[j]] = 1
                replace_bound_by_score(
                    having[:n_having], own, own_sets, is_sum, gain[t], k1, highest[t], of_x, shares[t, FINE], upon[t],
                    of_term, total, rest,
                )  # fmt: skip
                n_live = prune_blocks(live, n_live, is_sum, least, total, rest, ranges, slot_of)
                if n_live == uint64(0):
                    break
            j = uint64(0)
            while j < n_live:
                m = uint64(0)
                if n_out == len(out_ids) and out_scores[0] != known:
                    known = out_scores[0]
                    limit = _limit(known, unit * UNITS)
                    least = _least(known, limit, is_sum, nothing, common, lowest)
                while j < n_live and m + uint64(DOC_BLOCK) <= uint64(CHUNK):
                    slot = uint64(live[j])
                    j += uint64(1)
                    for e in range(uint64(DOC_BLOCK)):
                        d = (slot << uint64(DOC_BLOCK_SHIFT)) + e
                        slots[m], entities[m] = d, (uint64(ranges[slot]) << uint64(DOC_BLOCK_SHIFT)) + e
                        taken = (matched[d] != 0) & (not total[d] < least)
                        if only_allowed:
                            taken &= ((members_of[ranges[slot]] >> e) & uint64(1)) != uint64(0)
                        m += uint64(taken)
                if saturates:
                    for s in range(m):
                        score = 0.0
                        for t in range(uint64(n_terms)):
                            score += x[t * width + uint64(slots[s])]
                        chunk[s] = score
                else:
                    for s in range(m):
                        for t in range(uint64(n_terms)):
                            each[s * uint64(n_terms) + t] = x[t * width + uint64(slots[s])]
                        slots[s] = s
                    logarithms(
                        m, slots, entities, each, lengths, narrow, rows, base, slope, gain, background, constant,
                        together, used, chunk,
                    )  # fmt: skip
                scored += int64(m)
                for s in range(m):
                    if n_out < len(out_ids) or chunk[s] >= out_scores[0]:
                        own_rank = rank_of[entities[s]] if len(rank_of) else entities[s]
                        n_out = offer(entities[s], own_rank, chunk[s], out_ids, out_ranks, out_scores, n_out)
            for j in range(n_live):
                slot_of[ranges[live[j]]] = -1
        if n_out == len(out_ids):
            limit = _limit(out_scores[0], unit * UNITS)
        if lower <= bound_of(limit, nothing, unit):
            break
        if is_listed and lower > floor:
            among_listed *= 2 if len(out_ids) <= FEW else MORE
            upper, lower = lower, reached_in(listed[:n_listed], bounds, floor, among_listed)
            continue
        if not is_filled:
            fill_bounds(
                members, levels, where, place, gain, k1, is_sum, highest, others, before, shares, own_at, own_steps,
                unit, bounds,
            )  # fmt: skip
            is_filled = True
        wanted = MORE * wanted if is_listed else wanted
        upper, lower, is_listed = lower, uint16(1), False
        if rounds < ROUNDS and limit > -math.inf:
            wanted *= MORE
            lower = next_cut(bounds, bound_of(limit, nothing, unit), upper, wanted)
        rounds += 1
    order_best(out_ids[:n_out], out_ranks[:n_out], out_scores[:n_out])
    return n_out, scored, nothing, unit
