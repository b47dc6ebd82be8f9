"""NDCG: discounted cumulative gain over that of the ideal ranking.

The gain is the grade and the discount log2(rank + 1), as in trec_eval's ndcg and ndcg_cut and the published tables of
DBpedia-Entity (not 2^grade - 1). The ideal ranking has all judged documents of the topic, cut at k. Negative grades
have gain 0.
Source: Jarvelin and Kekalainen, "Cumulated gain-based evaluation of IR techniques" (2002), in trec_eval's form.
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
        best = _dcg(lists.known[topic][: self.k])
        return _dcg(grades) / best if best else 0.0


def _dcg(grades: Grades) -> float:
    (places,) = np.nonzero(grades > 0)
    return float((grades[places] / np.log2(places + 2)).sum())
