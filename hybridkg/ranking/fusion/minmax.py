"""minmax: a score between 0, the lowest that survives, and 1, the highest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from hybridkg.interfaces.fusion import ENDS, FusedList
from hybridkg.interfaces.text_index import Scores


class MinMax:
    """(score - lowest) / (highest - lowest); where all are equal 1, and 0 where the score is absent.

    Of 1, 2 and 5 the second has 1/4.
    """

    several: ClassVar = False
    arguments: ClassVar[Mapping[str, float]] = {}
    reads: ClassVar = frozenset({ENDS})

    def values(self, lists: Sequence[FusedList], arguments: Mapping[str, float]) -> Scores:
        """As Fusion has it."""
        (one,) = lists
        return between(one, one.spread.low, one.floored)


def between(one: FusedList, low: float, scores: Scores) -> Scores:
    """Where scores are on the way from `low`, 0, to the highest surviving score, 1.

    Args:
        one: the list.
        low: no surviving score is below.
        scores: float64[n], those of the list, or what stands for absent ones.
    """
    high = one.spread.high
    if low == high:
        return one.present.astype(np.float64)
    found: Scores = (scores - low) / (high - low)
    return found
