"""A run beside its judgements: for each topic the grades in the order of the ranking.

What every measure of a ranked list reads; made once for all measures of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run

UNJUDGED = np.iinfo(np.int64).min
"""The grade of a document that has none; below every grade, so it is never relevant."""

Grades = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True)
class JudgedLists:
    """The rankings of a run as grades."""

    qrels: Qrels
    run: Run

    @cached_property
    def ranked(self) -> dict[str, Grades]:
        """int64[retrieved] for each topic of the qrels, best first; UNJUDGED where the document has no grade."""
        found: dict[str, Grades] = {}
        for topic, grades in self.qrels.grades.items():
            ranking = self.run.rankings.get(topic, ())
            get = grades.get
            found[topic] = np.fromiter((get(d, UNJUDGED) for d, _ in ranking), np.int64, len(ranking))
        return found

    @cached_property
    def known(self) -> dict[str, Grades]:
        """int64[judged] for each topic of the qrels: all its grades, highest first."""
        return {
            topic: np.sort(np.fromiter(grades.values(), np.int64, len(grades)))[::-1]
            for topic, grades in self.qrels.grades.items()
        }

    @cached_property
    def condensed(self) -> JudgedLists:
        """The same without the unjudged documents."""
        rankings = {
            topic: tuple(pair for pair in ranking if pair[0] in grades)
            for topic, ranking in self.run.rankings.items()
            if (grades := self.qrels.grades.get(topic)) is not None
        }
        return JudgedLists(self.qrels, Run(self.run.name, rankings))

    def relevant(self, topic: str, level: int) -> int:
        """Documents of the topic with at least this grade, retrieved or not."""
        return int(np.count_nonzero(self.known[topic] >= level))

    def each(self, value: Callable[[str, Grades], float]) -> dict[str, float]:
        """`value(topic, grades in rank order)` for every topic, as Python floats."""
        return {topic: float(value(topic, grades)) for topic, grades in self.ranked.items()}


@dataclass(frozen=True)
class ListMeasure:
    """A measure that needs nothing but the grades in the order of the ranking.

    Args:
        name: the whole name.
        k: the cut-off; None for the whole list.
        rel: the lowest grade that is relevant.
    """

    name: str
    k: int | None = None
    rel: int = 1

    def of(self, lists: JudgedLists) -> dict[str, float]:
        """Value of every topic of the qrels, in their order."""
        return lists.each(lambda topic, grades: self.value(grades[: self.k], lists, topic))

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        """Value of one topic, from the grades of its ranking down to the cut-off."""
        raise NotImplementedError

    def per_topic(self, qrels: Qrels, run: Run) -> dict[str, float]:
        """Value of every topic of the qrels, in their order."""
        return self.of(JudgedLists(qrels, run))
