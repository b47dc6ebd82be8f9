"""Bounds of scores in ranges of ids. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, int64, njit, uint8, uint16, uint32, uint64

from hybridkg.text.additive import SMALLEST
from hybridkg.text.embedded.packing_kernel import unpack_block
from hybridkg.text.embedded.peaks import SHIFT
from hybridkg.text.lists_kernel import BLOCK, OPTIONS, ROOM, how_many_bits, lowest_bit
from hybridkg.text.logarithm_kernel import log

GROUP = 16
"""Neighbouring ranges of which at most one counts among the highest, which need not be exactly those."""

BUCKETS = 64
"""Classes of bounds, of which the highest are looked at first."""

UNITS = 60_000
"""Of the largest bound that there can be; rounding adds one for each term, and there are at most 64."""

SAMPLE = 7
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
def fill_bounds(
    members: Any, levels: Any, where: Any, codes: Any, place: Any,
    gain: Any, k1: Any, background: Any, packed: Any, first: Any, at: Any, widths: Any,
    lists: Any, plain: Any, plain_tf: Any, lengths: Any, rows: Any, base: Any, slope: Any, coefficient: Any,
    begins: Any, others: Any, before: Any, steps: Any, own_at: Any, own_steps: Any, sums: Any, out: Any,
) -> Any:  # fmt: skip
    """Fills `out` with a bound for each range, and what tells the share of each term in it.

    What it takes:
        members ... codes: as `pruned_kernel.best`.
        place: int64[terms], the row of `where` of a term with peaks, and -1 - its row of `others` of another.
        background: float64[terms], the largest that it can be.
        lists ... coefficient: of the form.
        begins: int64[terms], the first list of each.
        others: uint64[rows, words], 0; gets the ranges that have a term without peaks.
        before: uint32[terms, words], gets how many ranges before those of a word of 64 have the term.
        steps: float64[terms, 16], gets what each level of a term with peaks does at most.
        own_at: int64[rows + 1], gets where those of a term without peaks begin in
        own_steps: float64[...], what each range with the term does at most.
        sums: float64[ranges], 0 before and after.
        out: uint16[ranges].

    Returns:
        (nothing, unit), floats: no score in a range is above nothing + unit * (its bound - 1). Numbers of two bytes are
        compared sixteen at a time.
    """
    n_terms, n_words, nothing, most, n_own = len(gain), uint64(before.shape[1]), 0.0, 0.0, 0
    absent, shares = np.empty(n_terms), np.empty((n_terms, 16))
    for t in range(n_terms):
        absent[t] = _share(0.0, gain[t], k1, background[t])
        if k1 == 0.0:
            nothing += absent[t]
        c, largest = place[t], 0.0
        if c >= 0:
            for level in range(16):
                share = _share(codes[c, level], gain[t], k1, background[t]) - absent[t]
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
            largest = _share(largest, gain[t], k1, background[t]) - absent[t]
            own_at[-c] = n_own
        most += largest
    unit = most / UNITS if most > 0.0 else 1.0
    out[:] = uint16(1)
    table = np.empty(16, np.uint16)
    for t in range(n_terms):
        c, nth = place[t], uint64(0)
        if c >= 0:
            for level in range(16):
                table[level] = uint16(math.ceil(shares[t, level] / unit))
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
                share = _share(x, gain[t], k1, background[t]) - absent[t]
                out[(w << uint64(6)) + lowest_bit(bits)] += uint16(math.ceil(share / unit))
                own_steps[nth] = _step(x, share, k1, background[t])
                bits &= bits - uint64(1)
                nth += uint64(1)
    return nothing, unit


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
def reached_by(bounds: Any, wanted: Any) -> Any:
    """What `wanted` ranges reach, or more: the smallest of so many highest, of each GROUP only the highest."""
    n, r = uint64(len(bounds)), uint64(0)
    best = np.zeros(min(wanted, len(bounds)), np.uint16)
    while r < n:
        least = best[0]
        if r & uint64(63) == uint64(0) and r + uint64(64) <= n:
            some = False
            for d in range(uint64(64)):  # LLVM compares several at once
                some |= bounds[r + d] > least
            if not some:
                r += uint64(64)
                continue
        one, stop = uint16(0), min(r + uint64(GROUP), n)
        while r < stop:
            one = max(one, bounds[r])
            r += uint64(1)
        if one > least:
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
    return max(best[0], uint16(1))


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
    width, total = (int64(upper) - int64(lower)) // BUCKETS + 1, 0
    for r in range(uint64(0), uint64(len(bounds)), uint64(SAMPLE)):
        if lower <= bounds[r] < upper:
            counts[(int64(bounds[r]) - int64(lower)) // width] += SAMPLE
            total += SAMPLE
    if total <= 2 * wanted:
        return uint16(1)
    reached = 0
    for bucket in range(BUCKETS - 1, 0, -1):
        reached += counts[bucket]
        if reached >= wanted:
            return uint16(int64(lower) + bucket * width)
    return uint16(1)
