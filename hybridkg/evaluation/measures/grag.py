"""The measures of G-RAG: means over all relevant documents of a topic, and their forms for rankings with ties.

MRR is here the mean over *all* relevant documents of 1 / rank, not of the first one only, and MHits@k the share of
them among the first k, which is below 1 for every ranking where there are more than k: `mhits_ceiling@k` tells how
high it can be. A topic without relevant documents counts with 0.

The tied forms are for rankers that give equal scores (language models that grade). Neighbours in the ranking with
the same score are one group; for a group of size t whose first rank is r, n = r - 1 documents being above it:

    MTRR       2 / (r + (r + t - 1))         the reciprocal of the mean rank of the group
    TMHits@k   0 if n >= k, else min(1, (k - n) / t)    the expected share of the group among the first k

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), made total: the paper
leaves n = k, groups that fit wholly, and the first group undefined, and prints its indicator inverted. Without ties
(t = 1) both are the plain measures. tests/evaluation/test_grag.py repeats them one document at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.evaluation.measures.lists import Grades, JudgedLists, ListMeasure

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MeanReciprocalRankOfAll(ListMeasure):
    """Mean over the relevant documents of 1 / rank; 0 for one that is not retrieved.

    >>> from hybridkg.evaluation.qrels import Qrels
    >>> from hybridkg.evaluation.run import Run
    >>> run = Run("r", {"q": (("a", 3.0), ("b", 2.0), ("c", 1.0), ("d", 0.0))})
    >>> MeanReciprocalRankOfAll("grag_mrr").per_topic(Qrels({"q": {"b": 1, "d": 1}}), run)
    {'q': 0.375}
    """

    cutoff: ClassVar[str] = "none"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "mean over all relevant documents of 1 / rank"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        """Sum of 1 / rank, over all relevant; 0 where there are none."""
        (places,) = np.nonzero(grades >= self.rel)
        return _share(1 / (places + 1), lists.relevant(topic, self.rel))


@dataclass(frozen=True)
class MeanHits(ListMeasure):
    """Share of the relevant documents that is among the first k: MHits@k, the same number as recall@k."""

    cutoff: ClassVar[str] = "required"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "share of the relevant documents that is among {first}"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        """Relevant among the first k, over all relevant; 0 where there are none."""
        return _share((grades >= self.rel).astype(np.float64), lists.relevant(topic, self.rel))


@dataclass(frozen=True)
class MeanHitsCeiling(ListMeasure):
    """The most that MHits@k can be: min(relevant, k) / relevant. It depends on the judgements alone."""

    cutoff: ClassVar[str] = "required"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "the most that mhits@k can be"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        """min(relevant, k) / relevant; 0 where there are none."""
        assert self.k is not None
        relevant = lists.relevant(topic, self.rel)
        return min(relevant, self.k) / relevant if relevant else 0.0


@dataclass(frozen=True)
class _Tied(ListMeasure):
    """A measure that asks which documents share a score."""

    def of(self, lists: JudgedLists) -> dict[str, float]:
        """Value of every topic of the qrels, in their order."""
        found = {}
        for topic, grades in lists.ranked.items():
            ranking = lists.run.rankings.get(topic, ())
            first, size = groups(np.fromiter((score for _, score in ranking), np.float64, len(ranking)))
            (places,) = np.nonzero(grades >= self.rel)
            found[topic] = _share(self.contribution(first[places], size[places]), lists.relevant(topic, self.rel))
        return found

    def contribution(self, first: Floats, size: Floats) -> Floats:
        """What each relevant document adds, from the first rank of its group and the size of the group."""
        raise NotImplementedError


@dataclass(frozen=True)
class MeanTiedReciprocalRank(_Tied):
    """MTRR: as grag_mrr, with the mean rank of a document's group in place of its rank."""

    cutoff: ClassVar[str] = "none"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "mean over all relevant documents of 1 / mean rank of those with the same score"

    def contribution(self, first: Floats, size: Floats) -> Floats:
        """2 / (first rank + last rank)."""
        return 2 / (2 * first + size - 1)


@dataclass(frozen=True)
class TiedMeanHits(_Tied):
    """TMHits@k: as mhits@k, with the expected share of a document's group that is among the first k.

    >>> from hybridkg.evaluation.qrels import Qrels
    >>> from hybridkg.evaluation.run import Run
    >>> run = Run("r", {"q": (("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1.0))})
    >>> TiedMeanHits("tmhits@1", 1).per_topic(Qrels({"q": {"b": 1}}), run)
    {'q': 0.25}
    """

    cutoff: ClassVar[str] = "required"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = (
        "expected share of the relevant documents among {first}, where equal scores stand in any order"
    )

    def contribution(self, first: Floats, size: Floats) -> Floats:
        """(k - documents above) / size, between 0 and 1."""
        assert self.k is not None
        return np.clip((self.k - (first - 1)) / size, 0, 1)


def groups(scores: Floats) -> tuple[Floats, Floats]:
    """For each place of a ranking, the first rank (from 1) and the size of the group of equal neighbours it is in.

    >>> groups(np.array([3.0, 1.0, 1.0]))
    (array([1., 2., 2.]), array([1., 2., 2.]))
    """
    starts = np.flatnonzero(np.concatenate(([True], scores[1:] != scores[:-1]))) if len(scores) else np.arange(0)
    sizes = np.diff(np.append(starts, len(scores)))
    return np.repeat(starts + 1.0, sizes), np.repeat(sizes.astype(np.float64), sizes)


def _share(contributions: Floats, relevant: int) -> float:
    return float(contributions.sum()) / relevant if relevant else 0.0
