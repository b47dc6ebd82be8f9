"""Compiled dot products. Import it through `hybridkg.compute.kernels` only: importing compiles it.

tests/vector/index/test_similarity.py compares it with its numpy reference (similarity.py): no fastmath, no other order
of addition.
"""

from __future__ import annotations

from typing import Any

from numba import float32, float64, int64, njit, void
from numba.core.types import Array

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}


def _input(dtype: Any, dimensions: int = 1) -> Any:
    return Array(dtype, dimensions, "C", readonly=True)


@njit(float64(_input(float32, 2), int64, _input(float32)), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def _one(vectors: Any, row: Any, query: Any) -> Any:
    a = b = c = d = e = f = g = h = 0.0
    for i in range(0, vectors.shape[1], 8):
        a += float64(vectors[row, i]) * float64(query[i])
        b += float64(vectors[row, i + 1]) * float64(query[i + 1])
        c += float64(vectors[row, i + 2]) * float64(query[i + 2])
        d += float64(vectors[row, i + 3]) * float64(query[i + 3])
        e += float64(vectors[row, i + 4]) * float64(query[i + 4])
        f += float64(vectors[row, i + 5]) * float64(query[i + 5])
        g += float64(vectors[row, i + 6]) * float64(query[i + 6])
        h += float64(vectors[row, i + 7]) * float64(query[i + 7])
    return a + b + c + d + e + f + g + h


@njit(void(_input(float32, 2), _input(float32), float64[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def every(vectors: Any, query: Any, products: Any) -> None:
    for row in range(len(vectors)):
        products[row] = _one(vectors, row, query)


@njit(void(_input(float32, 2), _input(int64), _input(float32), float64[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def some(vectors: Any, places: Any, query: Any, products: Any) -> None:
    for i in range(len(places)):
        products[i] = _one(vectors, places[i], query)
