"""Bounds of scores in ranges of 8 ids. Import it through `hybridkg.text.kernels` only: importing it compiles it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32, float64, int64, njit, uint8, uint32, uint64
from numba.core.types import Array

from hybridkg.text.additive import SMALLEST
from hybridkg.text.embedded.packing_kernel import unpack_block
from hybridkg.text.lists_kernel import BLOCK, LISTS, ROOM, SEGMENT, lowest_bit
from hybridkg.text.logarithm_kernel import log

GROUP = 16
"""Neighbouring ranges of which at most one counts among the highest, which need not be exactly those."""

_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}


def _input(dtype: Any, dimensions: int = 1) -> Any:
    return Array(dtype, dimensions, "C", readonly=True)


@njit(inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _share(x: Any, gain: Any, k1: Any, background: Any) -> Any:
    if k1 > 0.0:
        return gain * x / (k1 + x)
    return gain * log(max(x + background, SMALLEST))


@njit(
    float64(
        _input(uint64, 2), _input(uint8), _input(int64, 2), _input(float64, 2), _input(int64), _input(float64),
        float64, _input(float64),
        *SEGMENT, *LISTS, _input(uint32, 2), _input(int64), _input(float64), _input(float64), _input(float64, 2),
        int64, float32[::1],
    ),
    **_OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def ranges(
    members: Any, levels: Any, where: Any, codes: Any, common: Any, gain: Any, k1: Any, background: Any,
    packed: Any, first: Any, at: Any, widths: Any,
    lists: Any, plain: Any, plain_tf: Any,
    lengths: Any, rows: Any, base: Any, slope: Any, coefficient: Any, wanted: Any, out: Any,
) -> Any:  # fmt: skip
    """Fills `out` with a bound for each range.

    What it takes:
        members: uint64[terms with peaks, ranges / 64], which ranges have one.
        levels: uint8[...], of the peaks, two in a byte.
        where: int64[c, 2], of each common term its row of `members`, and where its levels begin.
        codes: float64[c, 16], x of each level.
        common: int64[c], their numbers in the form.
        gain, k1: of the form.
        background: float64[terms], the largest that it can be.
        packed ... plain_tf: the lists of the other terms, which are at most 64.
        lengths ... coefficient: of the form.
        wanted: how many ranges are to be looked at first; 0 where this is not asked.

    Returns:
        A bound that `wanted` ranges reach, or more.
    """
    term, field, block, start, size = lists[0], lists[1], lists[2], lists[3], lists[4]
    n = len(out)
    nothing = 0.0
    table = np.empty(16, np.float32)
    for t in range(len(gain)):
        if k1 == 0.0:
            nothing += _share(0.0, gain[t], k1, background[t])
    # Singles are added up from here: a little more than what that may cost.
    out[:] = np.float32(nothing + 1e-5 * (1.0 + abs(nothing)))
    for c in range(len(common)):
        t = common[c]
        absent = _share(0.0, gain[t], k1, background[t])
        for level in range(16):
            table[level] = _share(codes[c, level], gain[t], k1, background[t]) - absent
        row, begin, nth = where[c, 0], uint64(where[c, 1]), uint64(0)
        for w in range(uint64(members.shape[1])):
            bits = members[row, w]
            while bits:
                two = uint64(levels[begin + (nth >> uint64(1))])
                half = (nth & uint64(1)) << uint64(2)
                out[(w << uint64(6)) + lowest_bit(bits)] += table[(two >> half) & uint64(15)]
                bits &= bits - uint64(1)
                nth += uint64(1)
    if len(term):
        n_terms = len(gain)
        having, largest = np.zeros(n, np.uint64), np.zeros(n_terms)
        ids, tf = np.empty(ROOM, np.uint32), np.empty(ROOM, np.uint32)
        for i in range(len(term)):
            t, f, bit, done, peak = term[i], field[i], uint64(1) << uint64(term[i]), 0, 0.0
            length, c, a, b = lengths[rows[field[i]]], coefficient[t, f], base[f], slope[f]
            while done < size[i]:
                here = min(BLOCK, size[i] - done)
                if block[i] < 0:
                    for j in range(here):
                        ids[j], tf[j] = plain[start[i] + done + j], plain_tf[start[i] + done + j]
                else:
                    own = block[i] + done // BLOCK
                    unpack_block(packed, first[own], uint64(at[own]), widths, own, uint64(here), ids, tf, uint64(0))
                for j in range(here):
                    having[ids[j] >> 3] |= bit
                    peak = max(peak, c * float64(tf[j]) * (1.0 / (a + b * float64(length[ids[j]]))))
                done += here
            largest[t] += peak
        for t in range(n_terms):
            largest[t] = _share(largest[t], gain[t], k1, background[t]) - _share(0.0, gain[t], k1, background[t])
        for r in range(n):
            if having[r]:
                for t in range(n_terms):
                    if (having[r] >> uint64(t)) & uint64(1):
                        out[r] += np.float32(largest[t])
    # The smallest of the `wanted` highest, by a heap of them, of each GROUP only the highest.
    if wanted == 0:
        return 0.0
    best = np.full(min(wanted, n), np.float32(-np.inf))
    for begin in range(0, n, GROUP):
        one = out[begin]
        if begin + GROUP <= n:
            for r in range(GROUP):  # LLVM compares several at once
                one = max(one, out[begin + r])
        else:
            for r in range(begin, n):
                one = max(one, out[r])
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
    return float64(best[0])
