"""Finds the characteristic sets of a graph, in two passes over its distinct (subject, predicate) pairs.

A set is known by the sum of the 64-bit hashes of its predicates, so that a pass over a predicate is one addition for
all of its subjects at once. That two of a million sets agree in it has a chance of 1 in 30 million, and makes an
estimate worse, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.statistics.characteristic_sets import CharacteristicSet, CharacteristicSets, by_subjects
from hybridkg.graph.statistics.histograms import chunks, degrees_of

if TYPE_CHECKING:
    from hybridkg.graph.columns import ProjectionColumns

MAX_SETS = 1_000
"""Sets that are kept: the most frequent."""

MAX_MEMBERS = 50_000
"""Predicates in all sets that are kept (about 1 MB in the file); no set that is kept has more than a tenth of them."""

MAX_OTHERS = 2_000
"""Predicates that are told apart among the subjects of other sets, beside those of the sets that are kept."""

NODES_AT_ONCE = 1 << 22
"""Nodes whose sets are found at once: 48 MiB."""

MAX_COUNTED = 1 << 20
"""Distinct sets that are counted; of more, the rarest so far are forgotten, and their subjects are among the others."""


class Counted(NamedTuple):
    """Distinct sets: uint64[n] their hashes, ascending; int64[n] how many subjects; int64[n] how many predicates."""

    hashes: NDArray[np.uint64]
    subjects: NDArray[np.int64]
    widths: NDArray[np.int64]

    def of(self, places: NDArray[np.int64]) -> Counted:
        """Some of them."""
        return Counted(self.hashes[places], self.subjects[places], self.widths[places])


def find_sets(
    columns: ProjectionColumns, most_sets: int = MAX_SETS, most_members: int = MAX_MEMBERS
) -> CharacteristicSets:
    """Groups the subjects of a graph.

    Args:
        columns: the projection.
        most_sets: sets to keep.
        most_members: predicates to keep in all of them together.

    >>> from hybridkg.graph.build.reference_builder import columns_of
    >>> from hybridkg.rdf.terms import NamedNode, Triple
    >>> a, b, p, q = (NamedNode(f"e:{x}") for x in "abpq")
    >>> [one.subjects for one in find_sets(columns_of([Triple(a, p, b), Triple(b, p, a), Triple(b, q, a)])).sets]
    [1, 1]
    """
    names = sorted(iri for iri, predicate in columns.predicates.items() if predicate.triples)
    hashes = [int.from_bytes(blake2b(iri.encode(), digest_size=8).digest(), "little") for iri in names]
    counted, subjects, complete = _counted(columns, names, hashes)
    kept = _kept(counted, most_sets, most_members)
    members, rest = _members(columns, names, hashes, kept)
    others = subjects - int(kept.subjects.sum())
    return _assembled(names, kept, members, rest, others, len(counted.hashes) - len(kept.hashes) if complete else None)


def _counted(columns: ProjectionColumns, names: Sequence[str], hashes: Sequence[int]) -> tuple[Counted, int, bool]:
    """Every set, unless they are too many; subjects in all; and whether every set is there."""
    found = Counted(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    subjects, complete = 0, True
    for _, sums, widths in _hashed(columns, names, hashes):
        own, first, times = np.unique(sums[widths > 0], return_index=True, return_counts=True)
        subjects += int(times.sum())
        found = _merged(found, Counted(own, times, widths[widths > 0][first].astype(np.int64)))
        if len(found.hashes) > MAX_COUNTED:
            found = found.of(np.sort(np.lexsort((found.hashes, -found.subjects))[:MAX_COUNTED]))
            complete = False
    return found, subjects, complete


def _merged(a: Counted, b: Counted) -> Counted:
    if not len(a.hashes):
        return b
    both, first, place = np.unique(np.concatenate([a.hashes, b.hashes]), return_index=True, return_inverse=True)
    times = np.zeros(len(both), np.int64)
    np.add.at(times, place, np.concatenate([a.subjects, b.subjects]))
    return Counted(both, times, np.concatenate([a.widths, b.widths])[first])


def _kept(counted: Counted, most_sets: int, most_members: int) -> Counted:
    """The most frequent sets, by hash."""
    narrow = np.flatnonzero(counted.widths <= max(1, most_members // 10))
    ordered = narrow[np.lexsort((counted.hashes[narrow], -counted.subjects[narrow]))][:most_sets]
    fitting = np.cumsum(counted.widths[ordered]) <= most_members
    return counted.of(np.sort(ordered[fitting]))


def _hashed(
    columns: ProjectionColumns, names: Sequence[str], hashes: Sequence[int]
) -> Iterator[tuple[int, NDArray[np.uint64], NDArray[np.uint32]]]:
    """(first node, uint64[nodes] hashes of their sets, uint32[nodes] how many predicates), a part at a time."""
    for first in range(0, columns.terms.n_nodes, NODES_AT_ONCE):
        size = min(NODES_AT_ONCE, columns.terms.n_nodes - first)
        sums, widths = np.zeros(size, np.uint64), np.zeros(size, np.uint32)
        for iri, own in zip(names, hashes, strict=True):
            for subjects, _, _ in _subjects(columns, iri, first, size):
                sums[subjects] += np.uint64(own)  # they are distinct, so nothing is lost
                widths[subjects] += 1
        yield first, sums, widths


def _subjects(
    columns: ProjectionColumns, iri: str, first: int, size: int
) -> Iterator[tuple[NDArray[np.int64], int, int]]:
    """The subjects of a predicate among some nodes, from 0, and their places in its keys; a part at a time."""
    keys = columns.predicates[iri].forward.keys
    begin, end = np.searchsorted(keys, np.array([first, first + size], keys.dtype)).tolist()
    for a, b in chunks(begin, end):
        yield keys[a:b].astype(np.int64) - first, a, b


Cells = dict[tuple[int, int], int]
"""Triples by (set, predicate)."""


def _members(
    columns: ProjectionColumns, names: Sequence[str], hashes: Sequence[int], kept: Counted
) -> tuple[Cells, dict[int, tuple[int, int]]]:
    """The triples of each predicate in each set, and of the other subjects, (subjects, triples) by predicate."""
    cells: Cells = {}
    rest: dict[int, tuple[int, int]] = {}
    n = len(kept.hashes)
    for first, sums, _ in _hashed(columns, names, hashes):
        place = np.searchsorted(kept.hashes, sums)
        known = place < n
        known[known] = kept.hashes[place[known]] == sums[known]
        set_of = np.where(known, place, n)
        for number, iri in enumerate(names):
            forward = columns.predicates[iri].forward
            for subjects, a, b in _subjects(columns, iri, first, len(sums)):
                own = set_of[subjects]
                triples = np.bincount(own, weights=degrees_of(forward, a, b), minlength=n + 1)
                for one in np.flatnonzero(triples[:n]).tolist():
                    cells[one, number] = cells.get((one, number), 0) + int(triples[one])
                if outside := int(np.count_nonzero(own == n)):
                    before = rest.get(number, (0, 0))
                    rest[number] = (before[0] + outside, before[1] + int(triples[n]))
    return cells, rest


def _assembled(
    names: Sequence[str],
    kept: Counted,
    cells: Cells,
    rest: dict[int, tuple[int, int]],
    others: int,
    merged: int | None,
) -> CharacteristicSets:
    frequent = sorted(rest, key=lambda number: (-rest[number][1], number))[:MAX_OTHERS]
    listed = sorted({number for _, number in cells} | set(frequent))
    place = {number: i for i, number in enumerate(listed)}
    members: list[dict[int, int]] = [{} for _ in kept.hashes]
    for (one, number), triples in sorted(cells.items()):
        members[one][place[number]] = triples
    sets = [CharacteristicSet(n, of) for n, of in zip(kept.subjects.tolist(), members, strict=True)]
    return CharacteristicSets(
        tuple(names[number] for number in listed),
        tuple(by_subjects(sets)),
        others,
        merged,
        {place[number]: held for number, held in sorted(rest.items()) if number in place},
    )
