"""8-bit codes of vectors: they propose who may be among the best, with a proof, and the vectors decide.

A vector x is s c + e: whole numbers c from -127 to 127, what a step means s, and what is left out e. A query v is
t q + f in the same way, with finer steps. So x v = s t (c q) + e v + s c f, and by Cauchy and Schwarz the last two are
at most |e| |v| + (|x| + |e|) |f|. The lengths |e| are stored, so that each row has its own bounds. The codes are a
quarter of the vectors, and a search reads little else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.interfaces.encoder import Vectors

KERNEL = LazyKernel("hybridkg.vector.index.codes_kernel")

LARGEST = 127
"""Of the codes of a vector."""

MAX_SUM = 2**31 - 1
"""Of the products of the codes of a vector and of a query."""

LENGTH_ERROR = 1e-3
"""How far a vector may be from length 1."""

ROUNDING = 1e-9
"""More than all roundings of float64 in a bound."""

NUMBERS_PER_POSTING = 200
"""Numbers of vectors that a BLAS multiplies in the time that numpy takes for one posting (kernels.PATIENCE)."""


@dataclass(frozen=True)
class Codes:
    """Of the rows of a matrix of vectors.

    Args:
        codes: int8[n, columns].
        scales: float32[n]: what a step means.
        errors: float32[n]: no less than the length of what is left out.
    """

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    errors: NDArray[np.float32]

    @property
    def nbytes(self) -> int:
        """Of all three."""
        return int(self.codes.nbytes + self.scales.nbytes + self.errors.nbytes)

    def fit(self, vectors: Vectors) -> bool:
        """Whether types and shapes are those of the codes of some vectors."""
        return (
            self.codes.shape == vectors.shape
            and self.scales.shape == self.errors.shape == vectors.shape[:1]
            and [self.codes.dtype.str, self.scales.dtype.str, self.errors.dtype.str] == ["|i1", "<f4", "<f4"]
        )


def coded(vectors: Vectors) -> Codes:
    """The codes of vectors of which none is all zeros.

    >>> found = coded(np.array([[1.0, -0.5, 0.0]], np.float32))
    >>> found.codes.tolist(), float(found.errors[0]) < 0.004
    ([[127, -64, 0]], True)
    """
    scales = (np.abs(vectors).max(axis=1) / np.float32(LARGEST)).astype(np.float32)
    wide = vectors.astype(np.float64)
    codes = np.clip(np.rint(wide / scales[:, None]), -LARGEST, LARGEST).astype(np.int8)
    left = np.linalg.norm(wide - codes * scales.astype(np.float64)[:, None], axis=1)
    return Codes(codes, scales, np.nextafter(left.astype(np.float32), np.float32(np.inf)))


def proposed(codes: Codes, places: NDArray[np.int64] | None, vector: Vectors, k: int) -> NDArray[np.int64] | None:
    """Indices of at least the best k: of `places`, or rows; None where no compiled kernel is at hand.

    Args:
        codes: of the vectors, whose lengths are 1 but for LENGTH_ERROR.
        places: the rows that take part; None for all.
        vector: float32[columns], of length 1.
        k: at least 1, at most as many as take part.
    """
    n, columns = len(codes.codes) if places is None else len(places), codes.codes.shape[1]
    kernel = KERNEL.for_work(n * columns // NUMBERS_PER_POSTING)
    if kernel is None:
        return None
    least, found, most = np.full(k, -np.inf), np.empty(n, np.int64), np.empty(n)
    count = kernel.propose(
        codes.codes, codes.scales, codes.errors, np.empty(0, np.int64) if places is None else places, n,
        *_coarse(vector), least, found, most,
    )  # fmt: skip
    best: NDArray[np.int64] = found[:count][most[:count] >= least[0]]
    return best


def proposed_in_pieces(
    codes: Codes, starts: NDArray[np.int64], places: NDArray[np.int64] | None, vector: Vectors, k: int, best: int
) -> NDArray[np.int64] | None:
    """The same of entities that have several rows: the bounds of an entity are the aggregates of those of its rows.

    Args:
        codes: of the vectors.
        starts: int64[entities + 1], the rows at which those of each entity begin, and how many there are.
        places: the entities that take part; None for all.
        vector: float32[columns], of length 1.
        k: at least 1, at most as many as take part.
        best: how many of its greatest similarities an entity's is the mean of; 0 for the sum of all.
    """
    n = len(starts) - 1 if places is None else len(places)
    rows = len(codes.codes) * n // (len(starts) - 1)
    kernel = KERNEL.for_work(rows * codes.codes.shape[1] // NUMBERS_PER_POSTING)
    if kernel is None:
        return None
    low, high = np.empty(n), np.empty(n)
    kernel.bounds(
        codes.codes, codes.scales, codes.errors, starts, np.empty(0, np.int64) if places is None else places, best,
        *_coarse(vector), low, high,
    )  # fmt: skip
    return np.flatnonzero(high >= np.partition(low, n - k)[n - k])


def _coarse(vector: Vectors) -> tuple[NDArray[np.int16], float, float, float]:
    """A query as the kernel reads it: its numbers, what one means, and two parts of what a bound leaves room for."""
    wide = vector.astype(np.float64)
    scale = float(np.abs(wide).max()) / min(2**15 - 1, MAX_SUM // (LARGEST * len(wide)))
    query = np.rint(wide / scale).astype(np.int16)
    rest = float(np.linalg.norm(wide - query * scale))
    return query, scale, float(np.linalg.norm(wide)) + rest, (1 + LENGTH_ERROR) * rest + ROUNDING
