"""The measures of G-RAG: means over all relevant documents of a topic, with variants for rankings with ties.

MRR is the mean over *all* relevant documents of 1 / rank, not of the first one only. MHits@k is the share of them among
the first k, with the maximum `mhits_ceiling@k` if there are more than k. A topic without relevant documents has 0.

The tied variants are for rankers with equal scores (language models that grade). Neighbours in the ranking with equal
scores form a group; for a group of size t with first rank r and n = r - 1 documents above it:

    MTRR       2 / (r + (r + t - 1))         the reciprocal of the mean rank of the group
    TMHits@k   0 if n >= k, else min(1, (k - n) / t)    the expected share of the group among the first k

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), completed: the paper
leaves n = k, groups that fit completely, and the first group undefined, and prints its indicator inverted. Without ties
(t = 1) both equal the plain measures. The reference implementation is in tests/evaluation/test_grag.py.
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
    """MRR of G-RAG: mean over the relevant documents of 1 / rank; 0 for one that is not retrieved.

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
        (places,) = np.nonzero(grades >= self.rel)
        return _share(1 / (places + 1), lists.relevant(topic, self.rel))


@dataclass(frozen=True)
class MeanHits(ListMeasure):
    """MHits@k: share of the relevant documents that is among the first k, equal to recall@k."""

    cutoff: ClassVar[str] = "required"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "share of the relevant documents that is among {first}"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        return _share((grades >= self.rel).astype(np.float64), lists.relevant(topic, self.rel))


@dataclass(frozen=True)
class MeanHitsCeiling(ListMeasure):
    """The maximum of MHits@k, min(relevant, k) / relevant, which depends on the judgements alone."""

    cutoff: ClassVar[str] = "required"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "the most that mhits@k can be"

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        assert self.k is not None
        relevant = lists.relevant(topic, self.rel)
        return min(relevant, self.k) / relevant if relevant else 0.0


@dataclass(frozen=True)
class _Tied(ListMeasure):
    reads_ties: ClassVar[bool] = True

    def of(self, lists: JudgedLists) -> dict[str, float]:
        values = {}
        for topic, grades in lists.ranked.items():
            ranking = lists.run.rankings.get(topic, ())
            first, size = groups(np.fromiter((score for _, score in ranking), np.float64, len(ranking)))
            (places,) = np.nonzero(grades >= self.rel)
            values[topic] = _share(self.contribution(first[places], size[places]), lists.relevant(topic, self.rel))
        return values

    def contribution(self, first: Floats, size: Floats) -> Floats:
        """The addend of each relevant document, from first rank and size of its group."""
        raise NotImplementedError


@dataclass(frozen=True)
class MeanTiedReciprocalRank(_Tied):
    """MTRR: grag_mrr with the mean rank of a document's group in place of its rank."""

    cutoff: ClassVar[str] = "none"
    arguments: ClassVar[tuple[str, ...]] = ("rel",)
    about: ClassVar[str] = "mean over all relevant documents of 1 / mean rank of those with the same score"

    def contribution(self, first: Floats, size: Floats) -> Floats:
        return 2 / (2 * first + size - 1)


@dataclass(frozen=True)
class TiedMeanHits(_Tied):
    """TMHits@k: mhits@k with the expected share of a document's group that is among the first k.

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
        assert self.k is not None
        return np.clip((self.k - (first - 1)) / size, 0, 1)


def groups(scores: Floats) -> tuple[Floats, Floats]:
    """First rank (from 1) and size of the group of equal neighbours, for each position of a ranking.

    >>> groups(np.array([3.0, 1.0, 1.0]))
    (array([1., 2., 2.]), array([1., 2., 2.]))
    """
    starts = np.flatnonzero(np.concatenate(([True], scores[1:] != scores[:-1]))) if len(scores) else np.arange(0)
    sizes = np.diff(np.append(starts, len(scores)))
    return np.repeat(starts + 1.0, sizes), np.repeat(sizes.astype(np.float64), sizes)


def _share(contributions: Floats, relevant: int) -> float:
    return float(contributions.sum()) / relevant if relevant else 0.0
