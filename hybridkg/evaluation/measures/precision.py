"""How much of what is retrieved is relevant, and how much of what is relevant is retrieved; as in trec_eval.

P@k divides by k also where fewer are retrieved. Average precision at a cut-off divides by all relevant documents,
not by those that would fit (trec_eval's map_cut).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridkg.evaluation.measures.lists import Grades, JudgedLists, ListMeasure


@dataclass(frozen=True)
class Precision(ListMeasure):
    """Share of the first k that is relevant."""

    cutoff: ClassVar[str] = "required"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "share of {first} that is relevant"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        """Relevant among the first k, over k."""
        assert self.k is not None
        return np.count_nonzero(grades >= self.rel) / self.k


@dataclass(frozen=True)
class Recall(ListMeasure):
    """Share of the relevant documents that is among the first k; of the whole list without k."""

    cutoff: ClassVar[str] = "optional"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "share of the relevant documents that is among {first}"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        """Relevant among the first k, over all relevant; 0 where there are none."""
        relevant = lists.relevant(topic, self.rel)
        return np.count_nonzero(grades >= self.rel) / relevant if relevant else 0.0


@dataclass(frozen=True)
class AveragePrecision(ListMeasure):
    """Mean over the relevant documents of the precision where each is found; 0 for one that is not."""

    cutoff: ClassVar[str] = "optional"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = (
        "mean over all relevant documents of the precision at the rank of each; 0 for one that is not among {first}"
    )

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        """Sum of the precisions at the relevant ranks up to k, over all relevant; 0 where there are none."""
        relevant = lists.relevant(topic, self.rel)
        (places,) = np.nonzero(grades >= self.rel)
        if not len(places):
            return 0.0
        return float((np.arange(1, len(places) + 1) / (places + 1)).sum()) / relevant


@dataclass(frozen=True)
class RPrecision(ListMeasure):
    """Share of the first R that is relevant, where R is the number of relevant documents of the topic."""

    cutoff: ClassVar[str] = "none"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "share of the first R that is relevant, where R documents are"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        """Relevant among the first R, over R; 0 where there are none."""
        relevant = lists.relevant(topic, self.rel)
        return np.count_nonzero(grades[:relevant] >= self.rel) / relevant if relevant else 0.0
