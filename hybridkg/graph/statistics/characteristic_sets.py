"""Characteristic sets: subjects grouped by their set of predicates.

The number of subjects with several predicates is the sum over the sets that contain them: exact, correlations included.
Source: Neumann and Moerkotte, "Characteristic Sets: Accurate Cardinality Estimation for RDF Queries with Multiple
Joins", ICDE 2011. Rare sets are merged into one remainder, which has bounds only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import Cardinality

MAX_CACHED = 1_000
"""Predicates in the cache of triples per set, 8 kB each."""

NOBODY = Cardinality(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Bound:
    """Upper bounds of a predicate over the whole graph.

    Args:
        subjects: on its distinct subjects.
        most: on its triples with one subject.
        once: counts each of its subjects once in `rows_with`, whatever the number of its triples.
    """

    subjects: float
    most: float
    once: bool = False


@dataclass(frozen=True)
class CharacteristicSet:
    """The subjects with exactly one set of predicates: their number, and their triples by place of the predicate in
    `CharacteristicSets.predicates`.
    """

    subjects: int
    triples: Mapping[int, int]


@dataclass(frozen=True)
class CharacteristicSets:
    """The most frequent characteristic sets, and the merged remainder.

    Args:
        predicates: IRIs of the sets, and the most frequent ones of the remainder; sorted.
        sets: most frequent first.
        others: subjects of the remainder.
        merged: sets in the remainder; None if they were too many to be counted.
        remainder: (subjects, triples) in the remainder by place of the predicate.
    """

    predicates: tuple[str, ...]
    sets: tuple[CharacteristicSet, ...]
    others: int
    merged: int | None
    remainder: Mapping[int, tuple[int, int]]

    def subjects_with(self, predicates: Mapping[str, Bound]) -> Cardinality:
        """The number of distinct subjects with all of one or more predicates; exact if there is no remainder."""
        inside, _ = self._with_all(predicates)
        listed, rest = float(self._subjects[inside].sum()), self._rest(predicates)
        return Cardinality(listed + rest.low, listed + rest.estimate, listed + rest.high)

    def rows_with(self, predicates: Mapping[str, Bound]) -> Cardinality:
        """The solutions of a star of predicates with a separate variable for each object."""
        inside, triples = self._with_all(predicates)
        subjects = self._subjects[inside]
        once = [bound.once for bound in predicates.values()]
        triples[once] = subjects
        means = triples / subjects
        # A subject has at most the triples that remain when all others have one.
        maxima = np.array([bound.most for bound in predicates.values()])
        limits = np.minimum(maxima[:, None], triples - subjects + 1)
        with np.errstate(over="ignore"):
            listed = Cardinality(
                float(triples.max(axis=0).sum()),
                float((subjects * means.prod(axis=0)).sum()),
                float((triples * limits.prod(axis=0) / limits).min(axis=0).sum()),
            )
        rest = self._rest_rows(predicates)
        low, estimate, high = listed.low + rest.low, listed.estimate + rest.estimate, listed.high + rest.high
        return Cardinality(low, min(max(estimate, low), high), high)

    def _rest(self, predicates: Mapping[str, Bound]) -> Cardinality:
        """The subjects of the remainder with all predicates; the estimate assumes independence."""
        if not self.others:
            return NOBODY
        high = estimate = float(self.others)
        low = high * (1 - len(predicates))
        for iri, bound in predicates.items():
            lower, upper = self._subjects_of(iri, bound)
            low += lower
            high = min(high, upper)
            estimate *= upper / self.others
        low = max(0.0, low)
        return Cardinality(low, min(max(estimate, low), high), high)

    def _rest_rows(self, predicates: Mapping[str, Bound]) -> Cardinality:
        rest = self._rest(predicates)
        if not rest.high:
            return NOBODY
        estimate, limits, highs = rest.estimate, [], []
        for iri, bound in predicates.items():
            _, subjects = self._subjects_of(iri, bound)
            place = self._places.get(iri)
            limit = 1.0 if bound.once else bound.most
            triples = subjects * limit if place is None or bound.once else self.remainder[place][1]
            estimate *= max(1.0, triples / subjects)
            limits.append(limit)
            highs.append(triples)
        product = prod(limits)
        high = min(triples * product / limit for triples, limit in zip(highs, limits, strict=True))
        return Cardinality(rest.low, min(max(estimate, rest.low), high), high)

    def _subjects_of(self, iri: str, bound: Bound) -> tuple[float, float]:
        """(lower, upper) bound on the subjects of the remainder with a predicate."""
        place = self._places.get(iri)
        if place is None:
            return 0.0, min(float(self.others), bound.subjects)
        exact = float(self.remainder.get(place, (0, 0))[0])
        return exact, exact

    def _with_all(self, predicates: Mapping[str, Bound]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The sets with all predicates, and float64[predicates, sets], the triples of each predicate in them."""
        triples = np.array([self._triples_of(iri) for iri in predicates])
        inside = np.flatnonzero((triples > 0).all(axis=0))
        return inside, triples[:, inside]

    def _triples_of(self, iri: str) -> NDArray[np.float64]:
        triples = self._triples.get(iri)
        if triples is None:
            place = self._places.get(iri, -1)
            triples = self._triples[iri] = np.array([one.triples.get(place, 0) for one in self.sets], np.float64)
            if len(self._triples) > MAX_CACHED:
                self._triples.clear()
        return triples

    @cached_property
    def _triples(self) -> dict[str, NDArray[np.float64]]:
        return {}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {iri: i for i, iri in enumerate(self.predicates)}

    @cached_property
    def _subjects(self) -> NDArray[np.float64]:
        return np.array([one.subjects for one in self.sets], np.float64)

    def to_json(self) -> dict[str, Any]:
        """JSON data; a predicate is its place in `predicates`."""
        return {
            "predicates": list(self.predicates),
            "sets": [[one.subjects, *_pairs(one.triples.items())] for one in self.sets],
            "others": {
                "subjects": self.others,
                "sets": self.merged,
                "predicates": [[place, *counts] for place, counts in sorted(self.remainder.items())],
            },
        }

    @classmethod
    def from_json(cls, value: Any) -> CharacteristicSets:
        """Parses the result of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: it is malformed.
        """
        predicates = tuple(str(iri) for iri in value["predicates"])
        sets = tuple(CharacteristicSet(whole(n, 1), {p: whole(t, 1) for p, t in pairs}) for n, *pairs in value["sets"])
        others = value["others"]
        remainder = {p: (whole(n, 1), whole(t, 1)) for p, n, t in others["predicates"]}
        if not {*remainder}.union(*(one.triples for one in sets)) <= {*range(len(predicates))}:
            raise ValueError("a set has a predicate that is not listed")
        merged = others["sets"]
        return cls(predicates, sets, whole(others["subjects"]), None if merged is None else whole(merged), remainder)


def whole(value: Any, least: int = 0) -> int:
    """A count from JSON data.

    Raises:
        ValueError: it is not an integer, or less than `least`.

    >>> whole(7)
    7
    """
    if type(value) is not int or not least <= value < 2**63:
        raise ValueError(f"{value!r} is not a whole number of at least {least}")
    return value


def _pairs(items: Any) -> list[list[int]]:
    return [list(pair) for pair in sorted(items)]


def by_subjects(sets: Sequence[CharacteristicSet]) -> list[CharacteristicSet]:
    """The sets by descending number of subjects, then by their triples."""
    return sorted(sets, key=lambda one: (-one.subjects, sorted(one.triples.items())))
