"""Upper bounds of the scores in document blocks. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, int64, njit, uint8, uint16, uint32, uint64

from hybridkg.text.index.codec.cursor_kernel import BLOCK, HELPER, INLINE, ROOM, lowest_bit, popcount
from hybridkg.text.index.codec.packing_kernel import unpack_block
from hybridkg.text.index.layout import DOC_BLOCK_SHIFT
from hybridkg.text.index.topk.block_max import COARSE, FINE
from hybridkg.text.models.additive import SMALLEST
from hybridkg.text.models.logarithm_kernel import log

UNITS = 60_000
"""Units of the largest possible bound; rounding adds one for each term, of at most 64."""

MIN_UNIT = 1e-250
"""Minimum unit, for tiny weights: a score divided by it is finite."""


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def share_of(x: Any, gain: Any, k1: Any, background: Any) -> Any:
    """The share of x in a score at the maximum background."""
    if k1 > 0.0:
        return gain * x / (k1 + x)
    return gain * log(max(x + background, SMALLEST))


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _max_gain(x: Any, share: Any, is_sum: Any, background: Any) -> Any:
    """The maximum gain of a bound of x: a summand of sums, a factor of products."""
    return share if is_sum else 1.0 + x / max(background, SMALLEST)


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _fill_rare(
    packed: Any, first: Any, at: Any, widths: Any, lists: Any, plain: Any, plain_tf: Any, lengths: Any, rows: Any,
    base: Any, slope: Any, coefficient: Any, members: Any, blocks_before: Any, t: Any, begin: Any, sums: Any, out: Any,
    n_gains: Any,
) -> Any:  # fmt: skip
    """Writes the upper bound of x in each block of a term without block maxima to out[n_gains:]; returns its end.

    `begin` is its first list; members, uint64[words] of 0, gets the bit set of its blocks; blocks_before,
    uint32[words], their number before each word of 64.
    """
    ids, tf = np.empty(ROOM, np.uint32), np.empty(ROOM, np.uint32)
    i, done = begin, np.int64(0)
    while i < lists.shape[1] and lists[0, i] == t:
        f, first_block, start, postings, done = lists[1, i], lists[2, i], lists[3, i], lists[4, i], np.int64(0)
        i += 1
        length, c, a, b = lengths[rows[f]], coefficient[t, f], base[f], slope[f]
        current, largest = uint64(0), 0.0
        while done < postings:
            size = uint64(min(BLOCK, postings - done))
            if first_block < 0:
                for j in range(size):
                    posting = uint64(start + done) + uint64(j)
                    ids[j], tf[j] = plain[posting], plain_tf[posting]
            else:
                block = uint64(first_block + done // BLOCK)
                unpack_block(packed, first[block], uint64(at[block]), widths, block, size, ids, tf, uint64(0))
            for j in range(size):
                r = uint64(ids[j]) >> uint64(DOC_BLOCK_SHIFT)
                x = c * float64(tf[j]) * (1.0 / (a + b * float64(length[ids[j]])))
                if r != current:
                    sums[current] += largest
                    current, largest = r, 0.0
                members[r >> uint64(6)] |= uint64(1) << (r & uint64(63))
                largest = max(largest, x)
            done += np.int64(size)
        sums[current] += largest
    nth = uint64(0)
    for w in range(uint64(len(members))):
        blocks_before[w] = nth
        bits = members[w]
        while bits:
            r = (w << uint64(6)) + lowest_bit(bits)
            out[uint64(n_gains) + nth] = sums[r]
            sums[r] = 0.0
            bits &= bits - uint64(1)
            nth += uint64(1)
    return n_gains + np.int64(nth)


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _level(levels: Any, begin: Any, nth: Any, halves: Any) -> Any:
    """Level number `nth`; halves: 1 for two levels in a byte, 0 for one."""
    both = uint64(levels[begin + (nth >> halves)])
    return (both >> ((nth & halves) << uint64(2))) & (uint64(255) >> (halves << uint64(2)))


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def term_upper_bounds(
    term_bounds: Any, codes: Any, factor: Any, bound_row: Any, gain: Any, k1: Any, is_sum: Any, background: Any,
    packed: Any, first: Any, at: Any, widths: Any, lists: Any, plain: Any, plain_tf: Any, lengths: Any, rows: Any,
    base: Any, slope: Any, coefficient: Any, begins: Any, rare_members: Any, blocks_before: Any, level_gains: Any,
    shares: Any, rare_begins: Any, rare_gains: Any, sums: Any,
) -> Any:  # fmt: skip
    """Maximum gains of each term, by level, and by block for the terms without block maxima (the rare terms).

    Args (in part):
        term_bounds, codes, factor: as of `block_max_kernel.top_k`.
        bound_row: int64[terms], the row of `term_bounds`; -1 - the row of `rare_members` for a rare term.
        is_sum: whether gains are added up, or multiplied.
        background: float64[terms], the maximum.
        begins: int64[terms], the first list of each.
        rare_members: uint64[rows, words], 0; gets the bit set of the blocks of each rare term.
        blocks_before: uint32[terms, words], gets the blocks of a rare term before each word of 64.
        level_gains: float64[terms, FINE], gets the maximum gain of each level of a term.
        shares: float64[terms, FINE + 1], gets its maximum share; last the share without occurrences.
        rare_begins: int64[rows + 1], gets the first place of each rare term in `rare_gains`.
        rare_gains: float64[...], gets the largest x of each block.
        sums: float64[blocks], 0 before and after.

    Returns:
        (empty_doc_score, unit), floats: no score in a block is above empty_doc_score + unit * (its bound - 1). Bounds
        are uint16, because SIMD compares sixteen at a time.
    """
    empty_doc_score, max_gain_sum, n_gains = 0.0, 0.0, int64(0)
    for t in range(len(gain)):
        empty_share = share_of(0.0, gain[t], k1, background[t])
        shares[t, FINE] = empty_share
        if k1 == 0.0:
            empty_doc_score += empty_share
        c, largest = bound_row[t], 0.0
        if c >= 0:
            n_levels = COARSE if term_bounds[c, 4] else FINE
            for level in range(n_levels):
                x = codes[term_bounds[c, 0], term_bounds[c, 3] + level] * factor[c]
                share = share_of(x, gain[t], k1, background[t]) - empty_share
                shares[t, level], level_gains[t, level] = share, _max_gain(x, share, is_sum, background[t])
            largest = shares[t, n_levels - 1]
        else:
            rare_begins[-1 - c] = n_gains
            n_gains = _fill_rare(
                packed, first, at, widths, lists, plain, plain_tf, lengths, rows, base, slope, coefficient,
                rare_members[-1 - c], blocks_before[t], t, begins[t], sums, rare_gains, n_gains,
            )  # fmt: skip
            for j in range(rare_begins[-1 - c], n_gains):
                largest = max(largest, rare_gains[j])
            largest = share_of(largest, gain[t], k1, background[t]) - empty_share
            rare_begins[-c] = n_gains
        max_gain_sum += largest
    return empty_doc_score, max(max_gain_sum / UNITS, MIN_UNIT)


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _in_units(share: Any, per_unit: Any) -> Any:
    """The units of a share, and one more, which is faster than a division with rounding up."""
    return uint16(uint64(share * per_unit) + uint64(1))


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def fill_bounds(
    members: Any, levels: Any, term_bounds: Any, bound_row: Any, gain: Any, k1: Any, is_sum: Any, background: Any,
    rare_members: Any, blocks_before: Any, shares: Any, rare_begins: Any, rare_gains: Any, unit: Any, out: Any,
) -> None:  # fmt: skip
    """Fills out, uint16[blocks], with the upper bound of each block; the arguments are those of `term_upper_bounds`.

    `blocks_before` is filled for the common terms, too; `rare_gains` gets maximum gains in place of x.
    """
    n_words, per_unit = uint64(blocks_before.shape[1]), 1.0 / unit
    for r in range(uint64(len(out))):
        out[r] = uint16(1)
    table = np.empty(FINE, np.uint16)
    for t in range(len(gain)):
        c, nth = bound_row[t], uint64(0)
        if c >= 0:
            row, begin, halves = term_bounds[c, 0], uint64(term_bounds[c, 1]), uint64(term_bounds[c, 4])
            for level in range(COARSE if halves else FINE):
                table[level] = _in_units(shares[t, level], per_unit)
            for w in range(n_words):
                blocks_before[t, w] = nth
                bits = members[row, w]
                if halves:
                    while bits:
                        out[(w << uint64(6)) + lowest_bit(bits)] += table[_level(levels, begin, nth, uint64(1))]
                        bits &= bits - uint64(1)
                        nth += uint64(1)
                else:  # a loop of its own saves a fifth of the time
                    while bits:
                        out[(w << uint64(6)) + lowest_bit(bits)] += table[levels[begin + nth]]
                        bits &= bits - uint64(1)
                        nth += uint64(1)
            continue
        nth = uint64(rare_begins[-1 - c])
        for w in range(n_words):
            bits = rare_members[-1 - c, w]
            while bits:
                x = rare_gains[nth]
                share = share_of(x, gain[t], k1, background[t]) - shares[t, FINE]
                out[(w << uint64(6)) + lowest_bit(bits)] += _in_units(share, per_unit)
                rare_gains[nth] = _max_gain(x, share, is_sum, background[t])
                bits &= bits - uint64(1)
                nth += uint64(1)


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def list_levels(
    members: Any, levels: Any, at_level: Any, halves: Any, shares: Any, unit: Any, wanted: Any, blocks_before: Any,
    bounds: Any, out: Any,
) -> Any:  # fmt: skip
    """Lists the blocks with the highest levels of a single term, whose levels are its bounds.

    Args (in part):
        members, shares, blocks_before: rows of the term, as of `fill_bounds`.
        at_level: place of its first level.
        wanted: minimum number of blocks; all of the same level are listed.
        bounds: uint16[blocks], gets those of `out`.

    Returns:
        (number of blocks, 0 for too many; a bound that no other block reaches; listed blocks may be below it).
    """
    n_words, nth, n, capacity, per_unit = uint64(len(members)), uint64(0), uint64(0), uint64(len(out)), 1.0 / unit
    counts = np.zeros(FINE, np.int64)
    for w in range(n_words):
        blocks_before[w] = nth
        nth += popcount(members[w])
    for j in range(at_level, at_level + (nth >> halves)):
        counts[levels[j]] += 1
    if halves:
        pairs = counts.copy()
        counts[:] = 0
        for pair in range(FINE):
            counts[pair & 15] += pairs[pair]
            counts[pair >> 4] += pairs[pair]
        if nth & halves:
            counts[levels[at_level + (nth >> halves)] & 15] += 1
    lowest = (COARSE if halves else FINE) - 1
    n_reached = counts[lowest]
    while lowest > 0 and n_reached < wanted:
        lowest -= 1
        n_reached += counts[lowest]
    if uint64(n_reached) + uint64(1) > capacity:
        return uint64(0), uint16(1)
    # The maximum over the lower levels, since rounding may order the shares of two x otherwise.
    below = 0.0
    for level in range(lowest):
        below = max(below, shares[level])
    floor = uint16(2) + _in_units(below, per_unit) if lowest > 0 else uint16(1)
    nth = uint64(0)
    for w in range(n_words):
        bits = members[w]
        end = nth + popcount(bits)
        # Most words have no level that is high enough.
        any_reached = False
        if halves:
            for j in range(at_level + (nth >> halves), at_level + ((end + halves) >> halves)):
                any_reached |= (levels[j] & 15 >= lowest) | (levels[j] >> 4 >= lowest)
        else:
            for j in range(at_level + nth, at_level + end):
                any_reached |= levels[j] >= lowest
        if any_reached:
            while bits:
                level = _level(levels, at_level, nth, halves)
                if level >= uint64(lowest):
                    r = (w << uint64(6)) + lowest_bit(bits)
                    out[n], bounds[r] = uint32(r), uint16(1) + _in_units(shares[level], per_unit)
                    n += uint64(1)
                bits &= bits - uint64(1)
                nth += uint64(1)
        nth = end
    return n, floor


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def bound_of(score: Any, empty_doc_score: Any, unit: Any) -> Any:
    """The minimum bound of a block whose entities may reach a score; at least 1."""
    if score == -math.inf:
        return uint16(1)
    return uint16(min(max(math.floor((score - empty_doc_score) / unit), 0.0) + 1.0, 65535.0))


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def block_max_gains(
    t: Any, blocks: Any, n: Any, members: Any, levels: Any, term_bounds: Any, bound_row: Any, rare_members: Any,
    blocks_before: Any, level_gains: Any, rare_begins: Any, rare_gains: Any, out: Any, sets: Any,
) -> None:  # fmt: skip
    """Fills out[:n] with the maximum gain of a term in n blocks, -1 where a block lacks it, and sets[:n], elsewhere,
    with its fields and entities (`layout.FIELD_SETS`).
    """
    if bound_row[t] >= 0:
        row, begin = term_bounds[bound_row[t], 0], uint64(term_bounds[bound_row[t], 1])
        of_sets, halves = uint64(term_bounds[bound_row[t], 2]), uint64(term_bounds[bound_row[t], 4])
        for j in range(uint64(n)):
            w, b = uint64(blocks[j]) >> uint64(6), uint64(blocks[j]) & uint64(63)
            bits = members[row, w]
            nth = uint64(blocks_before[t, w]) + popcount(bits & ((uint64(1) << b) - uint64(1)))
            if (bits >> b) & uint64(1):
                out[j] = level_gains[t, _level(levels, begin, nth, halves)]
                sets[j] = levels[of_sets + nth]
            else:
                out[j] = -1.0
        return
    row, begin = -1 - bound_row[t], uint64(rare_begins[-1 - bound_row[t]])
    for j in range(uint64(n)):
        w, b = uint64(blocks[j]) >> uint64(6), uint64(blocks[j]) & uint64(63)
        bits = rare_members[row, w]
        if (bits >> b) & uint64(1):
            sets[j] = uint8(255)
            out[j] = rare_gains[begin + uint64(blocks_before[t, w]) + popcount(bits & ((uint64(1) << b) - uint64(1)))]
        else:
            out[j] = -1.0
