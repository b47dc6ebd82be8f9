"""What the similarity of an entity is whose text has several vectors: one order of adding, so the same bits everywhere.

`mean3` is the mean of the three best chunks, as the baseline multi-ada-002 of STaRK has it (Wu et al. 2024), or of as
many as there are. `sum` is divided by the most vectors that an entity of the index has, one number for all: the order
is that of the sums, and similarities stay between -1 and 1. None of them falls when a similarity rises, so the
aggregates of bounds are bounds of the aggregates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.text_index import Scores

BEST_OF = {"max": 1, "mean3": 3, "sum": 0}
"""How many of the greatest similarities count; 0 for all."""


def aggregated(similarities: NDArray[Any], starts: NDArray[np.int64], best: int, most: int) -> Scores:
    """The similarities of entities.

    Args:
        similarities: float[rows], those of an entity one behind the other.
        starts: int64[n + 1], where those of each entity begin, and where the last ones end; all have some.
        best: a value of BEST_OF.
        most: rows of the entity of the index that has most.

    Returns:
        float64[n].

    >>> aggregated(np.array([0.5, 0.25, 1.0, -1.0]), np.array([0, 1, 4]), 1, 3).tolist()
    [0.5, 1.0]
    >>> aggregated(np.array([0.5, 0.0, 0.75, -0.75]), np.array([0, 1, 4]), 3, 3).tolist()
    [0.5, 0.0]
    """
    values = np.asarray(similarities, np.float64)
    begins, sizes = starts[:-1], np.diff(starts)
    if not len(sizes) or best == 1:
        return np.maximum.reduceat(values, begins) if len(sizes) else np.empty(0)
    entities = np.repeat(np.arange(len(sizes)), sizes)
    if not best:
        return np.asarray(np.bincount(entities, values, len(sizes)) / most)
    left, total = values.copy(), np.zeros(len(sizes))
    for _ in range(best):
        greatest = np.maximum.reduceat(left, begins)
        total += np.where(greatest > -np.inf, greatest, 0.0)
        places = np.flatnonzero(left == greatest[entities])
        first = np.diff(entities[places], prepend=-1) > 0
        left[places[first]] = -np.inf
    return np.asarray(total / np.minimum(sizes, best))
