"""The statistics of a projection that has changed a little: what follows from the earlier ones.

No id is a part of them, and order decides between equal counts. So the figures of a predicate whose triples have stayed
are those of before, as long as the terms that stay have kept their order. A characteristic set gains and loses the
subjects whose triples have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybridkg.graph.columns import ProjectionColumns
from hybridkg.graph.statistics.catalog import Others, Statistics
from hybridkg.graph.statistics.characteristic_sets import CharacteristicSet, CharacteristicSets, by_subjects
from hybridkg.interfaces.statistics import PredicateStatistics
from hybridkg.rdf.terms import RDF_TYPE, Node

MAX_SUBJECTS = 1_000
"""Changed subjects above which a count of all characteristic sets takes no longer."""

Degrees = dict[str, int]
"""Triples of one subject, by predicate."""


@dataclass(frozen=True)
class EarlierStatistics:
    """The statistics of an earlier projection, and what has changed since.

    Args:
        statistics: collected with the same limits, by the same version.
        changed: for each subject and predicate whose triples have changed, their number now less that of before.
    """

    statistics: Statistics
    changed: Mapping[Node, Mapping[str, int]]

    @cached_property
    def _predicates(self) -> frozenset[str]:
        return frozenset(iri for degrees in self.changed.values() for iri in degrees)

    def predicate(self, iri: str) -> PredicateStatistics | None:
        """The statistics of a predicate, where they are those of before."""
        return None if iri in self._predicates else self.statistics.predicate(iri)

    def classes(self) -> tuple[Mapping[str, int], Others] | None:
        """The instances of each class, and of the other classes, where they are those of before."""
        if RDF_TYPE in self._predicates:
            return None
        return self.statistics.classes, self.statistics.other_classes

    def sets(self, columns: ProjectionColumns, most_sets: int, most_members: int) -> CharacteristicSets | None:
        """The characteristic sets of the projection; None where not all are listed, before and after.

        Args:
            columns: the projection.
            most_sets: maximum number of listed sets.
            most_members: maximum total number of their predicates.
        """
        earlier = self.statistics.sets
        if earlier.others or earlier.merged or len(self.changed) > MAX_SUBJECTS:
            return None
        subjects: dict[frozenset[str], int] = {}
        triples: dict[frozenset[str], Degrees] = {}
        for one in earlier.sets:
            own = {earlier.predicates[place]: n for place, n in one.triples.items()}
            subjects[frozenset(own)], triples[frozenset(own)] = one.subjects, own
        for before, after in self._degrees(columns):
            for degrees, sign in ((before, -1), (after, 1)):
                key = frozenset(degrees)
                if key:
                    subjects[key] = subjects.get(key, 0) + sign
                    held = triples.setdefault(key, {})
                    for iri, n in degrees.items():
                        held[iri] = held.get(iri, 0) + sign * n
        return _assembled({key: (n, triples[key]) for key, n in subjects.items() if n}, most_sets, most_members)

    def _degrees(self, columns: ProjectionColumns) -> Iterator[tuple[Degrees, Degrees]]:
        """The triples of each changed subject by predicate, before and after."""
        after: list[Degrees] = [{} for _ in self.changed]
        ids = columns.terms.find([*self.changed])
        for iri, predicate in columns.predicates.items():
            keys, offsets = predicate.forward.keys, predicate.forward.offsets
            places = np.searchsorted(keys, ids.astype(keys.dtype))
            known = (ids >= 0) & (places < len(keys))
            known[known] = keys[places[known]] == ids[known]
            for i in np.flatnonzero(known).tolist():
                place = int(places[i])
                after[i][iri] = int(offsets[place + 1]) - int(offsets[place])
        for own, change in zip(after, self.changed.values(), strict=True):
            before = dict(own)
            for iri, n in change.items():
                before[iri] = before.get(iri, 0) - n
            yield {iri: n for iri, n in before.items() if n}, own


def _assembled(
    sets: Mapping[frozenset[str], tuple[int, Degrees]], most_sets: int, most_members: int
) -> CharacteristicSets | None:
    """The sets with their subjects and triples; None where they are too many to be listed."""
    widths = [len(key) for key in sets]
    if len(sets) > most_sets or sum(widths) > most_members or max(widths, default=0) > max(1, most_members // 10):
        return None
    predicates = sorted({iri for key in sets for iri in key})
    place = {iri: i for i, iri in enumerate(predicates)}
    listed = [
        CharacteristicSet(subjects, {place[iri]: triples[iri] for iri in sorted(key)})
        for key, (subjects, triples) in sets.items()
    ]
    return CharacteristicSets(tuple(predicates), tuple(by_subjects(listed)), 0, 0, {})
