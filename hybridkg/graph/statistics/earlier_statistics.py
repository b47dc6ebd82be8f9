"""The statistics of a projection that has changed a little: what follows from the earlier ones.

No id is a part of them, and order decides between equal counts. So the figures of a predicate whose triples have stayed
are those of before, as long as the terms that stay have kept their order. A characteristic set gains and loses the
subjects whose triples have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import ProjectionColumns
from hybridkg.graph.statistics.catalog import Others, Statistics
from hybridkg.graph.statistics.characteristic_sets import CharacteristicSet, CharacteristicSets, by_subjects
from hybridkg.interfaces.statistics import PredicateStatistics
from hybridkg.rdf.terms import RDF_TYPE, Node
from hybridkg.rdf.triple_columns import TripleColumns

MAX_CELLS = 1 << 22
"""Changed subjects times predicates above which all characteristic sets are counted; 16 bytes each."""

I64 = NDArray[np.int64]

Degrees = dict[str, int]
"""Triples of one subject, by predicate."""


@dataclass(frozen=True)
class EarlierStatistics:
    """The statistics of an earlier projection, and what has changed since.

    Args:
        statistics: collected with the same limits, by the same version.
        added: the triples that are new.
        removed: the triples that have gone.
    """

    statistics: Statistics
    added: TripleColumns
    removed: TripleColumns

    @cached_property
    def _predicates(self) -> frozenset[str]:
        return frozenset((*self.added.by_predicate, *self.removed.by_predicate))

    @cached_property
    def _subjects(self) -> list[Node]:
        return list(dict.fromkeys((*self.added.subjects(), *self.removed.subjects())))

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
        earlier, names = self.statistics.sets, sorted({*columns.predicates, *self._predicates})
        if earlier.others or earlier.merged or len(self._subjects) * len(names) > MAX_CELLS:
            return None
        subjects: dict[frozenset[str], int] = {}
        triples: dict[frozenset[str], Degrees] = {}
        for one in earlier.sets:
            own = {earlier.predicates[place]: n for place, n in one.triples.items()}
            subjects[frozenset(own)], triples[frozenset(own)] = one.subjects, own
        after = self._degrees(columns, names)
        for degrees, sign in ((after - self._differences(names), -1), (after, 1)):
            for places, count, sums in _by_set(degrees):
                key = frozenset(names[place] for place in places)
                subjects[key] = subjects.get(key, 0) + sign * count
                held = triples.setdefault(key, {})
                for place, n in zip(places, sums, strict=True):
                    held[names[place]] = held.get(names[place], 0) + sign * n
        return _assembled({key: (n, triples[key]) for key, n in subjects.items() if n}, most_sets, most_members)

    def _degrees(self, columns: ProjectionColumns, names: Sequence[str]) -> I64:
        """int64[changed subjects, names]: the triples of each with each predicate, now."""
        degrees = np.zeros((len(self._subjects), len(names)), np.int64)
        ids = columns.terms.find(self._subjects)
        for column, iri in enumerate(names):
            predicate = columns.predicates.get(iri)
            if predicate is None or not len(predicate.forward.keys):
                continue
            keys, offsets = predicate.forward.keys, predicate.forward.offsets
            places = np.minimum(np.searchsorted(keys, ids.astype(keys.dtype)), len(keys) - 1)
            rows = np.flatnonzero((ids >= 0) & (keys[places] == ids))
            own = places[rows]
            degrees[rows, column] = offsets[own + 1].astype(np.int64) - offsets[own].astype(np.int64)
        return degrees

    def _differences(self, names: Sequence[str]) -> I64:
        """int64[changed subjects, names]: their triples now less those of before."""
        differences = np.zeros((len(self._subjects), len(names)), np.int64)
        row_of = {subject: row for row, subject in enumerate(self._subjects)}
        for triples, sign in ((self.added, 1), (self.removed, -1)):
            for iri, own in triples.by_predicate.items():
                rows = np.fromiter(map(row_of.__getitem__, own.subjects), np.int64, len(own.subjects))
                differences[:, names.index(iri)] += sign * np.bincount(rows, minlength=len(row_of))
        return differences


def _by_set(degrees: I64) -> Iterator[tuple[list[int], int, list[int]]]:
    """For each set of columns in which rows are not 0: (the columns, the number of its rows, the sum of each column);
    without rows that are 0 everywhere.
    """
    bits = np.packbits(degrees > 0, axis=1)
    if not bits.size:
        return
    sets, set_of = np.unique(bits.view(np.dtype((np.void, bits.shape[1]))).reshape(-1), return_inverse=True)
    ordered = degrees[np.argsort(set_of, kind="stable")]
    for own in np.split(ordered, np.cumsum(np.bincount(set_of, minlength=len(sets)))[:-1]):
        places = np.flatnonzero(own[0])
        if len(places):
            yield places.tolist(), len(own), own[:, places].sum(axis=0).tolist()


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
