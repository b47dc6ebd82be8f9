"""Fusions of a text and a vector list with a share for each: as a user writes them, and over complete lists in arrays.

The arrays go through the same functions that RANK BY calls (hybridkg/ranking/fusion), so a share can be learned from
lists that are read once; benchmarks/vectors_quality.py compares the result with the query's own answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.fusion import FUSIONS, FusedList, Fusion
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.operators.rank_functions import spread
from hybridkg.operators.topk.survivor_scores import floor

MIN_TEXT, MIN_VECTOR = 0.0, -1.0
"""The theoretical minima of bm25f and of a cosine."""

GROUPS = {
    "everyone": "?x NEAR $text AS ?v OPTIONAL { ?x MATCH $text AS ?t }",
    "found by words": "?x MATCH $text AS ?t . ?x NEAR $text AS ?v",
}
"""What is ranked: everyone that has a vector, or of these whom the words find."""

NORMALISED = ("minmax", "tmm", "zscore")
RECIPROCAL = {"rrf": 60, "rrf(k=10)": 10}
BY_LENGTH = {"tmm by length": "tmm", "minmax by length": "minmax"}

SHARES = (0.0, 0.02, *(round(0.05 * n, 2) for n in range(1, 20)), 0.98, 1.0)
"""Of the text; the vectors have the rest. The ends are one list alone."""

LENGTHS = (10, 15, 20, 25, 30, 35, 40, 50, 60, 70, 80, 100, 150, 200)
"""Characters of a question at which both lists have the same weight; the vectors have more in a longer one."""

FAMILIES = dict.fromkeys((*NORMALISED, *RECIPROCAL), SHARES) | dict.fromkeys(BY_LENGTH, LENGTHS)
"""The numbers that each is tried with."""


@dataclass(frozen=True)
class Point:
    """A fusion with its number.

    Args:
        family: of FAMILIES.
        number: the share of the text, 0..1, or of those in BY_LENGTH the length of a question, in characters.
        group: of GROUPS.

    >>> Point("tmm", 0.3).rank_by, Point("rrf(k=10)", 0.3).rank_by
    ('0.3 * tmm(?t) + 0.7 * tmm(?v)', 'rrf(?t^0.3, ?v^0.7, k=10)')
    >>> Point("tmm by length", 35).rank_by
    'tmm(?t) + STRLEN($text) * tmm(?v) / 35'
    """

    family: str
    number: float
    group: str = "everyone"

    @property
    def rest(self) -> float:
        """The share of the vectors."""
        return round(1 - self.number, 2)

    @property
    def rank_by(self) -> str:
        """The expression."""
        if self.family in BY_LENGTH:
            name = BY_LENGTH[self.family]
            return f"{name}(?t) + STRLEN($text) * {name}(?v) / {self.number:g}"
        if self.family in RECIPROCAL:
            return f"rrf(?t^{self.number:g}, ?v^{self.rest:g}, k={RECIPROCAL[self.family]})"
        return f"{self.number:g} * {self.family}(?t) + {self.rest:g} * {self.family}(?v)"

    @property
    def query(self) -> str:
        """As a user writes it, with $text."""
        return f"SELECT ?x {{ {GROUPS[self.group]} }} RANK BY {self.rank_by}"

    @property
    def label(self) -> str:
        """For results."""
        return self.rank_by if self.group == "everyone" else f"{self.rank_by}, {self.group}"


FIXED = {
    "rrf(text, vectors)": Point("rrf", 0.5),
    "rrf(text^4, vectors)": Point("rrf", 0.8),
    "minmax(text) + minmax(vectors)": Point("minmax", 0.5),
    "zscore(text) + zscore(vectors)": Point("zscore", 0.5),
    "tmm(text) + tmm(vectors)": Point("tmm", 0.5),
    "tmm(text) + tmm(vectors), found by words": Point("tmm", 0.5, "found by words"),
    ".65 tmm(text) + .35 tmm(vectors)": Point("tmm", 0.65),
    ".35 tmm(text) + .65 tmm(vectors)": Point("tmm", 0.35),
    "tmm(text) + length / 35 tmm(vectors)": Point("tmm by length", 35),
    "minmax(text) + length / 70 minmax(vectors)": Point("minmax by length", 70),
}
"""What a user may write without having learned anything, by a name."""

DEFAULT = FIXED["tmm(text) + length / 35 tmm(vectors)"]
"""What docs/vectors.md recommends."""


@dataclass(frozen=True, eq=False)
class Lists:
    """Both lists of one topic, complete.

    Args:
        ids: uint32[n], ascending, which is the order of ties: who has a vector.
        text: float64[n]; NaN where the words find nothing.
        vector: float64[n].
        length: of the question, in characters.
    """

    ids: Ids
    text: Scores
    vector: Scores
    length: int

    @classmethod
    def of(cls, question: str, text: tuple[Ids, Scores], vector: tuple[Ids, Scores]) -> Lists:
        """From the complete relations, ids ascending.

        >>> a = np.array([1, 2], np.uint32), np.array([0.5, 2.0])
        >>> Lists.of("words", a, (np.array([0, 2], np.uint32), np.array([0.1, 0.2]))).text
        array([nan,  2.])
        """
        ids, scores = vector
        own = np.full(len(ids), np.nan)
        at = np.searchsorted(ids, text[0])
        there = at < len(ids)
        there[there] = ids[at[there]] == text[0][there]
        own[at[there]] = text[1][there]
        return cls(ids, own, scores, len(question))

    @cached_property
    def found(self) -> Lists:
        """Those alone whom the words find."""
        has = ~np.isnan(self.text)
        return Lists(self.ids[has], self.text[has], self.vector[has], self.length)

    @cached_property
    def fused(self) -> tuple[FusedList, FusedList]:
        """As the functions of RANK BY see them: (text, vector)."""
        return _list(self.text, MIN_TEXT), _list(self.vector, MIN_VECTOR)

    @cached_property
    def normalised(self) -> Mapping[str, tuple[Scores, Scores]]:
        """The values of each one-list function for the text and for the vectors."""
        text, vector = self.fused
        return {name: (_value(name, text), _value(name, vector)) for name in NORMALISED}

    def scores(self, point: Point) -> tuple[Ids, Scores]:
        """(uint32[n], float64[n]): who is ranked, and by what."""
        lists = self if point.group == "everyone" else self.found
        text, vector = lists.fused
        if point.family in BY_LENGTH:
            of_text, of_vector = lists.normalised[BY_LENGTH[point.family]]
            return lists.ids, of_text + self.length * of_vector / point.number
        if point.family in RECIPROCAL:
            weighted = (replace(text, weight=point.number), replace(vector, weight=point.rest))
            return lists.ids, _fusion("rrf").values(weighted, {"k": float(RECIPROCAL[point.family])})
        of_text, of_vector = lists.normalised[point.family]
        return lists.ids, point.number * of_text + point.rest * of_vector


def best(ids: Ids, scores: Scores, k: int) -> tuple[Ids, Scores]:
    """The best k, best first; of equal scores the lower id first; what has no score is not among them.

    >>> best(np.arange(4), np.array([1.0, 2.0, 1.0, np.nan]), 2)
    (array([1, 0]), array([2., 1.]))
    """
    has = ~np.isnan(scores)
    if not has.all():
        ids, scores = ids[has], scores[has]
    chosen: NDArray[np.int64] = np.arange(len(ids))
    if len(ids) > k:
        chosen = np.flatnonzero(scores >= np.partition(scores, len(ids) - k)[len(ids) - k])
    chosen = chosen[np.argsort(-scores[chosen], kind="stable")[:k]]
    return ids[chosen], scores[chosen]


def _list(scores: Scores, least: float) -> FusedList:
    has = ~np.isnan(scores)
    order = np.argsort(np.where(has, -scores, np.inf), kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    return FusedList(scores, np.where(has, scores, floor(scores)), ranks, spread(scores[has].tolist(), least))


def _value(name: str, one: FusedList) -> Scores:
    return _fusion(name).values((one,), {})


def _fusion(name: str) -> Fusion:
    make: Callable[[], Fusion] = FUSIONS.get(name)
    return make()
