"""Block-max pruned top-k, compiled. Import it through `hybridkg.compute.kernels` only.

A block is skipped in two places. `next_blocks` (block_choice_kernel.py) takes only blocks whose upper bound reaches the
k-th best score, in descending order of the bounds, as batches; the entities of a batch are adjacent in scratch memory.
A batch is evaluated term at a time, the rarest term first; before the first term and after each, `prune_blocks`
(entity_bounds_kernel.py) drops the blocks in which the remaining terms cannot lift any entity to that score. The
surviving entities are scored in the order of the query: `additive.score_numpy` is the numpy reference and gives the
same bits, so no fastmath, and no reordering of those operations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import boolean, float64, int32, int64, njit, uint8, uint16, uint32, uint64
from numba.core import types

from hybridkg.text.index.codec.cursor_kernel import HELPER, LISTS, OPTIONS, ROOM, SEGMENT
from hybridkg.text.index.codec.cursor_kernel import readonly as _input
from hybridkg.text.index.field_lengths import LONG
from hybridkg.text.index.layout import DOC_BLOCK, DOC_BLOCK_SHIFT
from hybridkg.text.index.topk.block_choice_kernel import listed_cut, next_blocks, next_cut, next_listed
from hybridkg.text.index.topk.block_max import FINE
from hybridkg.text.index.topk.blocks_kernel import probe_packed, scan_packed, scan_plain
from hybridkg.text.index.topk.bounds_kernel import (
    UNITS,
    block_max_gains,
    bound_of,
    fill_bounds,
    list_levels,
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
from hybridkg.text.index.topk.mixture_kernel import bounds_of_terms, min_product, score_mixtures
from hybridkg.text.models.additive import CHUNK

SPARSE = 32
"""Postings of a list for each block of a batch, above which the list is probed block by block."""

ROUNDS = 3
"""Batches in descending order of bounds; the other blocks follow in the order of their ids."""

LISTED = 64
"""Capacity of the list of blocks, in first batches: it holds the blocks of the first two batches."""

FEW = 32
"""Up to this k a batch of listed blocks is twice as large as the one before."""

MORE = 8
"""Growth of the number of blocks from one batch to the next."""

_FOUR: Any = types.Tuple((int64, int64, float64, float64))  # type: ignore[no-untyped-call, unused-ignore]


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _score_threshold(score: Any, max_bound: Any) -> Any:
    """The k-th score less a margin for rounding, since bounds are summed in another order than scores."""
    return score - 1e-5 * (1.0 + abs(score)) - 1e-12 * max_bound


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _min_partial(score: Any, threshold: Any, is_sum: Any, empty_score: Any, common_gain: Any, log_empty: Any) -> Any:
    """The lower bound of the partial score of an entity whose score reaches `score`."""
    return threshold - empty_score if is_sum else min_product(score, common_gain, log_empty)


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _allow(allowed: Any, bounds: Any, out: Any) -> None:
    """Zeroes the bounds of blocks without an allowed entity; fills out, uint8[blocks] of 0, with the allowed ones."""
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
    members: Any, levels: Any, term_bounds: Any, codes: Any, factor: Any, bit_of: Any, bound_row: Any,
    max_background: Any, packed: Any, first: Any, at: Any, widths: Any, lists: Any, plain: Any, plain_tf: Any,
    lengths: Any, narrow: Any, rows: Any, base: Any, slope: Any, coefficient: Any, gain: Any, k1: Any, background: Any,
    constant: Any, words: Any, allowed: Any, only_allowed: Any, rank_of: Any, wanted: Any, batch_blocks: Any,
    bounds: Any, sums: Any, slot_of: Any, floats: Any, uints: Any, chunk_room: Any, out_ids: Any, out_ranks: Any,
    out_scores: Any,
) -> Any:  # fmt: skip
    """The k best entities, best first.

    Args beyond those of the form and the lists:
        members: uint64[terms with block maxima, words], bit set of the document blocks that contain each.
        levels, codes: quantised block maxima, and float64[terms with block maxima, levels], x of each level.
        term_bounds, factor: int64[c, 5] and float64[c], `BlockMaxBounds` of each common term.
        bit_of: uint8[fields], bit of each field in a set of fields.
        bound_row: int64[terms], the row of `term_bounds`; -1, -2, ... for the terms without block maxima.
        max_background: float64[terms], the largest background.
        narrow, allowed, rank_of: as of `topk.top_k`; `allowed` counts where `only_allowed`.
        wanted: approximate number of blocks of the first batch.
        batch_blocks: maximum number of blocks of a batch.
        bounds: uint16[blocks], gets the bounds, as of `term_upper_bounds`.
        sums, slot_of: float64[blocks] of 0 and int32[blocks] of -1, before and after.
        floats: float64[((terms + 3) * DOC_BLOCK + terms) * batch_blocks or more].
        uints: uint32[3 * (DOC_BLOCK * batch_blocks + ROOM) + 4 * batch_blocks or more].
        chunk_room: float64[(3 + fields + terms) * CHUNK or more].
        out_ids, out_ranks, out_scores: room for k.

    Returns:
        The number of results, the number of scored entities, and the scale of bounds, as of `term_upper_bounds`.
    """
    n_terms, n_fields, n_lists, n_blocks = len(gain), len(rows), lists.shape[1], len(bounds)
    saturates, is_narrow = k1 > 0.0, len(narrow) > 0
    together = n_fields > 1 and not saturates
    for f in range(n_fields):
        together &= rows[f] == rows[0]
    used, inverse_empty_score = np.zeros(n_fields, np.bool_), np.zeros(n_terms)
    parts, shares_at = np.empty((n_terms, n_fields + 1)), np.empty((n_fields, LONG + 1))
    common_gain, log_empty, min_partial, kth_score = 0.0, 0.0, -math.inf, -math.inf
    if not saturates:
        common_gain, log_empty = bounds_of_terms(base, gain, background, constant, together, used, inverse_empty_score)
    # Equal gains allow products instead of a logarithm for each term. Lengths tighten bounds of several fields only.
    is_sum = saturates or common_gain == 0.0
    by_lengths = not is_sum and not together
    if by_lengths:
        empty_doc_parts(base, slope, background, constant, inverse_empty_score, parts, shares_at)
    n_rare, n_rare_postings = 0, 0
    first_lists, term_postings = np.zeros(n_terms + 1, np.int64), np.zeros(n_terms, np.int64)
    for i in range(n_lists):
        first_lists[lists[0, i] + 1] = i + 1
        term_postings[lists[0, i]] += lists[4, i]
        n_rare_postings += lists[4, i] if bound_row[lists[0, i]] < 0 else 0
    term_order = np.arange(n_terms)
    for t in range(1, n_terms):  # the rarest first
        i = t
        while i > 0 and term_postings[term_order[i - 1]] > term_postings[term_order[i]]:
            term_order[i - 1], term_order[i] = term_order[i], term_order[i - 1]
            i -= 1
    for t in range(n_terms):
        first_lists[t + 1] = max(first_lists[t + 1], first_lists[t])
        n_rare += int64(bound_row[t] < 0)
    n_words = members.shape[1]
    rare_members = np.zeros((n_rare, n_words), np.uint64)
    blocks_before = np.empty((n_terms, n_words), np.uint32)
    level_gains, rare_begins, rare_gains = (
        np.empty((n_terms, FINE)),
        np.zeros(n_rare + 1, np.int64),
        np.empty(n_rare_postings),
    )
    shares = np.empty((n_terms, FINE + 1))
    empty_doc_score, unit = term_upper_bounds(
        term_bounds, codes, factor, bound_row, gain, k1, is_sum, max_background, packed, first, at, widths, lists,
        plain, plain_tf, lengths, rows, base, slope, coefficient, first_lists, rare_members, blocks_before, level_gains,
        shares, rare_begins, rare_gains, sums,
    )  # fmt: skip
    allowed_members = np.zeros(n_blocks if only_allowed else 0, np.uint8)
    listed_room = min(LISTED * int64(wanted), n_blocks) + ROOM
    listed, n_listed, lower, floor = np.empty(listed_room, np.uint32), uint64(0), uint16(1), uint16(1)
    if n_terms == 1 and bound_row[0] >= 0 and not only_allowed:
        n_listed, floor = list_levels(
            members[term_bounds[0, 0]], levels, uint64(term_bounds[0, 1]), uint64(term_bounds[0, 4]), shares[0], unit,
            wanted, blocks_before[0], bounds, listed,
        )  # fmt: skip
        floor = uint16(floor)
    is_filled = bool(n_listed == uint64(0))
    if is_filled:
        fill_bounds(
            members, levels, term_bounds, bound_row, gain, k1, is_sum, max_background, rare_members, blocks_before,
            shares, rare_begins, rare_gains, unit, bounds,
        )  # fmt: skip
        if only_allowed:
            _allow(allowed, bounds, allowed_members)
        floor = next_cut(bounds, uint16(2), uint16(65535), MORE * wanted)
        if floor > uint16(1):
            n_listed, r = next_blocks(bounds, uint64(0), floor, uint16(65535), listed)
            n_listed = n_listed if r == uint64(n_blocks) else uint64(0)  # too many
    is_listed = bool(n_listed > uint64(0))
    if not is_listed:
        lower = next_cut(bounds, uint16(2), uint16(65535), wanted)
    else:
        lower = uint16(listed_cut(listed[:n_listed], bounds, floor, wanted)) if is_filled else floor
    # Of entities: x of each term, partial score, scratch for a share, upper bound of the remaining terms. Of blocks:
    # the maximum gain of each term.
    width, size = uint64(DOC_BLOCK * batch_blocks), uint64(n_terms) * uint64(DOC_BLOCK * batch_blocks)
    x, total, share = floats[:size], floats[size : size + width], floats[size + width : size + 2 * width]
    rest, max_gain = floats[size + 2 * width : size + 3 * width], floats[size + 3 * width :]
    # Of postings: slot in the batch, id, tf. Of blocks: their numbers, the surviving ones, those with the current term.
    batch_docs, ids, tf = uints[: width + ROOM], uints[width + ROOM : 2 * (width + ROOM)], uints[2 * (width + ROOM) :]
    blocks, live = uints[3 * (width + ROOM) :][:batch_blocks], uints[3 * (width + ROOM) + batch_blocks :][:batch_blocks]
    term_blocks, matched = uints[3 * (width + ROOM) + 2 * batch_blocks :][:batch_blocks], np.empty(width, np.uint8)
    field_blocks, sets = (
        uints[3 * (width + ROOM) + 3 * batch_blocks :][:batch_blocks],
        np.empty(n_terms * batch_blocks, np.uint8),
    )
    slots, entities = np.empty(CHUNK, np.uint32), np.empty(CHUNK, np.uint32)
    block_ids, block_tf = np.empty(ROOM, np.uint32), np.empty(ROOM, np.uint32)
    chunk, each = chunk_room[: (3 + n_fields) * CHUNK], chunk_room[(3 + n_fields) * CHUNK :]
    cursor, max_inverse_norm = np.empty(n_lists, np.int64), 1.0 / base[0] if together else 1.0
    n_out, scored, threshold, n_rounds = int64(0), int64(0), -math.inf, 0
    j: Any = uint64(0)
    m: Any = uint64(0)
    upper, n_listed_wanted = uint16(65535), wanted
    while True:
        for i in range(n_lists):
            cursor[i] = lists[3, i] if lists[2, i] < 0 else lists[2, i]
        r = uint64(0)
        while True:
            min_bound = uint16(max(lower, bound_of(threshold, empty_doc_score, unit)))
            if is_listed:
                n, r = next_listed(listed[:n_listed], bounds, r, min_bound, upper, blocks)
            else:
                n, r = next_blocks(bounds, r, min_bound, upper, blocks)
            if n == uint64(0):
                break
            if n_out == len(out_ids) and out_scores[0] != kth_score:
                kth_score = out_scores[0]
                threshold = _score_threshold(kth_score, unit * UNITS)
                min_partial = _min_partial(kth_score, threshold, is_sum, empty_doc_score, common_gain, log_empty)
            for t in range(uint64(n_terms)):
                block_max_gains(
                    t, blocks, n, members, levels, term_bounds, bound_row, rare_members, blocks_before, level_gains,
                    rare_begins, rare_gains, max_gain[t * uint64(batch_blocks) :], sets[t * uint64(batch_blocks) :],
                )  # fmt: skip
            init_upper_bounds(n, n_terms, is_sum, max_gain, sets, uint64(batch_blocks), total, rest)
            for j in range(n):
                live[j] = j
            n_live = prune_blocks(live, n, is_sum, min_partial, total, rest, blocks, slot_of)
            if by_lengths and min_partial > 0.0:
                tighten_by_length(
                    live, n_live, blocks, lengths, narrow, rows, parts, shares_at, min_partial, max_gain, sets,
                    uint64(batch_blocks), total, rest,
                )  # fmt: skip
                n_live = prune_blocks(live, n_live, is_sum, min_partial, total, rest, blocks, slot_of)
            for j in range(n_live):
                slot = uint64(live[j])
                slot_of[blocks[slot]] = int32(slot)
                for e in range(slot << uint64(DOC_BLOCK_SHIFT), (slot + uint64(1)) << uint64(DOC_BLOCK_SHIFT)):
                    matched[e] = 0
                    for t in range(uint64(n_terms)):
                        x[t * width + e] = 0.0
            for nth in range(n_terms):
                t = term_order[nth]
                own, own_sets, n_term_blocks = max_gain[t * batch_blocks :], sets[t * batch_blocks :], uint64(0)
                for j in range(n_live):
                    term_blocks[n_term_blocks] = live[j]
                    n_term_blocks += uint64(own[live[j]] >= 0.0)
                if n_term_blocks == uint64(0):
                    continue
                term_x = x[uint64(t) * width :]
                for i in range(first_lists[t], first_lists[t + 1]):
                    f, first_block, size, n_field_blocks = lists[1, i], lists[2, i], lists[4, i], uint64(0)
                    for j in range(n_term_blocks):
                        field_blocks[n_field_blocks] = term_blocks[j]
                        n_field_blocks += uint64(own_sets[term_blocks[j]] >> bit_of[f]) & uint64(1)
                    if n_field_blocks == uint64(0):
                        continue
                    low = int64(blocks[field_blocks[0]]) << DOC_BLOCK_SHIFT
                    high = (int64(blocks[field_blocks[n_field_blocks - uint64(1)]]) + 1) << DOC_BLOCK_SHIFT
                    share_of_ids = float64(high - low) / (float64(lengths.shape[1]) * float64(n_field_blocks))
                    if first_block < 0:
                        m = scan_plain(
                            i, plain, plain_tf, lists[3, i] + size, low, high, cursor, slot_of, batch_docs, ids, tf
                        )  # fmt: skip
                    elif float64(size) * share_of_ids > SPARSE:
                        m = probe_packed(
                            i, packed, first, at, widths, first_block, size, blocks, field_blocks, n_field_blocks,
                            cursor, block_ids, batch_docs, ids, tf,
                        )  # fmt: skip
                    else:
                        m = scan_packed(
                            i, packed, first, at, widths, first_block, size, low, high, cursor, slot_of, block_ids,
                            block_tf, batch_docs, ids, tf,
                        )  # fmt: skip
                    c, row, a, b = coefficient[t, f], rows[f], base[f], slope[f]
                    # A loop of its own, so that the processor fetches many lengths at once.
                    if together:
                        for j in range(m):
                            share[j] = c * float64(tf[j])
                    elif is_narrow:
                        for j in range(m):
                            length = uint32(narrow[ids[j], row])
                            if length == uint32(LONG):
                                length = lengths[row, ids[j]]
                            share[j] = c * float64(tf[j]) * (1.0 / (a + b * float64(length)))
                    else:
                        for j in range(m):
                            share[j] = c * float64(tf[j]) * (1.0 / (a + b * float64(lengths[row, ids[j]])))
                    for j in range(m):
                        term_x[batch_docs[j]] += share[j]
                    if t < words:
                        for j in range(m):
                            matched[batch_docs[j]] = 1
                replace_bound_by_score(
                    term_blocks[:n_term_blocks], own, own_sets, is_sum, gain[t], k1, max_background[t],
                    max_inverse_norm, shares[t, FINE], inverse_empty_score[t], term_x, total, rest,
                )  # fmt: skip
                n_live = prune_blocks(live, n_live, is_sum, min_partial, total, rest, blocks, slot_of)
                if n_live == uint64(0):
                    break
            j = uint64(0)
            while j < n_live:
                m = uint64(0)
                if n_out == len(out_ids) and out_scores[0] != kth_score:
                    kth_score = out_scores[0]
                    threshold = _score_threshold(kth_score, unit * UNITS)
                    min_partial = _min_partial(kth_score, threshold, is_sum, empty_doc_score, common_gain, log_empty)
                while j < n_live and m + uint64(DOC_BLOCK) <= uint64(CHUNK):
                    slot = uint64(live[j])
                    j += uint64(1)
                    for e in range(uint64(DOC_BLOCK)):
                        d = (slot << uint64(DOC_BLOCK_SHIFT)) + e
                        slots[m], entities[m] = d, (uint64(blocks[slot]) << uint64(DOC_BLOCK_SHIFT)) + e
                        keeps = (matched[d] != 0) & (not total[d] < min_partial)
                        if only_allowed:
                            keeps &= ((allowed_members[blocks[slot]] >> e) & uint64(1)) != uint64(0)
                        m += uint64(keeps)
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
                    score_mixtures(
                        m, slots, entities, each, lengths, narrow, rows, base, slope, gain, background, constant,
                        together, used, chunk,
                    )  # fmt: skip
                scored += int64(m)
                for s in range(m):
                    if n_out < len(out_ids) or chunk[s] >= out_scores[0]:
                        own_rank = rank_of[entities[s]] if len(rank_of) else entities[s]
                        n_out = offer(entities[s], own_rank, chunk[s], out_ids, out_ranks, out_scores, n_out)
            for j in range(n_live):
                slot_of[blocks[live[j]]] = -1
        if n_out == len(out_ids):
            threshold = _score_threshold(out_scores[0], unit * UNITS)
        if lower <= bound_of(threshold, empty_doc_score, unit):
            break
        if is_listed and lower > floor:
            n_listed_wanted *= 2 if len(out_ids) <= FEW else MORE
            upper, lower = lower, uint16(listed_cut(listed[:n_listed], bounds, floor, n_listed_wanted))
            continue
        if not is_filled:
            fill_bounds(
                members, levels, term_bounds, bound_row, gain, k1, is_sum, max_background, rare_members, blocks_before,
                shares, rare_begins, rare_gains, unit, bounds,
            )  # fmt: skip
            is_filled = True
        wanted = MORE * wanted if is_listed else wanted
        upper, lower, is_listed = lower, uint16(1), False
        if n_rounds < ROUNDS and threshold > -math.inf:
            wanted *= MORE
            lower = next_cut(bounds, bound_of(threshold, empty_doc_score, unit), upper, wanted)
        n_rounds += 1
    order_best(out_ids[:n_out], out_ranks[:n_out], out_scores[:n_out])
    return n_out, scored, empty_doc_score, unit
