"""Compiled search of 8-bit codes. Import it through `hybridkg.compute.kernels` only: importing compiles it.

tests/vector/index/test_codes.py compares its bounds with the similarities. Integer sums are exact in any order, so the
compiler may vectorise them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32, float64, int8, int16, int32, int64, njit, void
from numba.core.types import Array

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}


def _input(dtype: Any, dimensions: int = 1) -> Any:
    return Array(dtype, dimensions, "C", readonly=True)


@njit(int32(_input(int8, 2), int64, _input(int16)), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def _product(codes: Any, row: Any, query: Any) -> Any:
    total = int32(0)
    for i in range(codes.shape[1]):
        total += int32(codes[row, i]) * int32(query[i])
    return total


@njit([int64(
    _input(int8, 2), _input(float32), _input(float32), _input(int64), int64, _input(int16), float64, float64, float64,
    float64[::1], int64[::1], float64[::1],
)], **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def propose(
    codes: Any, scales: Any, errors: Any, places: Any, n: Any, query: Any, scale: Any, weight: Any, room: Any,
    lower: Any, proposed: Any, upper: Any,
) -> Any:  # fmt: skip
    """Propose rows that may be in the top-k, by lower and upper bounds of their similarities.

    Args:
        codes: int8[rows, columns].
        scales: float32[rows], the value of a code of 1.
        errors: float32[rows], upper bounds of the lengths of the quantisation errors.
        places: candidate rows; empty for the first n.
        n: number of candidates.
        query: int16[columns], small enough that no sum of products overflows.
        scale: the value of a query code of 1.
        weight: error of the similarity for each unit of the row's error.
        room: constant part of that error.
        lower: float64[k], all -inf: gets the k greatest lower bounds, as a heap.
        proposed: int64[n], gets the indices proposed, into `places` or of rows.
        upper: float64[n], gets their upper bounds.

    Returns:
        The number proposed; those whose upper bound is below lower[0] are not in the top-k.
    """
    k, count, some = len(lower), 0, len(places) > 0
    for i in range(n):
        row = places[i] if some else i
        about = _product(codes, row, query) * (scale * scales[row])
        error = errors[row] * weight + room
        high = max(about + error, -1.0)  # similarities are clipped to -1..1
        if high < lower[0]:
            continue
        proposed[count], upper[count] = i, high
        count += 1
        low = min(about - error, 1.0)
        if low > lower[0]:
            at = 0
            while 2 * at + 1 < k:
                child = 2 * at + 1
                if child + 1 < k and lower[child + 1] < lower[child]:
                    child += 1
                if lower[child] >= low:
                    break
                lower[at] = lower[child]
                at = child
            lower[at] = low
    return count


@njit([void(
    _input(int8, 2), _input(float32), _input(float32), _input(int64), _input(int64), int64, _input(int16), float64,
    float64, float64, float64[::1], float64[::1],
)], **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def bounds(
    codes: Any, scales: Any, errors: Any, starts: Any, places: Any, best: Any, query: Any, scale: Any, weight: Any,
    room: Any, low: Any, high: Any,
) -> Any:  # fmt: skip
    """Lower and upper bounds of the similarities of entities with several rows; other arguments as of `propose`.

    Shapes: starts int64[entities + 1], the first row of each entity and the number of rows; places int64, the candidate
    entities, empty for the first ones; best, a value of BEST_OF; low and high float64[candidates], get the bounds.
    """
    some = len(places) > 0
    lower, upper = np.empty(max(best, 1)), np.empty(max(best, 1))
    for i in range(len(low)):
        entity = places[i] if some else i
        lower[:] = -np.inf if best else 0.0
        upper[:] = -np.inf if best else 0.0
        for row in range(starts[entity], starts[entity + 1]):
            about = _product(codes, row, query) * (scale * scales[row])
            error = errors[row] * weight + room
            below, above = min(about - error, 1.0), max(about + error, -1.0)  # similarities are clipped to -1..1
            if not best:
                lower[0] += below
                upper[0] += above
                continue
            for j in range(best):
                if below > lower[j]:
                    below, lower[j] = lower[j], below
                if above > upper[j]:
                    above, upper[j] = upper[j], above
        count = min(max(best, 1), starts[entity + 1] - starts[entity])
        low[i], high[i] = lower[:count].sum() / count, upper[:count].sum() / count
