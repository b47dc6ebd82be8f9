"""RankSVM: linear weights learned from pairs of better and worse documents.

The loss is the squared hinge of Chapelle and Keerthi (Efficient algorithms for ranking with SVMs, 2010), averaged over
the pairs of a topic and then over topics, so that topics with many judgements do not count for more. It is smooth and
convex, so L-BFGS finds the one minimum, without a seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

COST = 100.0
"""Default weight of violated pairs against the length of the weights."""


def pairs_of(features: Floats, grades: NDArray[np.int64]) -> Floats:
    """Feature differences of better and worse candidates, float64[pairs, features].

    Args:
        features: float64[candidates, features].
        grades: int64[candidates].

    >>> pairs_of(np.array([[1.0], [0.25]]), np.array([0, 2])).tolist()
    [[-0.75]]
    """
    better, worse = np.nonzero(grades[:, None] > grades[None, :])
    differences: Floats = features[better] - features[worse]
    return differences


def rank_svm(pairs: Sequence[Floats], cost: float = COST) -> Floats:
    """The weights that minimise |w|^2 / 2 + cost * mean over topics of (mean over pairs d of max(0, 1 - w.d)^2).

    Args:
        pairs: for each topic float64[pairs, features], better minus worse; topics without pairs are ignored.
        cost: above 0.

    Returns:
        float64[features]; zeros without any pair.

    For one pair with one feature d = 1 and cost 1, w^2 / 2 + (1 - w)^2 has its minimum at w = 2/3.

    >>> rank_svm([np.array([[1.0]])], 1.0).round(6).tolist()
    [0.666667]
    """
    from scipy.optimize import minimize

    features = pairs[0].shape[1] if pairs else 0
    pairs = [own for own in pairs if len(own)]
    if not pairs:
        return np.zeros(features)
    together = np.concatenate(pairs)
    each = np.concatenate([np.full(len(own), cost / (len(own) * len(pairs))) for own in pairs])

    def loss(weights: Floats) -> tuple[float, Floats]:
        missing = np.maximum(0.0, 1.0 - together @ weights)
        weighted = each * missing
        return 0.5 * float(weights @ weights) + float(weighted @ missing), weights - 2.0 * (together.T @ weighted)

    start = np.zeros(together.shape[1])
    weights: Floats = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "ftol": 1e-12}).x
    return weights
