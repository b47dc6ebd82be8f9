"""Aggregation of several vectors: the similarity of an entity from those of its pieces, in one order of addition.

`mean3` is the mean of the three best chunks (or of all, if fewer), as in the baseline multi-ada-002 of STaRK (Wu et al.
2024). `sum` is divided by the maximum number of vectors of an entity of the index, so similarities stay between -1 and
1 in the order of the sums. All are monotone, so the aggregates of bounds are bounds of the aggregates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.text_index import Scores

BEST_OF = {"max": 1, "mean3": 3, "sum": 0}
"""Number of the greatest similarities that count; 0 for all."""


def aggregate(similarities: NDArray[Any], starts: NDArray[np.int64], best: int, max_rows: int) -> Scores:
    """Similarities of entities from those of their rows.

    Args:
        similarities: float[rows], those of an entity in a row.
        starts: int64[n + 1], the first row of each entity, and the number of rows; each entity has some.
        best: a value of BEST_OF.
        max_rows: maximum number of rows of an entity of the index.

    Returns:
        float64[n].

    >>> aggregate(np.array([0.5, 0.25, 1.0, -1.0]), np.array([0, 1, 4]), 1, 3).tolist()
    [0.5, 1.0]
    >>> aggregate(np.array([0.5, 0.0, 0.75, -0.75]), np.array([0, 1, 4]), 3, 3).tolist()
    [0.5, 0.0]
    """
    values = np.asarray(similarities, np.float64)
    begins, sizes = starts[:-1], np.diff(starts)
    if not len(sizes) or best == 1:
        return np.maximum.reduceat(values, begins) if len(sizes) else np.empty(0)
    entities = np.repeat(np.arange(len(sizes)), sizes)
    if not best:
        return np.asarray(np.bincount(entities, values, len(sizes)) / max_rows)
    rest, total = values.copy(), np.zeros(len(sizes))
    for _ in range(best):
        greatest = np.maximum.reduceat(rest, begins)
        total += np.where(greatest > -np.inf, greatest, 0.0)
        places = np.flatnonzero(rest == greatest[entities])
        first = np.diff(entities[places], prepend=-1) > 0
        rest[places[first]] = -np.inf
    return np.asarray(total / np.minimum(sizes, best))
