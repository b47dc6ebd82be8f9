"""Bounds of scores in ranges of ids. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, njit, uint8, uint16, uint32, uint64

from hybridkg.text.additive import SMALLEST
from hybridkg.text.embedded.packing_kernel import unpack_block
from hybridkg.text.embedded.peaks import SHIFT
from hybridkg.text.lists_kernel import BLOCK, INLINE, OPTIONS, ROOM, how_many_bits, lowest_bit
from hybridkg.text.logarithm_kernel import log

BUCKETS = 1_024
"""Classes of bounds, of which the highest are looked at first."""

UNITS = 60_000
"""Of the largest bound that there can be; rounding adds one for each term, and there are at most 64."""

LEAST_UNIT = 1e-250
"""Of weights that leave next to nothing: a score divided by it is a number."""

SAMPLE = 29
"""One of so many ranges is counted, which need not be exact."""


@njit(inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _share(x: Any, gain: Any, k1: Any, background: Any) -> Any:
    if k1 > 0.0:
        return gain * x / (k1 + x)
    return gain * log(max(x + background, SMALLEST))


@njit(inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _step(x: Any, share: Any, k1: Any, background: Any) -> Any:
    """What a bound of x does to what comes of all terms: it is added to sums, and multiplies products."""
    return share if k1 > 0.0 else 1.0 + x / max(background, SMALLEST)


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
                r = uint64(ids[j]) >> uint64(SHIFT)
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


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def weigh(
    codes: Any, place: Any, gain: Any, k1: Any, background: Any, packed: Any, first: Any, at: Any, widths: Any,
    lists: Any, plain: Any, plain_tf: Any, lengths: Any, rows: Any, base: Any, slope: Any, coefficient: Any,
    begins: Any, others: Any, before: Any, steps: Any, shares: Any, own_at: Any, own_steps: Any, sums: Any,
) -> Any:  # fmt: skip
    """Finds out what each term does at most, in general and, of those without peaks, in each range.

    What it takes:
        codes: as `pruned_kernel.best`.
        place: int64[terms], the row of `codes` of a term with peaks, and -1 - its row of `others` of another.
        background: float64[terms], the largest that it can be.
        packed ... coefficient: of the segment, the lists and the form.
        begins: int64[terms], the first list of each.
        others: uint64[rows, words], 0; gets the ranges that have a term without peaks.
        before: uint32[terms, words], gets how many ranges before those of a word of 64 have such a term.
        steps: float64[terms, 16], gets what each level of a term with peaks does at most.
        shares: float64[terms, 17], gets what it adds at most; behind it what the term would without occurrences.
        own_at: int64[rows + 1], gets where those of a term without peaks begin in
        own_steps: float64[...], the largest x of each range.
        sums: float64[ranges], 0 before and after.

    Returns:
        (nothing, unit), floats: no score in a range is above nothing + unit * (its bound - 1). Numbers of two bytes are
        compared sixteen at a time.
    """
    nothing, most, n_own = 0.0, 0.0, 0
    for t in range(len(gain)):
        absent = _share(0.0, gain[t], k1, background[t])
        shares[t, 16] = absent
        if k1 == 0.0:
            nothing += absent
        c, largest = place[t], 0.0
        if c >= 0:
            for level in range(16):
                share = _share(codes[c, level], gain[t], k1, background[t]) - absent
                shares[t, level], steps[t, level] = share, _step(codes[c, level], share, k1, background[t])
            largest = shares[t, 15]
        else:
            own_at[-1 - c] = n_own
            n_own = _fill_own(
                packed, first, at, widths, lists, plain, plain_tf, lengths, rows, base, slope, coefficient,
                others[-1 - c], before[t], t, begins[t], sums, own_steps, n_own,
            )  # fmt: skip
            for j in range(own_at[-1 - c], n_own):
                largest = max(largest, own_steps[j])
            largest = _share(largest, gain[t], k1, background[t]) - absent
            own_at[-c] = n_own
        most += largest
    return nothing, max(most / UNITS, LEAST_UNIT)


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _in_units(share: Any, per_unit: Any) -> Any:
    """So many units, and one more, as a division and rounding up would cost more than the rest."""
    return uint16(uint64(share * per_unit) + uint64(1))


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def fill_bounds(
    members: Any, levels: Any, where: Any, place: Any, gain: Any, k1: Any, background: Any, others: Any, before: Any,
    shares: Any, own_at: Any, own_steps: Any, unit: Any, out: Any,
) -> None:  # fmt: skip
    """Fills `out` with a bound for each range, and what tells the share of each term in it.

    What it takes:
        members, levels, where: as `pruned_kernel.best`.
        place ... shares, own_at: as `weigh`; `before` gets the ranges before each word for terms with peaks, too.
        own_steps: float64[...], the largest x of each range; gets what it does at most.
        unit: as `weigh` returned it.
        out: uint16[ranges].
    """
    n_words, per_unit = uint64(before.shape[1]), 1.0 / unit
    for r in range(uint64(len(out))):
        out[r] = uint16(1)
    table = np.empty(16, np.uint16)
    for t in range(len(gain)):
        c, nth = place[t], uint64(0)
        if c >= 0:
            for level in range(16):
                table[level] = _in_units(shares[t, level], per_unit)
            row, begin = where[c, 0], uint64(where[c, 1])
            for w in range(n_words):
                before[t, w] = nth
                bits = members[row, w]
                while bits:
                    two = uint64(levels[begin + (nth >> uint64(1))])
                    half = (nth & uint64(1)) << uint64(2)
                    out[(w << uint64(6)) + lowest_bit(bits)] += table[(two >> half) & uint64(15)]
                    bits &= bits - uint64(1)
                    nth += uint64(1)
            continue
        nth = uint64(own_at[-1 - c])
        for w in range(n_words):
            bits = others[-1 - c, w]
            while bits:
                x = own_steps[nth]
                share = _share(x, gain[t], k1, background[t]) - shares[t, 16]
                out[(w << uint64(6)) + lowest_bit(bits)] += _in_units(share, per_unit)
                own_steps[nth] = _step(x, share, k1, background[t])
                bits &= bits - uint64(1)
                nth += uint64(1)


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def list_highest(bounds: Any, lower: Any, out: Any) -> Any:
    """Fills `out` with the ranges that have a bound of at least `lower`; how many there are, 0 for too many."""
    n, most, end, r = uint64(0), uint64(len(out)), uint64(len(bounds)), uint64(0)
    while r < end:
        stop = min(r + uint64(64), end)
        if r + uint64(64) <= end:
            some = False
            for d in range(uint64(64)):  # LLVM compares several at once, where there are two conditions
                some |= (bounds[r + d] >= lower) & (bounds[r + d] < uint16(65535))
            if not some:
                r = stop
                continue
        if n + uint64(64) > most:
            return uint64(0)
        while r < stop:
            if bounds[r] >= lower:  # which is rare
                out[n] = uint32(r)
                n += uint64(1)
            r += uint64(1)
    return n


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def list_levels(
    members: Any, levels: Any, at_level: Any, shares: Any, unit: Any, wanted: Any, before: Any, bounds: Any, out: Any
) -> Any:  # fmt: skip
    """Lists the highest ranges of the only term, whose bounds are its levels: nothing else needs to be filled.

    What it takes:
        members: uint64[words], of the term.
        at_level: where its levels begin.
        shares: float64[17], of the term.
        wanted: ranges, at least; all of the same level are taken.
        before: uint32[words], as of `fill_bounds`.
        bounds: uint16[ranges], gets those of `out`.

    Returns:
        (how many there are, 0 for too many; a bound that no other range reaches).
    """
    n_words, nth, n, most, per_unit = uint64(len(members)), uint64(0), uint64(0), uint64(len(out)), 1.0 / unit
    pairs, counts = np.zeros(256, np.int64), np.zeros(16, np.int64)
    for w in range(n_words):
        before[w] = nth
        nth += how_many_bits(members[w])
    for j in range(at_level, at_level + (nth >> uint64(1))):
        pairs[levels[j]] += 1
    for pair in range(256):
        counts[pair & 15] += pairs[pair]
        counts[pair >> 4] += pairs[pair]
    if nth & uint64(1):
        counts[levels[at_level + (nth >> uint64(1))] & 15] += 1
    lowest, found = 15, counts[15]
    while lowest > 0 and found < wanted:
        lowest -= 1
        found += counts[lowest]
    if uint64(found) + uint64(1) > most:
        return uint64(0), uint16(1)
    floor = uint16(2) + _in_units(shares[lowest - 1], per_unit) if lowest > 0 else uint16(1)
    nth = uint64(0)
    for w in range(n_words):
        bits = members[w]
        end = nth + how_many_bits(bits)
        # Whether a level of the word is high enough: most words have none.
        some = False
        for j in range(at_level + (nth >> uint64(1)), at_level + ((end + uint64(1)) >> uint64(1))):
            some |= (levels[j] & 15 >= lowest) | (levels[j] >> 4 >= lowest)
        if some:
            while bits:
                half = (nth & uint64(1)) << uint64(2)
                level = (uint64(levels[at_level + (nth >> uint64(1))]) >> half) & uint64(15)
                if level >= uint64(lowest):
                    r = (w << uint64(6)) + lowest_bit(bits)
                    out[n], bounds[r] = uint32(r), uint16(1) + _in_units(shares[level], per_unit)
                    n += uint64(1)
                bits &= bits - uint64(1)
                nth += uint64(1)
        nth = end
    return n, floor


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def next_listed(listed: Any, bounds: Any, i: Any, lower: Any, upper: Any, out: Any) -> Any:
    """As `next_ranges`, of a list of ranges."""
    n, most, i = uint64(0), uint64(len(out)), uint64(i)
    while i < uint64(len(listed)) and n < most:
        bound = bounds[listed[i]]
        out[n] = listed[i]
        n += uint64((bound >= lower) & (bound < upper))
        i += uint64(1)
    return n, i


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def reached_in(listed: Any, bounds: Any, wanted: Any) -> Any:
    """What `wanted` of some ranges reach."""
    if wanted >= len(listed):
        return uint16(1)
    best = np.zeros(wanted, np.uint16)  # a heap, the least first
    for place in range(uint64(len(listed))):
        one = bounds[listed[place]]
        if one > best[0]:
            i = 0
            while True:
                child = 2 * i + 1
                if child >= len(best):
                    break
                if child + 1 < len(best) and best[child + 1] < best[child]:
                    child += 1
                if best[child] >= one:
                    break
                best[i] = best[child]
                i = child
            best[i] = one
    return best[0]


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
    that have it, as of `peaks.SETS`.
    """
    if place[t] >= 0:
        row, begin, of_sets = where[place[t], 0], uint64(where[place[t], 1]), uint64(where[place[t], 2])
        for j in range(uint64(n)):
            w, b = uint64(ranges[j]) >> uint64(6), uint64(ranges[j]) & uint64(63)
            bits = members[row, w]
            nth = uint64(before[t, w]) + how_many_bits(bits & ((uint64(1) << b) - uint64(1)))
            if (bits >> b) & uint64(1):
                two = uint64(levels[begin + (nth >> uint64(1))])
                half = (nth & uint64(1)) << uint64(2)
                out[j] = steps[t, (two >> half) & uint64(15)]
                sets[j] = uint8((uint64(levels[of_sets + (nth >> uint64(1))]) >> half) & uint64(15))
            else:
                out[j] = -1.0
        return
    row, begin = -1 - place[t], uint64(own_at[-1 - place[t]])
    for j in range(uint64(n)):
        w, b = uint64(ranges[j]) >> uint64(6), uint64(ranges[j]) & uint64(63)
        bits = others[row, w]
        if (bits >> b) & uint64(1):
            sets[j] = uint8(15)
            out[j] = own_steps[begin + uint64(before[t, w]) + how_many_bits(bits & ((uint64(1) << b) - uint64(1)))]
        else:
            out[j] = -1.0


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def next_ranges(bounds: Any, r: Any, lower: Any, upper: Any, out: Any) -> Any:
    """Fills `out` with the ranges from r on that have a bound of lower..upper; returns how many, and where to go on."""
    n, most, end = uint64(0), uint64(len(out)), uint64(len(bounds))
    r = uint64(r)
    while r < end and n < most:
        if r + uint64(64) <= end:
            some = False
            for d in range(uint64(64)):  # LLVM compares several at once
                some |= (bounds[r + d] >= lower) & (bounds[r + d] < upper)
            if not some:
                r += uint64(64)
                continue
        stop = min(r + uint64(64), end)
        while r < stop and n < most:
            out[n] = uint32(r)
            n += uint64((bounds[r] >= lower) & (bounds[r] < upper))
            r += uint64(1)
    return n, r


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def next_cut(bounds: Any, lower: Any, upper: Any, wanted: Any) -> Any:
    """A bound that about `wanted` of the ranges with one of lower..upper reach; 1 where there are not many more."""
    counts = np.zeros(BUCKETS, np.int64)
    shift, total = uint64(0), 0
    while (uint64(upper) - uint64(lower)) >> shift >= uint64(BUCKETS):
        shift += uint64(1)
    for r in range(uint64(0), uint64(len(bounds)), uint64(SAMPLE)):
        if lower <= bounds[r] < upper:
            counts[(uint64(bounds[r]) - uint64(lower)) >> shift] += SAMPLE
            total += SAMPLE
    if total <= 2 * wanted:
        return uint16(1)
    reached = 0
    for bucket in range(BUCKETS - 1, 0, -1):
        reached += counts[bucket]
        if reached >= wanted:
            return uint16(uint64(lower) + (uint64(bucket) << shift))
    return uint16(1)
