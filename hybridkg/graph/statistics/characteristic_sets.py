"""Characteristic sets: subjects grouped by the set of predicates that they have.

How many subjects have several predicates at once follows exactly from the groups, correlations included: add up those
whose set has all of them. Source: Neumann and Moerkotte, "Characteristic Sets: Accurate Cardinality Estimation for RDF
Queries with Multiple Joins", ICDE 2011. The rare sets are merged into one remainder, for which only bounds are known.
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
"""Predicates whose triples in each set are kept as an array, 8 kB each."""

NOBODY = Cardinality(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Bound:
    """What is known of a predicate in the whole graph.

    Args:
        subjects: no fewer than it has.
        most: no fewer than any of its subjects has triples of it.
        once: a subject that has it counts once in `rows_with`, however many triples it has.
    """

    subjects: float
    most: float
    once: bool = False


@dataclass(frozen=True)
class CharacteristicSet:
    """A set of predicates that some subjects have, and no others.

    Args:
        subjects: how many.
        triples: by place of a predicate in `CharacteristicSets.predicates`, the triples of these subjects.
    """

    subjects: int
    triples: Mapping[int, int]


@dataclass(frozen=True)
class CharacteristicSets:
    """The most frequent sets, and the sum of the others.

    Args:
        predicates: IRIs that occur in the sets, and the most frequent ones of the other sets; sorted.
        sets: most frequent first.
        others: subjects of all other sets.
        merged: how many sets these are; None where they were too many to be counted.
        remainder: by place of a predicate, how many of `others` have it, and their triples of it.
    """

    predicates: tuple[str, ...]
    sets: tuple[CharacteristicSet, ...]
    others: int
    merged: int | None
    remainder: Mapping[int, tuple[int, int]]

    def subjects_with(self, predicates: Mapping[str, Bound]) -> Cardinality:
        """How many distinct subjects have all of some predicates; exact where every set was kept.

        Args:
            predicates: at least one, and what is known of each.
        """
        inside, _ = self._with_all(predicates)
        known, rest = float(self._subjects[inside].sum()), self._rest(predicates)
        return Cardinality(known + rest.low, known + rest.estimate, known + rest.high)

    def rows_with(self, predicates: Mapping[str, Bound]) -> Cardinality:
        """How many solutions the star of some predicates has, each object a variable of its own.

        Args:
            predicates: as for `subjects_with`.
        """
        inside, triples = self._with_all(predicates)
        subjects = self._subjects[inside]
        once = [bound.once for bound in predicates.values()]
        triples[once] = subjects
        means = triples / subjects
        # No subject has more than what is left when all others have one.
        most = np.array([bound.most for bound in predicates.values()])
        limits = np.minimum(most[:, None], triples - subjects + 1)
        with np.errstate(over="ignore"):
            known = Cardinality(
                float(triples.max(axis=0).sum()),
                float((subjects * means.prod(axis=0)).sum()),
                float((triples * limits.prod(axis=0) / limits).min(axis=0).sum()),
            )
        rest = self._rest_rows(predicates)
        low, guess, high = known.low + rest.low, known.estimate + rest.estimate, known.high + rest.high
        return Cardinality(low, min(max(guess, low), high), high)

    def _rest(self, predicates: Mapping[str, Bound]) -> Cardinality:
        """How many of the other subjects have all predicates; the guess takes these to be independent."""
        if not self.others:
            return NOBODY
        high = guess = float(self.others)
        low = high * (1 - len(predicates))
        for iri, bound in predicates.items():
            few, many = self._held(iri, bound)
            low += few
            high = min(high, many)
            guess *= many / self.others
        low = max(0.0, low)
        return Cardinality(low, min(max(guess, low), high), high)

    def _rest_rows(self, predicates: Mapping[str, Bound]) -> Cardinality:
        rest = self._rest(predicates)
        if not rest.high:
            return NOBODY
        guess, limits, highs = rest.estimate, [], []
        for iri, bound in predicates.items():
            _, subjects = self._held(iri, bound)
            place = self._places.get(iri)
            most = 1.0 if bound.once else bound.most
            triples = subjects * most if place is None or bound.once else self.remainder[place][1]
            guess *= max(1.0, triples / subjects)
            limits.append(most)
            highs.append(triples)
        product = prod(limits)
        high = min(triples * product / limit for triples, limit in zip(highs, limits, strict=True))
        return Cardinality(rest.low, min(max(guess, rest.low), high), high)

    def _held(self, iri: str, bound: Bound) -> tuple[float, float]:
        """The least and the most of the other subjects that have a predicate."""
        place = self._places.get(iri)
        if place is None:
            return 0.0, min(float(self.others), bound.subjects)
        exactly = float(self.remainder.get(place, (0, 0))[0])
        return exactly, exactly

    def _with_all(self, predicates: Mapping[str, Bound]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The sets that have all of some predicates, and float64[predicates, sets], the triples of each in them."""
        triples = np.array([self._triples_of(iri) for iri in predicates])
        inside = np.flatnonzero((triples > 0).all(axis=0))
        return inside, triples[:, inside]

    def _triples_of(self, iri: str) -> NDArray[np.float64]:
        """float64[sets]: the triples of a predicate in each set; 0 where it is no member."""
        found = self._triples.get(iri)
        if found is None:
            place = self._places.get(iri, -1)
            found = self._triples[iri] = np.array([one.triples.get(place, 0) for one in self.sets], np.float64)
            if len(self._triples) > MAX_CACHED:
                self._triples.clear()
        return found

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
        """As JSON has it; predicates are their places in `predicates`."""
        return {
            "predicates": list(self.predicates),
            "sets": [[one.subjects, *_pairs(one.triples.items())] for one in self.sets],
            "others": {
                "subjects": self.others,
                "sets": self.merged,
                "predicates": [[place, *held] for place, held in sorted(self.remainder.items())],
            },
        }

    @classmethod
    def from_json(cls, value: Any) -> CharacteristicSets:
        """What `to_json` has written.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
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
    """A count that JSON gave.

    Raises:
        ValueError: it is none, or less than `least`.

    >>> whole(7)
    7
    """
    if type(value) is not int or not least <= value < 2**63:
        raise ValueError(f"{value!r} is not a whole number of at least {least}")
    return value


def _pairs(items: Any) -> list[list[int]]:
    return [list(pair) for pair in sorted(items)]


def by_subjects(sets: Sequence[CharacteristicSet]) -> list[CharacteristicSet]:
    """Most frequent first; those of equally many subjects by what they hold."""
    return sorted(sets, key=lambda one: (-one.subjects, sorted(one.triples.items())))
