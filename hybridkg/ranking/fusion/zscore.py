"""Z-score normalisation: the deviation of a score from the mean of the survivors, in standard deviations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from hybridkg.interfaces.fusion import MOMENTS, FusedList
from hybridkg.interfaces.text_index import Scores


class ZScore:
    """(score - mean) / population deviation; 0 where all are equal.

    Of 1 and 3 the first has -1.
    """

    several: ClassVar = False
    arguments: ClassVar[Mapping[str, float]] = {}
    reads: ClassVar = frozenset({MOMENTS})

    def values(self, lists: Sequence[FusedList], arguments: Mapping[str, float]) -> Scores:
        (one,) = lists
        mean, deviation = one.spread.mean, one.spread.deviation
        return (one.floored - mean) / deviation if deviation else np.zeros(len(one.scores))
