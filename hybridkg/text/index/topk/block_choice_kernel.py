"""Choosing ranges of ids by their bounds. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint16, uint32, uint64

from hybridkg.text.index.codec.cursor_kernel import INLINE, OPTIONS

BUCKETS = 1_024
"""Classes of bounds, of which the highest are looked at first."""

SAMPLE = 29
"""One of so many ranges is counted, which need not be exact."""


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
def next_ranges(bounds: Any, r: Any, lower: Any, upper: Any, out: Any) -> Any:
    """Fills `out` with the ranges from r on that have a bound of lower..upper; returns how many, and where to go on."""
    n, most, end = uint64(0), uint64(len(out)), uint64(len(bounds))
    r, is_in = uint64(r), np.empty(64, np.uint8)
    eights = is_in.view(np.uint64)
    while r + uint64(64) <= end and n + uint64(64) <= most:
        some = False
        for d in range(uint64(64)):  # LLVM compares several at once
            inside = (bounds[r + d] >= lower) & (bounds[r + d] < upper)
            is_in[d] = inside
            some |= inside
        if some:
            for i in range(uint64(8)):
                if eights[i]:
                    for d in range(i << uint64(3), (i + uint64(1)) << uint64(3)):
                        out[n] = uint32(r + d)
                        n += uint64(is_in[d])
        r += uint64(64)
    if n and r + uint64(64) <= end:
        return n, r  # no room for all of the next ones
    while r < end and n < most:
        out[n] = uint32(r)
        n += uint64((bounds[r] >= lower) & (bounds[r] < upper))
        r += uint64(1)
    return n, r


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _shift_of(lower: Any, upper: Any) -> Any:
    """By how much bounds of lower..upper are shifted, so that they are BUCKETS at most."""
    shift = uint64(0)
    while (uint64(upper) - uint64(lower)) >> shift >= uint64(BUCKETS):
        shift += uint64(1)
    return shift


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _reached(counts: Any, shift: Any, lower: Any, otherwise: Any, wanted: Any) -> Any:
    """The bound from which on there are `wanted`."""
    found = 0
    for bucket in range(BUCKETS - 1, 0, -1):
        found += counts[bucket]
        if found >= wanted:
            return uint16(uint64(lower) + (uint64(bucket) << shift))
    return uint16(otherwise)


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def next_cut(bounds: Any, lower: Any, upper: Any, wanted: Any) -> Any:
    """A bound that about `wanted` of the ranges with one of lower..upper reach; 1 where there are not many more."""
    counts, shift, total = np.zeros(BUCKETS, np.int64), _shift_of(lower, upper), 0
    for r in range(uint64(0), uint64(len(bounds)), uint64(SAMPLE)):
        if lower <= bounds[r] < upper:
            counts[(uint64(bounds[r]) - uint64(lower)) >> shift] += SAMPLE
            total += SAMPLE
    return _reached(counts, shift, lower, 1, wanted) if total > 2 * wanted else uint16(1)


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def reached_in(listed: Any, bounds: Any, lower: Any, wanted: Any) -> Any:
    """A bound that `wanted` of some ranges reach, and few more; `lower`, which all reach, where these are fewer."""
    upper = lower
    for place in range(uint64(len(listed))):
        upper = max(upper, bounds[listed[place]])
    counts, shift = np.zeros(BUCKETS, np.int64), _shift_of(lower, upper)
    for place in range(uint64(len(listed))):
        counts[(uint64(bounds[listed[place]]) - uint64(lower)) >> shift] += 1
    return _reached(counts, shift, lower, lower, wanted) if len(listed) > wanted else lower
