"""The compiled search of 8-bit codes. Import it through `hybridkg.compute.kernels` only: importing it compiles it.

tests/vector/index/test_codes.py compares its bounds with the similarities. Sums of whole numbers are exact in any order, so
the compiler may use all the lanes there are.
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
    least: Any, proposed: Any, most: Any,
) -> Any:  # fmt: skip
    """Rows that may be among the best, by what their similarity is at least and at most.

    Args:
        codes: int8[rows, columns], of the vectors.
        scales: float32[rows], what a code of 1 means.
        errors: float32[rows], no less than the length of what the codes leave out of a vector.
        places: the rows that take part; empty for the first n.
        n: how many take part.
        query: int16[columns], small enough that no sum of products overflows.
        scale: what a number of the query means.
        weight: how much the similarity may be off for each unit of the row's error.
        room: how much it may be off beside that.
        least: float64[k], all -inf: gets the k greatest lower bounds, as a heap.
        proposed: int64[n], gets the places (of `places`, or rows) proposed.
        most: float64[n], gets their upper bounds.

    Returns:
        How many are proposed; those whose upper bound is below least[0] are not among the best.
    """
    k, found, some = len(least), 0, len(places) > 0
    for i in range(n):
        row = places[i] if some else i
        about = _product(codes, row, query) * (scale * scales[row])
        off = errors[row] * weight + room
        high = max(about + off, -1.0)  # similarities are cut off there
        if high < least[0]:
            continue
        proposed[found], most[found] = i, high
        found += 1
        low = min(about - off, 1.0)
        if low > least[0]:
            at = 0
            while 2 * at + 1 < k:
                child = 2 * at + 1
                if child + 1 < k and least[child + 1] < least[child]:
                    child += 1
                if least[child] >= low:
                    break
                least[at] = least[child]
                at = child
            least[at] = low
    return found


@njit([void(
    _input(int8, 2), _input(float32), _input(float32), _input(int64), _input(int64), int64, _input(int16), float64,
    float64, float64, float64[::1], float64[::1],
)], **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def bounds(
    codes: Any, scales: Any, errors: Any, starts: Any, places: Any, best: Any, query: Any, scale: Any, weight: Any,
    room: Any, low: Any, high: Any,
) -> Any:  # fmt: skip
    """What the similarities of entities of several rows are at least and at most.

    Args:
        codes: int8[rows, columns], of the vectors.
        scales: float32[rows], what a code of 1 means.
        errors: float32[rows], no less than the length of what the codes leave out of a vector.
        starts: int64[entities + 1], where the rows of each begin, and the last ones end.
        places: the entities that take part; empty for the first ones.
        best: how many of its greatest an entity's similarity is the mean of; 0 for the sum of all.
        query: int16[columns], as of `propose`.
        scale: as of `propose`.
        weight: as of `propose`.
        room: as of `propose`.
        low: float64[entities that take part], gets the lower bounds.
        high: the same, gets the upper bounds.
    """
    some = len(places) > 0
    least, most = np.empty(max(best, 1)), np.empty(max(best, 1))
    for i in range(len(low)):
        entity = places[i] if some else i
        least[:] = -np.inf if best else 0.0
        most[:] = -np.inf if best else 0.0
        for row in range(starts[entity], starts[entity + 1]):
            about = _product(codes, row, query) * (scale * scales[row])
            off = errors[row] * weight + room
            below, above = min(about - off, 1.0), max(about + off, -1.0)  # similarities are cut off there
            if not best:
                least[0] += below
                most[0] += above
                continue
            for j in range(best):
                if below > least[j]:
                    below, least[j] = least[j], below
                if above > most[j]:
                    above, most[j] = most[j], above
        count = min(max(best, 1), starts[entity + 1] - starts[entity])
        low[i], high[i] = least[:count].sum() / count, most[:count].sum() / count
