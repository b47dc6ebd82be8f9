"""The compiled BM25F kernel. Import it through `hybridkg.text.kernels` only: importing it compiles it.

Walks the postings in windows of entity ids, so its scratch memory fits the
cache however large the graph is. `score_numpy` in bm25f.py is its reference
and gives the same bits; so no fastmath, and no reordering of operations here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64, njit, uint32
from numba.core.types import Array

WINDOW = 8192
"""Entities per window: 17 bytes of scratch each, 136 KiB."""


def _input(dtype: Any, dimensions: int = 1) -> Any:
    return Array(dtype, dimensions, "C", readonly=True)


_SIGNATURE = int64(
    _input(uint32), _input(uint32), _input(int64), _input(uint32, 2), _input(int64),
    _input(float64), _input(float64), _input(float64), _input(float64), float64, uint32[::1], float64[::1],
)  # fmt: skip


@njit(_SIGNATURE, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def score(
    ids: Any, tf: Any, starts: Any, lengths: Any, rows: Any, weight: Any, b: Any, mean: Any, gain: Any,
    k1: Any, out_ids: Any, out_scores: Any,
) -> Any:  # fmt: skip
    """Fills `out_ids` (ascending) and `out_scores`, both as long as `ids`; returns how many it filled."""
    n_fields = len(rows)
    n_terms = len(gain)
    cursor = starts[:-1].copy()
    x = np.zeros(WINDOW, np.float64)
    total = np.zeros(WINDOW, np.float64)
    pending = np.zeros(WINDOW, np.uint8)
    matched = np.zeros(WINDOW, np.uint8)
    n_out = 0
    while True:
        low = int64(0xFFFFFFFF) + 1
        for i in range(n_terms * n_fields):
            if cursor[i] < starts[i + 1] and ids[cursor[i]] < low:
                low = int64(ids[cursor[i]])
        if low > 0xFFFFFFFF:
            return n_out
        high = low + WINDOW
        for term in range(n_terms):
            first = term * n_fields
            for field in range(n_fields):
                c = cursor[first + field]
                end = starts[first + field + 1]
                w, b_f, mean_f, row = weight[field], b[field], mean[field], rows[field]
                while c < end and ids[c] < high:
                    entity = int64(ids[c])
                    relative = (1.0 - b_f) + b_f * float64(lengths[row, entity]) / mean_f
                    x[entity - low] += w * float64(tf[c]) / relative
                    pending[entity - low] = 1
                    c += 1
            for field in range(n_fields):
                c = cursor[first + field]
                end = starts[first + field + 1]
                while c < end and ids[c] < high:
                    d = int64(ids[c]) - low
                    if pending[d]:
                        total[d] += gain[term] * x[d] / (k1 + x[d])
                        x[d] = 0.0
                        pending[d] = 0
                        matched[d] = 1
                    c += 1
                cursor[first + field] = c
        for d in range(WINDOW):
            if matched[d]:
                out_ids[n_out] = low + d
                out_scores[n_out] = total[d]
                n_out += 1
                total[d] = 0.0
                matched[d] = 0
