"""A measure from the ranks of the judged entities alone: exactly what `evaluate` says of the whole run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ParameterError
from hybridkg.evaluation.measures import Condensed, Measure
from hybridkg.evaluation.measures.lists import UNJUDGED, JudgedLists, ListMeasure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.tuning.collection import JudgedTopic
from hybridkg.text.id_sets import union

Ranks = NDArray[np.int64]

MAX_CACHED = 1_000_000
"""Values by ranks that are remembered; most steps of a search change the ranks of few topics."""


class TopicValues:
    """The value of each topic, given ranks.

    Args:
        measure: of a ranked list: its value must follow from the grades in the order of the ranking.
        topics: gathered topics.
        qrels: all judgements, of documents outside the knowledge base too.
        depth: a ranking ends there.

    Raises:
        ParameterError: the measure needs more than ranks.
    """

    def __init__(self, measure: Measure, topics: Sequence[JudgedTopic], qrels: Qrels, depth: int):
        self._condensed = isinstance(measure, Condensed)
        inner = measure.inner if isinstance(measure, Condensed) else measure
        if not isinstance(inner, ListMeasure) or _otherwise(type(inner)):
            raise ParameterError(
                f"the measure {measure.name!r} cannot be tuned for: it looks at more than the grades of a ranking",
                hint="for example ndcg@10, map@100 or mrr",
            )
        self._measure = inner
        lists = JudgedLists(Qrels({t.topic: qrels.grades[t.topic] for t in topics}), Run("", {}))
        self._lists = lists.condensed if self._condensed else lists
        self._topics = topics
        matches = (len(union([p.ids for term in t.task.terms for p in term.postings])) for t in topics)
        self._sizes = [min(depth, n) for n in matches]
        self._known: dict[tuple[int, bytes], float] = {}
        self.cap = depth if self._condensed else min(depth, inner.k or depth)

    def value(self, place: int, ranks: Ranks) -> float:
        """The measure of one topic.

        Args:
            place: of the topic in `topics`.
            ranks: int64[judged], from 0; -1 where an entity is not ranked; from `cap` on they are all the same.
        """
        key = (place, ranks.tobytes())
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_CACHED:
                self._known.clear()
            known = self._known[key] = self._measured(place, ranks)
        return known

    def _measured(self, place: int, ranks: Ranks) -> float:
        topic, size = self._topics[place], min(self._sizes[place], self.cap)
        inside = (ranks >= 0) & (ranks < size)
        if self._condensed:
            grades = topic.grades[inside][np.argsort(ranks[inside])]
        else:
            grades = np.full(size, UNJUDGED, np.int64)
            grades[ranks[inside]] = topic.grades[inside]
        return float(self._measure.value(grades[: self._measure.k], self._lists, topic.topic))


def _otherwise(measure: type[ListMeasure]) -> bool:
    """Whether a measure is more than its `value`: one of ties, say, looks at the scores."""
    return (measure.of, measure.per_topic) != (ListMeasure.of, ListMeasure.per_topic)
