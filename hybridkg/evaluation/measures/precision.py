"""Precision and recall, as in trec_eval.

P@k divides by k even if fewer documents are retrieved. Average precision at a cut-off divides by the number of relevant
documents, even above k (trec_eval's map_cut).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridkg.evaluation.measures.lists import Grades, JudgedLists, ListMeasure


@dataclass(frozen=True)
class Precision(ListMeasure):
    """Precision: share of relevant documents among the first k."""

    cutoff: ClassVar[str] = "required"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "share of {first} that is relevant"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        assert self.k is not None
        return np.count_nonzero(grades >= self.rel) / self.k


@dataclass(frozen=True)
class Recall(ListMeasure):
    """Recall: share of the relevant documents that is among the first k, or in the whole list; 0 without any."""

    cutoff: ClassVar[str] = "optional"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "share of the relevant documents that is among {first}"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        relevant = lists.relevant(topic, self.rel)
        return np.count_nonzero(grades >= self.rel) / relevant if relevant else 0.0


@dataclass(frozen=True)
class AveragePrecision(ListMeasure):
    """Average precision: mean over the relevant documents of the precision at their rank; 0 if not retrieved."""

    cutoff: ClassVar[str] = "optional"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = (
        "mean over all relevant documents of the precision at the rank of each; 0 for one that is not among {first}"
    )

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        relevant = lists.relevant(topic, self.rel)
        (places,) = np.nonzero(grades >= self.rel)
        if not len(places):
            return 0.0
        return float((np.arange(1, len(places) + 1) / (places + 1)).sum()) / relevant


@dataclass(frozen=True)
class RPrecision(ListMeasure):
    """R-precision: share of relevant documents among the first R, the number of relevant documents of the topic."""

    cutoff: ClassVar[str] = "none"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "share of the first R that is relevant, where R documents are"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        relevant = lists.relevant(topic, self.rel)
        return np.count_nonzero(grades[:relevant] >= self.rel) / relevant if relevant else 0.0
