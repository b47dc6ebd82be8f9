"""Judged lists of a run: for each topic the grades in rank order, computed once for all measures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run

UNJUDGED = np.iinfo(np.int64).min
"""The grade of an unjudged document; below every grade, so it is never relevant."""

Grades = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True)
class JudgedLists:
    """The rankings of a run as grades."""

    qrels: Qrels
    run: Run

    @cached_property
    def ranked(self) -> dict[str, Grades]:
        """Grades of each topic of the qrels in rank order, int64[retrieved]; UNJUDGED without a grade."""
        ranked: dict[str, Grades] = {}
        for topic, grades in self.qrels.grades.items():
            ranking = self.run.rankings.get(topic, ())
            get = grades.get
            ranked[topic] = np.fromiter((get(d, UNJUDGED) for d, _ in ranking), np.int64, len(ranking))
        return ranked

    @cached_property
    def known(self) -> dict[str, Grades]:
        """All grades of each topic of the qrels, int64[judged], highest first."""
        return {
            topic: np.sort(np.fromiter(grades.values(), np.int64, len(grades)))[::-1]
            for topic, grades in self.qrels.grades.items()
        }

    @cached_property
    def condensed(self) -> JudgedLists:
        """The lists without unjudged documents."""
        rankings = {
            topic: tuple(pair for pair in ranking if pair[0] in grades)
            for topic, ranking in self.run.rankings.items()
            if (grades := self.qrels.grades.get(topic)) is not None
        }
        return JudgedLists(self.qrels, Run(self.run.name, rankings))

    def relevant(self, topic: str, level: int) -> int:
        """Number of documents of the topic with at least this grade, retrieved or not."""
        return int(np.count_nonzero(self.known[topic] >= level))


@dataclass(frozen=True)
class ListMeasure:
    """A measure of the grades in rank order.

    Args:
        name: canonical name.
        k: cut-off; None for the whole list.
        rel: minimum relevant grade.
    """

    name: str
    k: int | None = None
    rel: int = 1

    def of(self, lists: JudgedLists) -> dict[str, float]:
        """Value of every topic of the qrels, in their order."""
        ranked = lists.ranked.items()
        return {topic: float(self.value(grades[: self.k], lists, topic)) for topic, grades in ranked}

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        """Value of one topic from `grades`, those of its ranking down to the cut-off."""
        raise NotImplementedError

    def per_topic(self, qrels: Qrels, run: Run) -> dict[str, float]:
        return self.of(JudgedLists(qrels, run))
