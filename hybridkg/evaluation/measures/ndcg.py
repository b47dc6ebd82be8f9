"""NDCG: gain of the ranking, discounted by rank, as a share of the best that the judgements allow.

The gain is the grade itself and the discount log2(rank + 1), as in trec_eval's ndcg and ndcg_cut, and in the
published tables of DBpedia-Entity (not 2^grade - 1). The best list is made of all judged documents of the topic, cut
at k as well. A negative grade gains nothing.
Source: Jarvelin and Kekalainen, "Cumulated gain-based evaluation of IR techniques" (2002), as trec_eval restates it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridkg.evaluation.measures.lists import Grades, JudgedLists, ListMeasure


@dataclass(frozen=True)
class Ndcg(ListMeasure):
    """NDCG of the first k, or of the whole list.

    >>> from hybridkg.evaluation.qrels import Qrels
    >>> from hybridkg.evaluation.run import Run
    >>> run = Run("r", {"q": (("a", 3.0), ("b", 2.0))})
    >>> round(Ndcg("ndcg@2", 2).per_topic(Qrels({"q": {"b": 2}}), run)["q"], 4)
    0.6309
    """

    cutoff: ClassVar[str] = "optional"
    arguments: ClassVar[tuple[str, ...]] = ()
    about: ClassVar[str] = (
        "discounted cumulative gain of {first} over the best that the judgements allow; the gain is the "
        "grade, the discount log2(rank + 1), as in trec_eval"
    )

    def value(self, grades: Grades, lists: JudgedLists, topic: str) -> float:
        """DCG over the DCG of the best list; 0 without any relevant document."""
        best = _dcg(lists.known[topic][: self.k])
        return _dcg(grades) / best if best else 0.0


def _dcg(grades: Grades) -> float:
    (places,) = np.nonzero(grades > 0)
    return float((grades[places] / np.log2(places + 2)).sum())
