"""Bounds of scores in ranges of ids. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, njit, uint8, uint16, uint32, uint64

from hybridkg.text.index.codec.cursor_kernel import BLOCK, INLINE, OPTIONS, ROOM, how_many_bits, lowest_bit
from hybridkg.text.index.codec.packing_kernel import unpack_block
from hybridkg.text.index.layout import DOC_BLOCK_SHIFT
from hybridkg.text.index.topk.block_max import COARSE, FINE
from hybridkg.text.models.additive import SMALLEST
from hybridkg.text.models.logarithm_kernel import log

UNITS = 60_000
"""Of the largest bound that there can be; rounding adds one for each term, and there are at most 64."""

MIN_UNIT = 1e-250
"""Of weights that leave next to nothing: a score divided by it is a number."""


@njit(inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def share_of(x: Any, gain: Any, k1: Any, background: Any) -> Any:
    """What x adds to a score, where the background is all that it can be."""
    if k1 > 0.0:
        return gain * x / (k1 + x)
    return gain * log(max(x + background, SMALLEST))


@njit(inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _step(x: Any, share: Any, is_sum: Any, background: Any) -> Any:
    """What a bound of x does to what comes of all terms: it is added to sums, and multiplies products."""
    return share if is_sum else 1.0 + x / max(background, SMALLEST)


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def _fill_own(
    packed: Any, first: Any, at: Any, widths: Any, lists: Any, plain: Any, plain_tf: Any, lengths: Any, rows: Any,
    base: Any, slope: Any, coefficient: Any, members: Any, before: Any, t: Any, begin: Any, sums: Any, out: Any,
    n_own: Any,
) -> Any:  # fmt: skip
    """Puts what bounds x of a term in each range that has it, field by field, to out[n_own:]; returns where it ends.

    What it takes:
        begin: its first list.
        members: uint64[words], 0; gets the ranges.
        before: uint32[words], gets how many come before those of a word.
    """
    ids, tf = np.empty(ROOM, np.uint32), np.empty(ROOM, np.uint32)
    i, done = begin, np.int64(0)
    while i < lists.shape[1] and lists[0, i] == t:
        f, block, start, size, done = lists[1, i], lists[2, i], lists[3, i], lists[4, i], np.int64(0)
        i += 1
        length, c, a, b = lengths[rows[f]], coefficient[t, f], base[f], slope[f]
        current, largest = uint64(0), 0.0
        while done < size:
            here = uint64(min(BLOCK, size - done))
            if block < 0:
                for j in range(here):
                    posting = uint64(start + done) + uint64(j)
                    ids[j], tf[j] = plain[posting], plain_tf[posting]
            else:
                b_now = uint64(block + done // BLOCK)
                unpack_block(packed, first[b_now], uint64(at[b_now]), widths, b_now, here, ids, tf, uint64(0))
            for j in range(here):
                r = uint64(ids[j]) >> uint64(DOC_BLOCK_SHIFT)
                x = c * float64(tf[j]) * (1.0 / (a + b * float64(length[ids[j]])))
                if r != current:
                    sums[current] += largest
                    current, largest = r, 0.0
                members[r >> uint64(6)] |= uint64(1) << (r & uint64(63))
                largest = max(largest, x)
            done += np.int64(here)
        sums[current] += largest
    nth = uint64(0)
    for w in range(uint64(len(members))):
        before[w] = nth
        bits = members[w]
        while bits:
            r = (w << uint64(6)) + lowest_bit(bits)
            out[uint64(n_own) + nth] = sums[r]
            sums[r] = 0.0
            bits &= bits - uint64(1)
            nth += uint64(1)
    return n_own + np.int64(nth)


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _level(levels: Any, begin: Any, nth: Any, halves: Any) -> Any:
    """The nth number of some; halves: 1 where two are in a byte, 0 where one is."""
    both = uint64(levels[begin + (nth >> halves)])
    return (both >> ((nth & halves) << uint64(2))) & (uint64(255) >> (halves << uint64(2)))


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def term_upper_bounds(
    where: Any, codes: Any, factor: Any, place: Any, gain: Any, k1: Any, is_sum: Any, background: Any, packed: Any,
    first: Any, at: Any, widths: Any, lists: Any, plain: Any, plain_tf: Any, lengths: Any, rows: Any, base: Any,
    slope: Any, coefficient: Any, begins: Any, others: Any, before: Any, steps: Any, shares: Any, own_at: Any,
    own_steps: Any, sums: Any,
) -> Any:  # fmt: skip
    """Finds out what each term does at most, in general and, of those without peaks, in each range.

    What it takes:
        where, codes, factor: as `pruned_kernel.best`.
        place: int64[terms], the row of `where` of a term with peaks, and -1 - its row of `others` of another.
        is_sum: whether what terms do is added up, and not multiplied.
        background: float64[terms], the largest that it can be.
        packed ... coefficient: of the segment, the lists and the form.
        begins: int64[terms], the first list of each.
        others: uint64[rows, words], 0; gets the ranges that have a term without peaks.
        before: uint32[terms, words], gets how many ranges before those of a word of 64 have such a term.
        steps: float64[terms, FINE], gets what each level of a term with peaks does at most.
        shares: float64[terms, FINE + 1], gets what it adds at most; last what the term would without occurrences.
        own_at: int64[rows + 1], gets where those of a term without peaks begin in
        own_steps: float64[...], the largest x of each range.
        sums: float64[ranges], 0 before and after.

    Returns:
        (nothing, unit), floats: no score in a range is above nothing + unit * (its bound - 1). Numbers of two bytes are
        compared sixteen at a time.
    """
    nothing, most, n_own = 0.0, 0.0, 0
    for t in range(len(gain)):
        absent = share_of(0.0, gain[t], k1, background[t])
        shares[t, FINE] = absent
        if k1 == 0.0:
            nothing += absent
        c, largest = place[t], 0.0
        if c >= 0:
            n_levels = COARSE if where[c, 4] else FINE
            for level in range(n_levels):
                x = codes[where[c, 0], where[c, 3] + level] * factor[c]
                share = share_of(x, gain[t], k1, background[t]) - absent
                shares[t, level], steps[t, level] = share, _step(x, share, is_sum, background[t])
            largest = shares[t, n_levels - 1]
        else:
            own_at[-1 - c] = n_own
            n_own = _fill_own(
                packed, first, at, widths, lists, plain, plain_tf, lengths, rows, base, slope, coefficient,
                others[-1 - c], before[t], t, begins[t], sums, own_steps, n_own,
            )  # fmt: skip
            for j in range(own_at[-1 - c], n_own):
                largest = max(largest, own_steps[j])
            largest = share_of(largest, gain[t], k1, background[t]) - absent
            own_at[-c] = n_own
        most += largest
    return nothing, max(most / UNITS, MIN_UNIT)


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _in_units(share: Any, per_unit: Any) -> Any:
    """So many units, and one more, as a division and rounding up would cost more than the rest."""
    return uint16(uint64(share * per_unit) + uint64(1))


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def fill_bounds(
    members: Any, levels: Any, where: Any, place: Any, gain: Any, k1: Any, is_sum: Any, background: Any, others: Any,
    before: Any, shares: Any, own_at: Any, own_steps: Any, unit: Any, out: Any,
) -> None:  # fmt: skip
    """Fills `out` with a bound for each range, and what tells the share of each term in it.

    What it takes:
        members, levels, where: as `pruned_kernel.best`.
        place ... shares, own_at: as `term_upper_bounds`; `before` gets the ranges before each word for terms with peaks, too.
        own_steps: float64[...], the largest x of each range; gets what it does at most.
        unit: as `term_upper_bounds` returned it.
        out: uint16[ranges].
    """
    n_words, per_unit = uint64(before.shape[1]), 1.0 / unit
    for r in range(uint64(len(out))):
        out[r] = uint16(1)
    table = np.empty(FINE, np.uint16)
    for t in range(len(gain)):
        c, nth = place[t], uint64(0)
        if c >= 0:
            row, begin, halves = where[c, 0], uint64(where[c, 1]), uint64(where[c, 4])
            for level in range(COARSE if halves else FINE):
                table[level] = _in_units(shares[t, level], per_unit)
            for w in range(n_words):
                before[t, w] = nth
                bits = members[row, w]
                if halves:
                    while bits:
                        out[(w << uint64(6)) + lowest_bit(bits)] += table[_level(levels, begin, nth, uint64(1))]
                        bits &= bits - uint64(1)
                        nth += uint64(1)
                else:  # for itself, which saves a fifth of the time
                    while bits:
                        out[(w << uint64(6)) + lowest_bit(bits)] += table[levels[begin + nth]]
                        bits &= bits - uint64(1)
                        nth += uint64(1)
            continue
        nth = uint64(own_at[-1 - c])
        for w in range(n_words):
            bits = others[-1 - c, w]
            while bits:
                x = own_steps[nth]
                share = share_of(x, gain[t], k1, background[t]) - shares[t, FINE]
                out[(w << uint64(6)) + lowest_bit(bits)] += _in_units(share, per_unit)
                own_steps[nth] = _step(x, share, is_sum, background[t])
                bits &= bits - uint64(1)
                nth += uint64(1)


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def list_levels(
    members: Any, levels: Any, at_level: Any, halves: Any, shares: Any, unit: Any, wanted: Any, before: Any,
    bounds: Any, out: Any,
) -> Any:  # fmt: skip
    """Lists the highest ranges of the only term, whose bounds are its levels: nothing else needs to be filled.

    What it takes:
        members: uint64[words], of the term.
        at_level: where its levels begin.
        halves: as of `peaks.Bounding`.
        shares: float64[FINE + 1], of the term.
        wanted: ranges, at least; all of the same level are taken.
        before: uint32[words], as of `fill_bounds`.
        bounds: uint16[ranges], gets those of `out`.

    Returns:
        (how many there are, 0 for too many; a bound that no other range reaches; some that are listed may be below it).
    """
    n_words, nth, n, most, per_unit = uint64(len(members)), uint64(0), uint64(0), uint64(len(out)), 1.0 / unit
    counts = np.zeros(FINE, np.int64)
    for w in range(n_words):
        before[w] = nth
        nth += how_many_bits(members[w])
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
    found = counts[lowest]
    while lowest > 0 and found < wanted:
        lowest -= 1
        found += counts[lowest]
    if uint64(found) + uint64(1) > most:
        return uint64(0), uint16(1)
    # The largest share, as rounding may put that of a higher x a little below another's.
    below = 0.0
    for level in range(lowest):
        below = max(below, shares[level])
    floor = uint16(2) + _in_units(below, per_unit) if lowest > 0 else uint16(1)
    nth = uint64(0)
    for w in range(n_words):
        bits = members[w]
        end = nth + how_many_bits(bits)
        # Whether a level of the word is high enough: most words have none.
        some = False
        if halves:
            for j in range(at_level + (nth >> halves), at_level + ((end + halves) >> halves)):
                some |= (levels[j] & 15 >= lowest) | (levels[j] >> 4 >= lowest)
        else:
            for j in range(at_level + nth, at_level + end):
                some |= levels[j] >= lowest
        if some:
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


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def bound_of(score: Any, nothing: Any, unit: Any) -> Any:
    """The least bound of a range whose entities may reach a score; at least 1."""
    if score == -math.inf:
        return uint16(1)
    return uint16(min(max(math.floor((score - nothing) / unit), 0.0) + 1.0, 65535.0))


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def steps_of(
    t: Any, ranges: Any, n: Any, members: Any, levels: Any, where: Any, place: Any, others: Any, before: Any,
    steps: Any, own_at: Any, own_steps: Any, out: Any, sets: Any,
) -> None:  # fmt: skip
    """Fills out[:n] with what a term does at most in some ranges, -1 where a range lacks it; sets[:n] with the fields
    and entities that have it, as of `peaks.SETS`. The set of a range that lacks it is not filled: look at `out` first.
    """
    if place[t] >= 0:
        row, begin, of_sets = where[place[t], 0], uint64(where[place[t], 1]), uint64(where[place[t], 2])
        halves = uint64(where[place[t], 4])
        for j in range(uint64(n)):
            w, b = uint64(ranges[j]) >> uint64(6), uint64(ranges[j]) & uint64(63)
            bits = members[row, w]
            nth = uint64(before[t, w]) + how_many_bits(bits & ((uint64(1) << b) - uint64(1)))
            if (bits >> b) & uint64(1):
                out[j] = steps[t, _level(levels, begin, nth, halves)]
                sets[j] = levels[of_sets + nth]
            else:
                out[j] = -1.0
        return
    row, begin = -1 - place[t], uint64(own_at[-1 - place[t]])
    for j in range(uint64(n)):
        w, b = uint64(ranges[j]) >> uint64(6), uint64(ranges[j]) & uint64(63)
        bits = others[row, w]
        if (bits >> b) & uint64(1):
            sets[j] = uint8(255)
            out[j] = own_steps[begin + uint64(before[t, w]) + how_many_bits(bits & ((uint64(1) << b) - uint64(1)))]
        else:
            out[j] = -1.0
