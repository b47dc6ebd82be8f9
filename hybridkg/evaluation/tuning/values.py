"""Measures from the ranks of the judged entities alone; the values equal those of `evaluate`."""

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
"""Maximum values in the cache by ranks; most steps of a search change the ranks of few topics."""


class TopicValues:
    """The value of a topic as a function of ranks.

    Args:
        measure: its value must follow from the grades in the order of the ranking.
        topics: gathered topics.
        qrels: all judgements, those of documents outside the knowledge base included.
        depth: maximum rows of a ranking.

    Raises:
        ParameterError: the measure needs more than ranks.
    """

    def __init__(self, measure: Measure, topics: Sequence[JudgedTopic], qrels: Qrels, depth: int):
        self._condensed = isinstance(measure, Condensed)
        inner = measure.inner if isinstance(measure, Condensed) else measure
        if not isinstance(inner, ListMeasure) or _overrides_lists(type(inner)):
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
        self._cache: dict[tuple[int, bytes], float] = {}
        self.cap = depth if self._condensed else min(depth, inner.k or depth)

    def value(self, place: int, ranks: Ranks) -> float:
        """The measure of one topic.

        Args:
            place: index of the topic in `topics`.
            ranks: int64[judged], from 0; -1 for an entity that is not ranked; ranks from `cap` on are equal.
        """
        key = (place, ranks.tobytes())
        value = self._cache.get(key)
        if value is None:
            if len(self._cache) >= MAX_CACHED:
                self._cache.clear()
            value = self._cache[key] = self._measured(place, ranks)
        return value

    def _measured(self, place: int, ranks: Ranks) -> float:
        topic, size = self._topics[place], min(self._sizes[place], self.cap)
        inside = (ranks >= 0) & (ranks < size)
        if self._condensed:
            grades = topic.grades[inside][np.argsort(ranks[inside])]
        else:
            grades = np.full(size, UNJUDGED, np.int64)
            grades[ranks[inside]] = topic.grades[inside]
        return float(self._measure.value(grades[: self._measure.k], self._lists, topic.topic))


def _overrides_lists(measure: type[ListMeasure]) -> bool:
    """Whether a measure uses more than `value`: those for ties use the scores."""
    return (measure.of, measure.per_topic) != (ListMeasure.of, ListMeasure.per_topic)
