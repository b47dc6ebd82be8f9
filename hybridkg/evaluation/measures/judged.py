"""judged@k: the share of judged documents at the top of a run; other measures mean little where it is low."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridkg.evaluation.measures.lists import UNJUDGED, Grades, JudgedLists, ListMeasure


@dataclass(frozen=True)
class Judged(ListMeasure):
    """Share of judged documents among the first k, or among all of a shorter ranking; as Judged@k of ir-measures."""

    cutoff: ClassVar[str] = "required"
    arguments: ClassVar[tuple[str, ...]] = ()
    about: ClassVar[str] = "share of {first} that was judged at all; where it is low, the other measures say little"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        return np.count_nonzero(grades != UNJUDGED) / len(grades) if len(grades) else 0.0
