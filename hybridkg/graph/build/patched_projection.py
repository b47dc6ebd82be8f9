"""The next projection from the earlier one and a change: nothing but the changed triples is sorted or read again.

Where it can, a commit writes what differs from the base alone (projection_tail.py). Otherwise the files have the bytes
of a build from scratch (tests/graph/build/test_patched_projection.py): the ids of a predicate whose triples have not
changed are renumbered, which keeps their order; the pairs of the others are merged with the new ones. The memory is
that of the largest predicate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridkg.entities.node_table import NodeTable
from hybridkg.graph.build.adjacency import write_directions
from hybridkg.graph.build.adjacency_edits import PatchMismatchError, directed, pairs_by_predicate
from hybridkg.graph.build.projection_tail import ProjectionTail
from hybridkg.graph.build.renumbering import Renumbering
from hybridkg.graph.build.term_edits import NewIds, TermEdits
from hybridkg.graph.columns import Adjacency, PredicateColumns
from hybridkg.graph.pair_places import HALF, LOW, Pairs, places_of_pairs
from hybridkg.graph.stored_projection import LAYOUT, StoredPredicates, StoredTerms
from hybridkg.interfaces.staying import Staying
from hybridkg.rdf.terms import Literal, Term, Triple
from hybridkg.rdf.triple_columns import TripleColumns
from hybridkg.storage.array_edit import edit_of_sorted
from hybridkg.storage.arrays import Array, ArrayStream, MappedArrays, Writer


@dataclass(frozen=True)
class TripleChange:
    """Triples that the default graph of queries has more, and triples that it has no more, in the store's form."""

    added: TripleColumns
    removed: TripleColumns

    def is_projected(self) -> bool:
        """Whether a projection can have every triple: none has a triple term or a literal with a base direction."""
        return all(is_projected(term) for triples in (self.added, self.removed) for term in triples.objects())


def is_projected(term: Term) -> bool:
    """Whether the projection has the triples with a term as object: no triple term, nor one with a base direction."""
    return not isinstance(term, Triple) and not (isinstance(term, Literal) and getattr(term, "direction", None))


def patch_projection(
    previous: Path,
    folder: Path,
    before: NodeTable,
    after: NodeTable,
    entities: Staying,
    change: TripleChange,
    occurs: Callable[[Term], bool],
) -> bool:
    """Writes the next projection into a new folder; returns whether all terms that stay have kept their order.

    Args:
        previous: folder of the earlier projection.
        folder: the new folder.
        before: the earlier node table.
        after: the next node table.
        entities: the earlier entities that have text still.
        change: what has changed; `is_projected`.
        occurs: whether a term is subject or object of a triple of the next projection; omitted triples do not count.

    Raises:
        PatchMismatchError: the earlier projection is not that of the graph before the change.
        DamagedPieceError: a file of it is damaged.
        UnsupportedGraphError: the graph has more terms than ids.
        OSError: the disk is full or fails.
    """
    reader = MappedArrays(LAYOUT, previous)
    folder.mkdir()
    out = Writer(LAYOUT, folder)
    stored = StoredTerms(reader, before)
    tail = ProjectionTail.of(reader, stored, after, entities, (change.added, change.removed), occurs)
    if tail is not None:
        out.finish(tail.write(out))
        return True
    edits = TermEdits(reader, before, after, entities.array, change.added.terms(), change.removed.terms(), occurs)
    return _write_whole(reader, out, before, edits, change)


def merge_projection(previous: Path, folder: Path, nodes: NodeTable) -> None:
    """Writes a projection without its tail into a new folder: the bytes of a build from scratch.

    Raises:
        CorruptError, DamagedPieceError: a file of it is damaged.
        OSError: the disk is full or fails.
    """
    reader = MappedArrays(LAYOUT, previous)
    folder.mkdir(parents=True)
    edits = TermEdits(reader, nodes, nodes, np.arange(len(nodes)), (), (), lambda _: True)
    _write_whole(reader, Writer(LAYOUT, folder), nodes, edits, TripleChange(TripleColumns({}), TripleColumns({})))


