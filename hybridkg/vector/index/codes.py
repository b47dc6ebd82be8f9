"""Scalar quantisation of vectors to 8-bit codes, whose score bounds propose the candidates of an exact top-k.

A vector x is s c + e: integers c from -127 to 127, a scale s, and an error e. A query v is t q + f in the same way,
with finer steps. So x v = s t (c q) + e v + s c f, and by Cauchy and Schwarz the last two are at most
|e| |v| + (|x| + |e|) |f|. The lengths |e| are stored, so each row has its own bounds. The codes are a quarter of the
vectors, and a search reads little else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.interfaces.encoder import Vectors

KERNEL = LazyKernel("hybridkg.vector.index.codes_kernel")

MAX_CODE = 127

MAX_SUM = 2**31 - 1
"""Maximum of a sum of products of the codes of a vector and of a query."""

LENGTH_ERROR = 1e-3
"""Maximum deviation of a vector from length 1."""

ROUNDING = 1e-9
"""Upper bound of all float64 roundings in a bound."""

NUMBERS_PER_POSTING = 200
"""Numbers of vectors that a BLAS multiplies in the time that numpy takes for one posting; scales `for_work`."""


@dataclass(frozen=True)
class Codes:
    """8-bit codes of the rows of a matrix of vectors.

    Args:
        codes: int8[n, columns].
        scales: float32[n]: the value of a step.
        errors: float32[n]: upper bounds of the lengths of the errors.
    """

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    errors: NDArray[np.float32]

    @property
    def nbytes(self) -> int:
        return int(self.codes.nbytes + self.scales.nbytes + self.errors.nbytes)

    def fit(self, vectors: Vectors) -> bool:
        """Whether types and shapes match the vectors."""
        return (
            self.codes.shape == vectors.shape
            and self.scales.shape == self.errors.shape == vectors.shape[:1]
            and [self.codes.dtype.str, self.scales.dtype.str, self.errors.dtype.str] == ["|i1", "<f4", "<f4"]
        )


def quantize(vectors: Vectors) -> Codes:
    """Codes of vectors, none of which is all zeros.

    >>> codes = quantize(np.array([[1.0, -0.5, 0.0]], np.float32))
    >>> codes.codes.tolist(), float(codes.errors[0]) < 0.004
    ([[127, -64, 0]], True)
    """
    scales = (np.abs(vectors).max(axis=1) / np.float32(MAX_CODE)).astype(np.float32)
    wide = vectors.astype(np.float64)
    codes = np.clip(np.rint(wide / scales[:, None]), -MAX_CODE, MAX_CODE).astype(np.int8)
    errors = np.linalg.norm(wide - codes * scales.astype(np.float64)[:, None], axis=1)
    return Codes(codes, scales, np.nextafter(errors.astype(np.float32), np.float32(np.inf)))


def propose_rows(codes: Codes, places: NDArray[np.int64] | None, vector: Vectors, k: int) -> NDArray[np.int64] | None:
    """Indices, into `places` or of rows, of a superset of the top-k; None where no compiled kernel is loaded.

    Args:
        codes: of vectors of length 1, up to LENGTH_ERROR.
        places: candidate rows; None for all.
        vector: float32[columns], of length 1.
        k: 1 to the number of candidates.
    """
    n, columns = len(codes.codes) if places is None else len(places), codes.codes.shape[1]
    kernel = KERNEL.for_work(n * columns // NUMBERS_PER_POSTING)
    if kernel is None:
        return None
    lower, proposed, upper = np.full(k, -np.inf), np.empty(n, np.int64), np.empty(n)
    count = kernel.propose(
        codes.codes, codes.scales, codes.errors, np.empty(0, np.int64) if places is None else places, n,
        *_coarse(vector), lower, proposed, upper,
    )  # fmt: skip
    best: NDArray[np.int64] = proposed[:count][upper[:count] >= lower[0]]
    return best


def propose_entities(
    codes: Codes, starts: NDArray[np.int64], places: NDArray[np.int64] | None, vector: Vectors, k: int, best: int
) -> NDArray[np.int64] | None:
    """As `propose_rows`, of entities with several rows, whose bounds are aggregates of the bounds of these.

    Args:
        codes: of the vectors.
        starts: int64[entities + 1], the first row of each entity, and the number of rows.
        places: candidate entities; None for all.
        vector: float32[columns], of length 1.
        k: 1 to the number of candidates.
        best: a value of BEST_OF.
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
    """Query codes int16[columns], their scale, and the error bounds per row error and constant."""
    wide = vector.astype(np.float64)
    scale = float(np.abs(wide).max()) / min(2**15 - 1, MAX_SUM // (MAX_CODE * len(wide)))
    query = np.rint(wide / scale).astype(np.int16)
    rest = float(np.linalg.norm(wide - query * scale))
    return query, scale, float(np.linalg.norm(wide)) + rest, (1 + LENGTH_ERROR) * rest + ROUNDING
