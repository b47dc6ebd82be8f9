"""Truncated singular value decomposition of a sparse matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MIN_WEIGHT = 1e-5
"""Minimum singular value relative to the largest: float32's rounding of a product of zero."""

OVERSAMPLING = 16
"""Additional directions; 5 to 10 suffice in most cases (Halko, Martinsson, Tropp 2011, section 4.2)."""

ROUNDS = 2
"""Power iterations, which separate directions of nearly equal weight; two to four suffice (section 9.3)."""


def right_singular_vectors(matrix: csr_array, rank: int, seed: int) -> NDArray[np.float32]:
    """Truncated SVD: the directions in which the rows of a matrix differ most.

    Randomised subspace iteration (Halko, Martinsson, Tropp: Finding structure with randomness, SIAM Review 53, 2011,
    algorithms 4.4 and 5.1), with the sign of each direction chosen so that its largest component is positive.

    Args:
        matrix: float32[n, m].
        rank: maximum number of directions.
        seed: of the random start.

    Returns:
        float32[m, r] with orthonormal columns, by descending singular value; r = min(rank, n, m), or fewer where the
        matrix has a lower rank.

    >>> import scipy.sparse
    >>> directions = right_singular_vectors(scipy.sparse.csr_array(np.array([[3.0, 4.0]], np.float32)), 5, 0)
    >>> [round(float(number), 2) for number in directions[:, 0]]
    [0.6, 0.8]
    """
    n, m = matrix.shape
    width = min(rank + OVERSAMPLING, n, m)
    start = np.random.default_rng(seed).standard_normal((m, width), dtype=np.float32)
    basis = _orthonormal(matrix @ start)
    transposed = matrix.T.tocsr()
    for _ in range(ROUNDS):
        basis = _orthonormal(matrix @ _orthonormal(transposed @ basis))
    directions = _directions(transposed @ basis, rank)
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])]
    return np.asarray(directions * np.where(largest < 0, -1.0, 1.0), np.float32)


def _orthonormal(columns: NDArray[Any]) -> NDArray[np.float32]:
    """Orthonormal basis of the same span; two passes, because one leaves the error of the Gram matrix."""
    for _ in range(2):
        columns = _directions(columns, columns.shape[1])
    return np.asarray(columns, np.float32)


def _directions(columns: NDArray[Any], limit: int) -> NDArray[np.float64]:
    """Left singular vectors of a tall matrix, the largest first, without those below MIN_WEIGHT.

    By the Gram matrix: LAPACK's QR takes some twenty times as long (4.5 s a call for 25,000 x 272).
    """
    tall = columns.astype(np.float64)
    squares, turned = np.linalg.eigh(tall.T @ tall)
    weights = np.sqrt(np.maximum(squares[::-1], 0.0))
    nonzero = int(np.count_nonzero(weights > weights[0] * MIN_WEIGHT)) if len(weights) and weights[0] > 0 else 0
    count = min(limit, nonzero)
    vectors: NDArray[np.float64] = tall @ (turned[:, ::-1][:, :count] / weights[:count])
    return vectors
