"""Min-max normalisation: a score from 0, the lowest that survives, to 1, the highest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from hybridkg.interfaces.fusion import ENDS, FusedList
from hybridkg.interfaces.text_index import Scores


class MinMax:
    """(score - lowest) / (highest - lowest); 1 where all are equal, and 0 where the score is absent.

    Of 1, 2 and 5 the second has 1/4.
    """

    several: ClassVar = False
    arguments: ClassVar[Mapping[str, float]] = {}
    reads: ClassVar = frozenset({ENDS})

    def values(self, lists: Sequence[FusedList], arguments: Mapping[str, float]) -> Scores:
        (one,) = lists
        return between(one, one.spread.low, one.floored)


def between(one: FusedList, low: float, scores: Scores) -> Scores:
    """float64[n]: scores (of the list, or substitutes for absent ones) scaled from `low`, 0, to the highest one, 1.

    `low` is a lower bound of the surviving scores.
    """
    high = one.spread.high
    if low == high:
        return one.present.astype(np.float64)
    scaled: Scores = (scores - low) / (high - low)
    return scaled
