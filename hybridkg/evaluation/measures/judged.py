"""judged@k: how far the judgements reach into a run. Where it is low, the other measures say little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridkg.evaluation.measures.lists import UNJUDGED, Grades, JudgedLists, ListMeasure


@dataclass(frozen=True)
class Judged(ListMeasure):
    """Share of the first k that has a grade, whichever; of those that there are, where they are fewer than k.

    As Judged@k of ir-measures. A topic without an answer has 0.
    """

    cutoff: ClassVar[str] = "required"
    arguments: ClassVar[tuple[str, ...]] = ()
    about: ClassVar[str] = "share of {first} that was judged at all; where it is low, the other measures say little"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        """Judged among the first k, over their number."""
        return np.count_nonzero(grades != UNJUDGED) / len(grades) if len(grades) else 0.0
