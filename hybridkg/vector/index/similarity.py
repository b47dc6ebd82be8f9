"""Dot products in one order of addition, so that every strategy sees the same bits.

A product of two float32 is exact in float64. LANES partial sums, each over every LANES-th product from the left, are
added from left to right. The compiled kernel (similarity_kernel.py) uses the same order; a BLAS, whose order depends on
the machine and on the number of rows, only proposes candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.text_index import Scores

LANES = 8

AT_ONCE = 65_536
"""Numbers that the numpy reference converts at a time, to fit into the nearest caches."""

KERNEL = LazyKernel("hybridkg.vector.index.similarity_kernel")


def padded(dimensions: int) -> int:
    """Columns of stored vectors: the next multiple of LANES, at least one.

    >>> padded(384), padded(3), padded(0)
    (384, 8, 8)
    """
    return max(1, -(-dimensions // LANES)) * LANES


def similarities(vectors: Vectors, places: NDArray[np.int64] | None, query: Vectors) -> Scores:
    """Dot products of rows with a query, float64[m]; cosines, where all have length 1.

    Args:
        vectors: float32[n, d], d a multiple of LANES.
        places: int64[m], rows; None for all.
        query: float32[d].

    >>> similarities(np.eye(8, dtype=np.float32), None, np.arange(8, dtype=np.float32))[:3].tolist()
    [0.0, 1.0, 2.0]
    """
    n = len(vectors) if places is None else len(places)
    kernel = KERNEL.for_work(n * vectors.shape[1] // LANES)
    if kernel is not None:
        products = np.empty(n)
        if places is None:
            kernel.every(vectors, query, products)
        else:
            kernel.some(vectors, places, query, products)
        return products
    return similarities_numpy(vectors, places, query)


def similarities_numpy(vectors: Vectors, places: NDArray[np.int64] | None, query: Vectors) -> Scores:
    """Numpy reference of the kernel."""
    n = len(vectors) if places is None else len(places)
    products: NDArray[Any] = np.empty(n)
    wide = query.astype(np.float64).reshape(-1, LANES)
    step = max(1, AT_ONCE // vectors.shape[1])
    for begin in range(0, n, step):
        rows = vectors[begin : begin + step] if places is None else vectors[places[begin : begin + step]]
        lanes = np.zeros((len(rows), LANES))
        for i, part in enumerate(wide):
            lanes += rows[:, i * LANES : (i + 1) * LANES] * part
        total = lanes[:, 0]
        for lane in range(1, LANES):
            total = total + lanes[:, lane]
        products[begin : begin + step] = total
    return products