def _write_whole(reader: MappedArrays, out: Writer, before: NodeTable, edits: TermEdits, change: TripleChange) -> bool:
    """Writes all arrays anew; returns whether all terms that stay have kept their order."""
    ids = edits.write(out)
    triples = _Adjacencies(reader, before, ids, change).write(out)
    kept = {name: reader.about(name) for name in ("omitted", "union_default_graph")}
    out.finish({**ids.about, **kept, "triples": triples})
    return not ids.moved.any()


class _Adjacencies:
    """Both directions of every predicate of the next projection."""

    def __init__(self, reader: MappedArrays, before: NodeTable, ids: NewIds, change: TripleChange):
        self._old, self._ids = StoredPredicates(reader), ids
        old_terms = StoredTerms(reader, before)
        self._removed = pairs_by_predicate(change.removed, old_terms.id_of)
        self._added = pairs_by_predicate(change.added, ids.of)
        self._renumbering = Renumbering.of(ids.of_old)
        self._has_moved = bool(ids.moved.any())
        for iri, pairs in self._removed.items():
            if iri not in self._old:
                raise PatchMismatchError
            forward = self._old[iri].forward
            _places(forward, directed(pairs, 0))
        sizes = {iri: self._old[iri].triples for iri in self._old}
        for iri in {*self._removed, *self._added}:
            sizes[iri] = sizes.get(iri, 0) + len(self._added.get(iri, ())) - len(self._removed.get(iri, ()))
        self._sizes = {iri: sizes[iri] for iri in sorted(sizes, key=str.encode) if sizes[iri]}

    def write(self, out: Writer) -> int:
        """Writes the arrays; returns the number of triples."""

        def columns(direction: int, targets: ArrayStream) -> Iterator[tuple[Array, Array]]:
            for iri in self._sizes:
                adjacency = self._adjacency(iri, direction)
                targets.append(adjacency.targets)
                yield adjacency.keys, adjacency.offsets

        return write_directions(columns, [iri.encode() for iri in self._sizes], out)

    def _adjacency(self, iri: str, direction: int) -> Adjacency:
        """A direction of a predicate."""
        if iri in self._removed or iri in self._added:
            return _adjacency_of(self._pairs(iri, direction))
        columns = self._old[iri]
        old = columns.backward if direction else columns.forward
        if self._has_moved and (self._ids.moved[old.keys].any() or self._ids.moved[old.targets].any()):
            return _adjacency_of(self._pairs(iri, direction))
        return self._renumbered(columns, direction)

    def _renumbered(self, columns: PredicateColumns, direction: int) -> Adjacency:
        """A direction of a predicate with the next ids, in the order of before."""
        old, opposite = (columns.backward, columns.forward) if direction else (columns.forward, columns.backward)
        keys, largest = self._renumbering.of_sorted(old.keys), int(opposite.keys[-1])  # the targets are its keys
        return Adjacency(keys, old.offsets, self._renumbering.apply(old.targets, largest))

    def _pairs(self, iri: str, direction: int) -> Pairs:
        """The sorted pairs of a predicate in a direction."""
        added = directed(self._added.get(iri), direction)
        if iri not in self._old:
            return added
        columns = self._old[iri]
        old = columns.backward if direction else columns.forward
        after = self._renumbered(columns, direction)
        pairs = (_sources(after).astype(np.uint64) << HALF) | after.targets
        if (removed := self._removed.get(iri)) is not None:
            pairs = np.delete(pairs, _places(old, directed(removed, direction)))
        if self._has_moved and (self._ids.moved[old.keys].any() or self._ids.moved[old.targets].any()):
            pairs.sort()
        return edit_of_sorted(pairs, pairs[:0], added).apply(pairs, added)


def _adjacency_of(pairs: Pairs) -> Adjacency:
    """The adjacency of sorted and distinct pairs."""
    sources = (pairs >> HALF).astype(np.uint32)
    begins = np.flatnonzero(np.concatenate(([True], sources[1:] != sources[:-1])))
    return Adjacency(sources[begins], np.append(begins, len(pairs)), (pairs & LOW).astype(np.uint32))


def _sources(old: Adjacency) -> NDArray[np.uint32]:
    """uint32[triples]: the key of each target."""
    return np.repeat(old.keys, np.diff(old.offsets).astype(np.int64))


def _places(old: Adjacency, removed: Pairs) -> NDArray[np.int64]:
    """The places of pairs in an earlier direction."""
    places = places_of_pairs(old, removed)
    if not places.is_there.all():
        raise PatchMismatchError
    return places.target
