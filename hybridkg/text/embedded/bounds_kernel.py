"""Bounds of scores in ranges of 8 ids. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32, float64, njit, uint32, uint64

from hybridkg.text.additive import SMALLEST
from hybridkg.text.embedded.packing_kernel import unpack_block
from hybridkg.text.lists_kernel import BLOCK, OPTIONS, ROOM, how_many_bits, lowest_bit
from hybridkg.text.logarithm_kernel import log

GROUP = 16
"""Neighbouring ranges of which at most one counts among the highest, which need not be exactly those."""

BUCKETS = 64
"""Classes of bounds, of which the highest are looked at first."""

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
def fill_bounds(
    members: Any, levels: Any, where: Any, codes: Any, place: Any,
    gain: Any, k1: Any, background: Any, packed: Any, first: Any, at: Any, widths: Any,
    lists: Any, plain: Any, plain_tf: Any, lengths: Any, rows: Any, base: Any, slope: Any, coefficient: Any,
    others: Any, before: Any, steps: Any, own_at: Any, own_steps: Any, sums: Any, out: Any,
) -> None:  # fmt: skip
    """Fills `out` with a bound for each range, and what tells the share of each term in it.

    What it takes:
        members ... codes: as `pruned_kernel.best`.
        place: int64[terms], the row of `where` of a term with peaks, and -1 - its row of `others` of another.
        background: float64[terms], the largest that it can be.
        lists ... coefficient: of the form.
        others: uint64[rows, words], 0; gets the ranges that have a term without peaks.
        before: uint32[terms, words], gets how many ranges before those of a word of 64 have the term.
        steps: float64[terms, 16], gets what each level of a term with peaks does at most.
        own_at: int64[rows], gets where those of a term without peaks begin in
        own_steps: float64[...], what each range with the term does at most.
        sums: float64[ranges], 0 before and after.
        out: float32[ranges].
    """
    nothing = 0.0
    table = np.empty(16, np.float32)
    done: Any = 0
    ids, tf = np.empty(ROOM, np.uint32), np.empty(ROOM, np.uint32)
    for t in range(len(gain)):
        if k1 == 0.0:
            nothing += _share(0.0, gain[t], k1, background[t])
    # Singles are added up from here: a little more than what that may cost.
    out[:] = np.float32(nothing + 1e-5 * (1.0 + abs(nothing)))
    n_words, i, n_own = uint64(others.shape[1]), 0, uint64(0)
    for t in range(len(gain)):
        absent, nth = _share(0.0, gain[t], k1, background[t]), uint64(0)
        if place[t] >= 0:
            c = place[t]
            for level in range(16):
                share = _share(codes[c, level], gain[t], k1, background[t]) - absent
                table[level], steps[t, level] = share, _step(codes[c, level], share, k1, background[t])
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
            while i < lists.shape[1] and lists[0, i] == t:
                i += 1
            continue
        row = -1 - place[t]
        own_at[row] = n_own
        while i < lists.shape[1] and lists[0, i] == t:
            f, block, start, size, done = lists[1, i], lists[2, i], lists[3, i], lists[4, i], 0
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
                    r = uint64(ids[j]) >> uint64(3)
                    x = c * float64(tf[j]) * (1.0 / (a + b * float64(length[ids[j]])))
                    if r != current:
                        sums[current] += largest
                        current, largest = r, 0.0
                    others[row, r >> uint64(6)] |= uint64(1) << (r & uint64(63))
                    largest = max(largest, x)
                done += np.int64(here)
            sums[current] += largest
        for w in range(n_words):
            before[t, w] = nth
            bits = others[row, w]
            while bits:
                r = (w << uint64(6)) + lowest_bit(bits)
                x = sums[r]
                sums[r] = 0.0
                share = _share(x, gain[t], k1, background[t]) - absent
                out[r] += np.float32(share)
                own_steps[n_own] = _step(x, share, k1, background[t])
                n_own += uint64(1)
                bits &= bits - uint64(1)
                nth += uint64(1)


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def steps_of(
    t: Any, ranges: Any, n: Any, members: Any, levels: Any, where: Any, place: Any, others: Any, before: Any,
    steps: Any, own_at: Any, own_steps: Any, out: Any,
) -> None:  # fmt: skip
    """Fills out[:n] with what a term does at most in some ranges; -1 where a range lacks it."""
    if place[t] >= 0:
        row, begin = where[place[t], 0], uint64(where[place[t], 1])
        for j in range(uint64(n)):
            w, b = uint64(ranges[j]) >> uint64(6), uint64(ranges[j]) & uint64(63)
            bits = members[row, w]
            nth = uint64(before[t, w]) + how_many_bits(bits & ((uint64(1) << b) - uint64(1)))
            if (bits >> b) & uint64(1):
                two = uint64(levels[begin + (nth >> uint64(1))])
                out[j] = steps[t, (two >> ((nth & uint64(1)) << uint64(2))) & uint64(15)]
            else:
                out[j] = -1.0
        return
    row, begin = -1 - place[t], uint64(own_at[-1 - place[t]])
    for j in range(uint64(n)):
        w, b = uint64(ranges[j]) >> uint64(6), uint64(ranges[j]) & uint64(63)
        bits = others[row, w]
        if (bits >> b) & uint64(1):
            out[j] = own_steps[begin + uint64(before[t, w]) + how_many_bits(bits & ((uint64(1) << b) - uint64(1)))]
        else:
            out[j] = -1.0


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def reached_by(bounds: Any, wanted: Any) -> Any:
    """What `wanted` ranges reach, or more: the smallest of so many highest, of each GROUP only the highest."""
    n = len(bounds)
    best = np.full(min(wanted, n), np.float32(-np.inf))
    for begin in range(0, n, GROUP):
        one = bounds[begin]
        if begin + GROUP <= n:
            for r in range(GROUP):  # LLVM compares several at once
                one = max(one, bounds[begin + r])
        else:
            for r in range(begin, n):
                one = max(one, bounds[r])
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
    """A bound that about `wanted` of the ranges with one of lower..upper reach; -inf where there are not many more."""
    counts = np.zeros(BUCKETS, np.int64)
    scale, total, end = float32(BUCKETS) / (upper - lower), 0, uint64(len(bounds))
    if not scale < float32(1e30):
        return float32(-np.inf)
    for r in range(uint64(0), end, uint64(SAMPLE)):
        if lower <= bounds[r] < upper:
            counts[min(BUCKETS - 1, int((bounds[r] - lower) * scale))] += SAMPLE
            total += SAMPLE
    if total <= 2 * wanted:
        return float32(-np.inf)
    reached = 0
    for bucket in range(BUCKETS - 1, 0, -1):
        reached += counts[bucket]
        if reached >= wanted:
            return lower + float32(bucket) / scale
    return float32(-np.inf)
