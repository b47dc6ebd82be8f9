"""Measures of the first relevant document: reciprocal rank and success, as in trec_eval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridkg.evaluation.measures.lists import Grades, JudgedLists, ListMeasure


@dataclass(frozen=True)
class ReciprocalRank(ListMeasure):
    """Reciprocal rank (recip_rank): 1 / rank of the first relevant document; 0 without one among the first k."""

    cutoff: ClassVar[str] = "optional"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "1 / rank of the first relevant document of {first}"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        (places,) = np.nonzero(grades >= self.rel)
        return 1 / (int(places[0]) + 1) if len(places) else 0.0


@dataclass(frozen=True)
class HitAtK(ListMeasure):
    """Success: 1 if a relevant document is among the first k, else 0."""

    cutoff: ClassVar[str] = "required"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "1 where a relevant document is among {first}, else 0"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        return float(np.any(grades >= self.rel))
