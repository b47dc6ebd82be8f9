"""Choosing ranges of ids by their bounds. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint16, uint32, uint64

from hybridkg.text.lists_kernel import OPTIONS

BUCKETS = 1_024
"""Classes of bounds, of which the highest are looked at first."""

SAMPLE = 29
"""One of so many ranges is counted, which need not be exact."""


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
