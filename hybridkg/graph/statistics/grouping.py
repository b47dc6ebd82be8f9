"""Grouping of subjects into characteristic sets, in two passes over the distinct (subject, predicate) pairs.

The hash of a set is the sum of the 64-bit hashes of its predicates, so a predicate is one vector addition over its
subjects. Two of a million sets collide with probability 1 in 30 million; that makes an estimate worse, nothing else.
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
"""The maximum number of listed sets, the most frequent."""

MAX_MEMBERS = 50_000
"""The maximum total size of the listed sets (about 1 MB in the file); each has at most a tenth of it."""

MAX_OTHERS = 2_000
"""The maximum number of predicates of the remainder, in addition to those of the listed sets."""

NODES_AT_ONCE = 1 << 22
"""Nodes in one pass: 48 MiB."""

MAX_COUNTED = 1 << 20
"""The maximum number of counted sets; beyond it, the rarest so far are merged into the remainder."""


class Counted(NamedTuple):
    """Distinct sets: uint64[n] hashes, ascending; int64[n] subjects; int64[n] numbers of predicates (`widths`)."""

    hashes: NDArray[np.uint64]
    subjects: NDArray[np.int64]
    widths: NDArray[np.int64]

    def of(self, places: NDArray[np.int64]) -> Counted:
        return Counted(self.hashes[places], self.subjects[places], self.widths[places])


def find_sets(
    columns: ProjectionColumns, most_sets: int = MAX_SETS, most_members: int = MAX_MEMBERS
) -> CharacteristicSets:
    """The characteristic sets of a graph.

    Args:
        columns: the projection.
        most_sets: maximum number of listed sets.
        most_members: maximum total number of their predicates.

    >>> from hybridkg.graph.build.reference_builder import columns_of
    >>> from hybridkg.rdf.terms import NamedNode, Triple
    >>> a, b, p, q = (NamedNode(f"e:{x}") for x in "abpq")
    >>> [one.subjects for one in find_sets(columns_of([Triple(a, p, b), Triple(b, p, a), Triple(b, q, a)])).sets]
    [1, 1]
    """
    names = sorted(iri for iri, predicate in columns.predicates.items() if predicate.triples)
    hashes = [int.from_bytes(blake2b(iri.encode(), digest_size=8).digest(), "little") for iri in names]
    counted, subjects, complete = _counted(columns, names, hashes)
    listed = _listed(counted, most_sets, most_members)
    members, rest = _members(columns, names, hashes, listed)
    others = subjects - int(listed.subjects.sum())
    merged = len(counted.hashes) - len(listed.hashes) if complete else None
    return _assembled(names, listed, members, rest, others, merged)


def _counted(columns: ProjectionColumns, names: Sequence[str], hashes: Sequence[int]) -> tuple[Counted, int, bool]:
    """At most MAX_COUNTED sets; the number of subjects; and whether the sets are complete."""
    counted = Counted(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    subjects, complete = 0, True
    for _, sums, widths in _hashed(columns, names, hashes):
        own, first, times = np.unique(sums[widths > 0], return_index=True, return_counts=True)
        subjects += int(times.sum())
        counted = _merged(counted, Counted(own, times, widths[widths > 0][first].astype(np.int64)))
        if len(counted.hashes) > MAX_COUNTED:
            counted = counted.of(np.sort(np.lexsort((counted.hashes, -counted.subjects))[:MAX_COUNTED]))
            complete = False
    return counted, subjects, complete


def _merged(a: Counted, b: Counted) -> Counted:
    if not len(a.hashes):
        return b
    both, first, place = np.unique(np.concatenate([a.hashes, b.hashes]), return_index=True, return_inverse=True)
    times = np.zeros(len(both), np.int64)
    np.add.at(times, place, np.concatenate([a.subjects, b.subjects]))
    return Counted(both, times, np.concatenate([a.widths, b.widths])[first])


def _listed(counted: Counted, most_sets: int, most_members: int) -> Counted:
    narrow = np.flatnonzero(counted.widths <= max(1, most_members // 10))
    ordered = narrow[np.lexsort((counted.hashes[narrow], -counted.subjects[narrow]))][:most_sets]
    fitting = np.cumsum(counted.widths[ordered]) <= most_members
    return counted.of(np.sort(ordered[fitting]))


def _hashed(
    columns: ProjectionColumns, names: Sequence[str], hashes: Sequence[int]
) -> Iterator[tuple[int, NDArray[np.uint64], NDArray[np.uint32]]]:
    """(first node, uint64[nodes] hashes of their sets, uint32[nodes] widths), in parts of NODES_AT_ONCE."""
    for first in range(0, columns.terms.n_nodes, NODES_AT_ONCE):
        size = min(NODES_AT_ONCE, columns.terms.n_nodes - first)
        sums, widths = np.zeros(size, np.uint64), np.zeros(size, np.uint32)
        for iri, own in zip(names, hashes, strict=True):
            for subjects, _, _ in _subjects(columns, iri, first, size):
                sums[subjects] += np.uint64(own)  # subjects are distinct, so the fancy addition is exact
                widths[subjects] += 1
        yield first, sums, widths


def _subjects(
    columns: ProjectionColumns, iri: str, first: int, size: int
) -> Iterator[tuple[NDArray[np.int64], int, int]]:
    """The subjects of a predicate relative to `first`, and their places in its keys, in chunks."""
    keys = columns.predicates[iri].forward.keys
    begin, end = np.searchsorted(keys, np.array([first, first + size], keys.dtype)).tolist()
    for a, b in chunks(begin, end):
        yield keys[a:b].astype(np.int64) - first, a, b


Cells = dict[tuple[int, int], int]
"""Triples by (set, predicate)."""


def _members(
    columns: ProjectionColumns, names: Sequence[str], hashes: Sequence[int], listed: Counted
) -> tuple[Cells, dict[int, tuple[int, int]]]:
    """The triples of each predicate in each listed set, and (subjects, triples) by predicate in the remainder."""
    cells: Cells = {}
    rest: dict[int, tuple[int, int]] = {}
    n = len(listed.hashes)
    for first, sums, _ in _hashed(columns, names, hashes):
        place = np.searchsorted(listed.hashes, sums)
        is_listed = place < n
        is_listed[is_listed] = listed.hashes[place[is_listed]] == sums[is_listed]
        set_of = np.where(is_listed, place, n)
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
    names: Sequence[str], sets: Counted, cells: Cells, rest: dict[int, tuple[int, int]], others: int, merged: int | None
) -> CharacteristicSets:
    frequent = sorted(rest, key=lambda number: (-rest[number][1], number))[:MAX_OTHERS]
    listed = sorted({number for _, number in cells} | set(frequent))
    place = {number: i for i, number in enumerate(listed)}
    members: list[dict[int, int]] = [{} for _ in sets.hashes]
    for (one, number), triples in sorted(cells.items()):
        members[one][place[number]] = triples
    characteristic = [CharacteristicSet(n, of) for n, of in zip(sets.subjects.tolist(), members, strict=True)]
    return CharacteristicSets(
        tuple(names[number] for number in listed),
        tuple(by_subjects(characteristic)),
        others,
        merged,
        {place[number]: counts for number, counts in sorted(rest.items()) if number in place},
    )
