"""The merge and sort of runs, compiled. Import it through `hybridkg.compute.kernels` only: importing it compiles it.

`merging.merged_numpy` and `runs.sort_run_numpy` are the numpy references and give the same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, njit, uint32, void

from hybridkg.text.index.build.runs import NEXT_VALUE, VALUE_GAP
from hybridkg.text.index.codec.cursor_kernel import OPTIONS
from hybridkg.text.index.codec.cursor_kernel import readonly as _input

_NEXT_VALUE, _VALUE_GAP = NEXT_VALUE, VALUE_GAP

_MERGE = void(
    _input(int64), _input(int64), _input(int64), _input(uint32), _input(uint32), _input(uint32),
    int64[::1], int64[::1], uint32[::1], uint32[::1], uint32[::1],
)  # fmt: skip


@njit(_MERGE, **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def merge(
    lists: Any, widths: Any, occurrences: Any, ids: Any, tf: Any, positions: Any,
    df: Any, cf: Any, out_ids: Any, out_tf: Any, out_positions: Any,
) -> None:  # fmt: skip
    """Sums up `df` and `cf`, 0 before, and appends each piece to its list."""
    for e in range(len(lists)):
        df[lists[e]] += widths[e]
        cf[lists[e]] += occurrences[e]
    next_posting = np.empty(len(df), np.int64)
    next_token = np.empty(len(df), np.int64)
    p = t = 0
    for i in range(len(df)):
        next_posting[i], next_token[i] = p, t
        p += df[i]
        t += cf[i]
    p = t = 0
    for e in range(len(lists)):
        i = lists[e]
        at = next_posting[i]
        for _ in range(widths[e]):
            out_ids[at], out_tf[at] = ids[p], tf[p]
            at += 1
            p += 1
        next_posting[i] = at
        at = next_token[i]
        for _ in range(occurrences[e]):
            out_positions[at] = positions[t]
            at += 1
            t += 1
        next_token[i] = at


_SORT = void(
    _input(uint32), _input(uint32), _input(uint32), uint32[:, ::1],
    uint32[::1], uint32[::1], uint32[::1], uint32[::1], uint32[::1], int64[::1], int64[::1],
)  # fmt: skip

_RADIX = 11
"""Bits of a term sorted in one pass; the ends of the buckets fit the cache."""


@njit(_SORT, **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def sort(
    tokens: Any, entities: Any, slots: Any, scratch: Any,
    terms: Any, df: Any, cf: Any, ids: Any, tf: Any, counts: Any, sizes: Any,
) -> None:  # fmt: skip
    """Sorts a chunk by radix, which is stable, and groups it into postings.

    `scratch` is uint32[6, n]; its row `sizes[3]` gets the positions. `counts` gets the tokens of each record, `sizes`
    the numbers of terms, postings and tokens.
    """
    n = 0
    slot = 0
    largest = uint32(0)
    for record in range(len(slots)):
        before = n
        position = uint32(0)
        for _ in range(slots[record]):
            token = tokens[slot]
            slot += 1
            if token < _NEXT_VALUE:
                scratch[0, n], scratch[1, n], scratch[2, n] = token, record, position
                largest = max(largest, token)
                n += 1
            position += uint32(_VALUE_GAP) if token == _NEXT_VALUE else uint32(1)
        counts[record] = n - before
    a, b = 0, 3
    shift = 0
    while largest >> shift:
        ends = np.zeros((1 << _RADIX) + 1, np.int64)
        for i in range(n):
            ends[((scratch[a, i] >> shift) & ((1 << _RADIX) - 1)) + 1] += 1
        for i in range(1 << _RADIX):
            ends[i + 1] += ends[i]
        for i in range(n):
            bucket = (scratch[a, i] >> shift) & ((1 << _RADIX) - 1)
            at = ends[bucket]
            ends[bucket] = at + 1
            scratch[b, at], scratch[b + 1, at], scratch[b + 2, at] = scratch[a, i], scratch[a + 1, i], scratch[a + 2, i]
        a, b = b, a
        shift += _RADIX
    t = p = -1
    for i in range(n):
        new_term = i == 0 or scratch[a, i] != scratch[a, i - 1]
        if new_term:
            t += 1
            terms[t], df[t], cf[t] = scratch[a, i], 0, 0
        if new_term or scratch[a + 1, i] != scratch[a + 1, i - 1]:
            p += 1
            ids[p], tf[p] = entities[scratch[a + 1, i]], 0
            df[t] += uint32(1)
        cf[t] += uint32(1)
        tf[p] += uint32(1)
    sizes[0], sizes[1], sizes[2], sizes[3] = t + 1, p + 1, n, a + 2
