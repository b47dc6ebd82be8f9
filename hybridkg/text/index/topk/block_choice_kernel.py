"""Choice of document blocks by their upper bounds. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint16, uint32, uint64

from hybridkg.text.index.codec.cursor_kernel import HELPER, INLINE

BUCKETS = 1_024
"""Histogram buckets of bounds."""

SAMPLE = 29
"""Sampling interval of the histogram, which need not be exact."""


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def next_listed(listed: Any, bounds: Any, i: Any, lower: Any, upper: Any, out: Any) -> Any:
    """`next_blocks` over a list of blocks."""
    n, capacity, i = uint64(0), uint64(len(out)), uint64(i)
    while i < uint64(len(listed)) and n < capacity:
        bound = bounds[listed[i]]
        out[n] = listed[i]
        n += uint64((bound >= lower) & (bound < upper))
        i += uint64(1)
    return n, i


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def next_blocks(bounds: Any, r: Any, lower: Any, upper: Any, out: Any) -> Any:
    """Fills `out` with the blocks from r on whose bound is in lower..upper; returns their number and the next r."""
    n, capacity, end = uint64(0), uint64(len(out)), uint64(len(bounds))
    r, is_in = uint64(r), np.empty(64, np.uint8)
    eights = is_in.view(np.uint64)
    while r + uint64(64) <= end and n + uint64(64) <= capacity:
        any_inside = False
        for d in range(uint64(64)):  # LLVM compares several at once
            inside = (bounds[r + d] >= lower) & (bounds[r + d] < upper)
            is_in[d] = inside
            any_inside |= inside
        if any_inside:
            for i in range(uint64(8)):
                if eights[i]:
                    for d in range(i << uint64(3), (i + uint64(1)) << uint64(3)):
                        out[n] = uint32(r + d)
                        n += uint64(is_in[d])
        r += uint64(64)
    if n and r + uint64(64) <= end:
        return n, r  # no room for all of the next ones
    while r < end and n < capacity:
        out[n] = uint32(r)
        n += uint64((bounds[r] >= lower) & (bounds[r] < upper))
        r += uint64(1)
    return n, r


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _shift_of(lower: Any, upper: Any) -> Any:
    """The right shift that maps bounds of lower..upper to BUCKETS."""
    shift = uint64(0)
    while (uint64(upper) - uint64(lower)) >> shift >= uint64(BUCKETS):
        shift += uint64(1)
    return shift


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _cut(counts: Any, shift: Any, lower: Any, default: Any, wanted: Any) -> Any:
    """The bound that at least `wanted` of the counted blocks reach."""
    reached = 0
    for bucket in range(BUCKETS - 1, 0, -1):
        reached += counts[bucket]
        if reached >= wanted:
            return uint16(uint64(lower) + (uint64(bucket) << shift))
    return uint16(default)


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def next_cut(bounds: Any, lower: Any, upper: Any, wanted: Any) -> Any:
    """A bound that about `wanted` of the blocks in lower..upper reach; 1 where there are not many more."""
    counts, shift, total = np.zeros(BUCKETS, np.int64), _shift_of(lower, upper), 0
    for r in range(uint64(0), uint64(len(bounds)), uint64(SAMPLE)):
        if lower <= bounds[r] < upper:
            counts[(uint64(bounds[r]) - uint64(lower)) >> shift] += SAMPLE
            total += SAMPLE
    return _cut(counts, shift, lower, 1, wanted) if total > 2 * wanted else uint16(1)


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def listed_cut(listed: Any, bounds: Any, lower: Any, wanted: Any) -> Any:
    """A bound that `wanted` of the listed blocks reach, and few more; `lower`, which all reach, for a shorter list."""
    upper = lower
    for j in range(uint64(len(listed))):
        upper = max(upper, bounds[listed[j]])
    counts, shift = np.zeros(BUCKETS, np.int64), _shift_of(lower, upper)
    for j in range(uint64(len(listed))):
        counts[(uint64(bounds[listed[j]]) - uint64(lower)) >> shift] += 1
    return _cut(counts, shift, lower, lower, wanted) if len(listed) > wanted else lower
