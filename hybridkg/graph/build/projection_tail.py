"""The next projection where nodes stay and few predicates change: only what differs from the base is written.

The arrays keep their base, and get tails (storage/arrays.py): the literals that the base lacks, with ids behind all
others, and both directions of each predicate that differs from the base. The ids of the base stay, so nothing else
changes. A tail is written anew by each commit, so its literals are sorted as those of the base are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.entities.node_table import NodeTable
from hybridkg.graph.build.adjacency_edits import (
    PatchMismatchError,
    directed,
    edited_adjacency,
    pairs_by_predicate,
)
from hybridkg.graph.build.literal_pieces import check_piece, write_piece
from hybridkg.graph.build.term_edits import LITERALS, OTHERS
from hybridkg.graph.columns import Adjacency
from hybridkg.graph.literal_order import FIRST_VALUED, SEGMENTS, literal_key
from hybridkg.graph.pair_places import Pairs
from hybridkg.graph.stored_literal_part import tag_of
from hybridkg.graph.stored_literals import PIECES, piece_name
from hybridkg.graph.stored_projection import (
    DIRECTIONS,
    GONE,
    PLACES,
    TAIL_ARRAYS,
    TAIL_SEGMENTS,
    TRIPLES,
    StoredPredicates,
    StoredTerms,
)
from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.interfaces.staying import Staying
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term
from hybridkg.rdf.triple_columns import TripleColumns
from hybridkg.storage.array_edit import ArrayEdit
from hybridkg.storage.arrays import Array, MappedArrays, Writer, smallest_unsigned

MIN_TRIPLES = 1_000_000
"""Triples below which a projection is written whole: copying 30 MB takes no longer than opening a dozen more files."""

MAX_CHANGED = 2_000
"""Literals in the triples of a commit, above which the projection is written whole: each takes 20 us of look-ups."""

MAX_LITERALS = 1 << 16
"""Literals of a tail, and 2^20 at most: their places among those of the base are parts of float64 (term_order.py)."""

MAX_BYTES = 16 << 20
"""Bytes of the forms of a tail, which are one piece."""

MAX_SHARE = 0.5
"""Share of the triples in predicates that differ from the base, above which the projection is written whole."""

_NO_PAIRS = np.zeros(0, np.uint64)


@dataclass(frozen=True)
class _Literals:
    """The literals of the next tail.

    Args:
        terms: of the earlier projection.
        edit: of the earlier tail.
        new: the literals that enter, in their order.
        gone: ids of base literals without a triple afterwards, ascending.
    """

    terms: StoredTerms
    edit: ArrayEdit
    new: Sequence[Literal]
    gone: NDArray[np.uint32]

    @property
    def first(self) -> int:
        """The id of the first literal of a tail."""
        return self.terms.base.part.end

    @property
    def size(self) -> int:
        """Literals of the next tail."""
        return self.edit.new_size

    def renumbered(self, ids: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The next ids of earlier ones that have not gone, in any order."""
        if not self.edit or not len(ids):
            return ids
        is_late = ids >= self.first
        if not is_late.any():
            return ids
        result = ids.copy()
        result[is_late] = (self._places[ids[is_late] - np.uint32(self.first)] + self.first).astype(np.uint32)
        return result

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        return self.edit.places()

    def ids_of(self, terms: Iterable[Term]) -> dict[Term, int]:
        """The next id of each literal among some terms."""
        found: dict[Term, int] = dict(zip(self.new, (self.edit.new_places() + self.first).tolist(), strict=True))
        places = self._places
        for term in terms:
            if not isinstance(term, Literal) or term in found:
                continue
            i = self.terms.base.find(term)
            if i < 0 and self.terms.tail is not None:
                place = self.terms.tail.find(term)
                i = place if place < 0 else self.first + int(places[place - self.first])
            found[term] = i
        return found

    def write(self, out: Writer, reader: MappedArrays) -> dict[str, Any]:
        """Writes the arrays of the literals; returns their part of the header."""
        tail, keys = self.terms.tail, [literal_key(literal) for literal in self.new]
        strings, unvalued = (sum(key[0] < least for key in keys) for least in (1, FIRST_VALUED))
        empty = dict.fromkeys(SEGMENTS, (self.first, self.first))
        old = empty if tail is None else tail.part.segments
        segments, first = [], self.first
        removed = self.edit.removed + self.first
        for number, (begin, end) in enumerate(old.values()):
            left = int(np.searchsorted(removed, end) - np.searchsorted(removed, begin))
            size = end - begin - left + sum(key[0] == number for key in keys)
            segments.append([first, first + size])
            first += size
        values, kinds, before = _tail_arrays(self.terms)
        of_values = self.edit.behind(old[SEGMENTS[FIRST_VALUED]][0] - self.first, unvalued)
        of_kinds = self.edit.behind(old["string"][1] - self.first, strings)
        names = self.terms.kinds
        numbers = [names.find(tag_of(literal), 0, len(names)) for literal in self.new[strings:]]
        places = np.array([self.terms.base.place(literal) for literal in self.new], np.uint32)
        new_kinds = of_kinds.apply(kinds.astype(np.int64), np.array(numbers, np.int64))
        arrays = (
            of_values.apply(values, np.array([key[1] for key in keys[unvalued:]], np.float64)),
            new_kinds.astype(smallest_unsigned(max(0, len(names) - 1))),
            self.edit.apply(before, places),
        )
        for name, array in zip(TAIL_ARRAYS, arrays, strict=True):
            out.write(name, array)
        out.write(GONE, self.gone)
        return {
            TAIL_SEGMENTS: segments,
            "n_terms": self.first + self.size,
            PIECES: self._write_forms(out, reader),
        }

    def _write_forms(self, out: Writer, reader: MappedArrays) -> list[tuple[int, int]]:
        """Writes the forms of the tail as one piece behind those of the base; returns the sizes of all pieces."""
        literals, sizes = self.terms.literals, list[tuple[int, int]]()
        base = [end <= self.first - self.terms.n_nodes for _, end in literals.ranges()]
        for number in range(sum(base)):
            out.link_as(piece_name(number), reader, piece_name(number))
            sizes.append(literals.size(number))
        if not self.size:
            return sizes
        text, offsets = np.zeros(0, np.uint8), np.zeros(1, np.int64)
        if self.edit.size:
            check_piece(literals, len(sizes))
            stored, ends = literals.stored(len(sizes), *literals.ranges()[len(sizes)])
            text, offsets = stored, ends.astype(np.int64)
        forms = [literal.value.encode() for literal in self.new]
        lengths = self.edit.apply(np.diff(offsets), np.array([len(form) for form in forms], np.int64))
        sizes.append(write_piece(out, len(sizes), self.edit.text_parts(text, offsets, forms), lengths))
        return sizes


def _tail_arrays(terms: StoredTerms) -> tuple[NDArray[np.float64], Array, NDArray[np.uint32]]:
    """The values, kinds and places of the earlier tail."""
    tail = terms.tail
    if tail is None:
        return np.zeros(0), np.zeros(0, np.uint8), np.zeros(0, np.uint32)
    assert tail.part.before is not None
    return tail.part.numbers, np.asarray(tail.kind_of), tail.part.before


class ProjectionTail:
    """The next projection as the base of the earlier one and a tail.

    Args:
        reader: of the earlier projection.
        literals: of the next one.
        added: pairs (subject << 32) | object of the next ids by predicate, which are new.
        removed: pairs of the earlier ids by predicate, which have gone.
    """

    def __init__(
        self, reader: MappedArrays, literals: _Literals, added: Mapping[str, Pairs], removed: Mapping[str, Pairs]
    ):
        self._reader, self._literals, self._added, self._removed = reader, literals, added, removed
        self._old = StoredPredicates(reader)
        self._base_targets = _base_rows(reader, f"{DIRECTIONS[0]}.targets")

    @classmethod
    def of(
        cls,
        reader: MappedArrays,
        terms: StoredTerms,
        after: NodeTable,
        entities: Staying,
        change: tuple[TripleColumns, TripleColumns],
        occurs: Callable[[Term], bool],
    ) -> ProjectionTail | None:
        """The next projection; None where it is written whole.

        Args:
            reader: of the earlier projection.
            terms: of the earlier projection.
            after: the next node table.
            entities: the earlier entities that have text still.
            change: the triples that are new, and those that have gone.
            occurs: whether a term is subject or object of a triple of the next projection.

        Raises:
            PatchMismatchError: the earlier projection does not have a triple that has gone.
        """
        added, removed = change
        if not terms.literals.is_in_pieces or int(reader.about("triples")) < MIN_TRIPLES:
            return None
        stay = len(after) == entities.n and entities.ids is None and not len(entities.leaving)
        if not stay:
            return None
        terms_of_change = added.terms(), removed.terms()
        if sum(isinstance(term, Literal) for term in chain(*terms_of_change)) > MAX_CHANGED:
            return None
        nodes = _ids_of_nodes(terms, chain(*terms_of_change))
        literals = _next_literals(terms, nodes, *terms_of_change, occurs)
        if literals is None:
            return None
        ids = {**nodes, **literals.ids_of(terms_of_change[0])}
        old_ids = dict(nodes)
        old_ids.update((term, terms.id_of(term)) for term in terms_of_change[1] if isinstance(term, Literal))
        pairs = pairs_by_predicate(added, ids.__getitem__), pairs_by_predicate(removed, old_ids.__getitem__)
        tail = cls(reader, literals, *pairs)
        return tail if tail._fits() else None

    def _fits(self) -> bool:
        """Whether few triples are of predicates that differ from the base."""
        triples = sum(self._old[iri].triples for iri in self._differing() if iri in self._old)
        return triples <= MAX_SHARE * int(self._reader.about("triples"))

    def _differing(self) -> list[str]:
        """The predicates that differ from the base, by IRI."""
        late = {iri for iri in self._old if _place(self._old, iri)[0] >= self._base_targets}
        return sorted({*late, *self._added, *self._removed}, key=str.encode)

    def write(self, out: Writer) -> dict[str, Any]:
        """Writes all arrays; returns the header.

        Raises:
            PatchMismatchError: the earlier projection does not have a triple that has gone.
            DamagedPieceError: the piece of the earlier tail is damaged.
        """
        about = self._literals.write(out, self._reader)
        out.link(self._reader, (*OTHERS, *LITERALS))
        triples = int(self._write_columns(out).sum())
        kept = ("n_entities", "n_nodes", "other_blank_nodes", "segments", "omitted", "union_default_graph")
        return {**{name: self._reader.about(name) for name in kept}, **about, "triples": triples}

    def _write_columns(self, out: Writer) -> NDArray[np.uint64]:
        """Writes the arrays of the predicates; returns uint64[predicates], the triples of each."""
        columns = _TailColumns(self._reader)
        differing = dict.fromkeys(self._differing())
        rows: dict[str, tuple[list[int], int]] = {}
        for iri in sorted({*self._old, *differing}, key=str.encode):
            if iri not in differing:
                rows[iri] = _place(self._old, iri), self._old[iri].triples
                continue
            both = [self._direction(iri, number) for number in range(len(DIRECTIONS))]
            if count := len(both[0].targets):
                rows[iri] = columns.add(both, self._kept_keys(iri, both)), count
        columns.write(out)
        names = [iri.encode() for iri in rows]
        out.write("predicates.text", np.frombuffer(b"".join(names), np.uint8))
        out.write("predicates.offsets", np.cumsum([0, *map(len, names)], dtype=np.uint64))
        places = np.zeros((len(rows) + 1, PLACES), np.uint64)
        for at, (own, _) in enumerate(rows.values()):
            places[at] = own
        places[-1, 0] = columns.end
        out.write("predicates.places", places)
        triples = np.array([count for _, count in rows.values()], np.uint64)
        out.write(TRIPLES, triples)
        return triples

    def _direction(self, iri: str, number: int) -> Adjacency:
        """A direction of a predicate afterwards."""
        added, removed = (directed(pairs.get(iri), number) for pairs in (self._added, self._removed))
        if iri not in self._old:
            if len(removed):
                raise PatchMismatchError
            return edited_adjacency(_EMPTY, removed, added)
        columns, renumbered = self._old[iri], self._literals.renumbered
        old = columns.backward if number else columns.forward
        if len(removed):
            old = edited_adjacency(old, removed, _NO_PAIRS)
        old = Adjacency(renumbered(old.keys), old.offsets, renumbered(old.targets))
        return edited_adjacency(old, _NO_PAIRS, added) if len(added) else old

    def _kept_keys(self, iri: str, both: Sequence[Adjacency]) -> list[int | None]:
        """For each direction, the place of its keys in the base, where it has the same."""
        found: list[int | None] = [None, None]
        if (places := _place(self._old, iri) if iri in self._old else None) is None:
            return found
        n_keys = _base_rows(self._reader, "keys")
        columns = self._old[iri]
        for number, (old, new) in enumerate(zip((columns.forward, columns.backward), both, strict=True)):
            first = places[1 + 3 * number]
            if first + len(old.keys) <= n_keys and np.array_equal(old.keys, new.keys):
                found[number] = first
        return found


_EMPTY = Adjacency(np.zeros(0, np.uint32), np.zeros(1, np.int64), np.zeros(0, np.uint32))


@dataclass
class _TailColumns:
    """The tails of the arrays of both directions."""

    reader: MappedArrays
    targets: tuple[list[Array], list[Array]] = field(default_factory=lambda: ([], []))
    keys: list[Array] = field(default_factory=list)
    offsets: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.end = self.reader.tail_start(f"{DIRECTIONS[0]}.targets")
        self._key, self._offset = self.reader.tail_start("keys"), self.reader.tail_start("offsets")
        self._runs: list[tuple[list[int], int, int]] = []

    def add(self, both: Sequence[Adjacency], kept_keys: Sequence[int | None]) -> list[int]:
        """Adds the directions of a predicate; returns its places, int[PLACES]."""
        places = [self.end]
        self.end += len(both[0].targets)
        for number, (one, kept) in enumerate(zip(both, kept_keys, strict=True)):
            self.targets[number].append(one.targets)
            n = len(one.keys)
            places += [self._key if kept is None else kept, n, 0]
            if kept is None:
                self._key += n
                self.keys.append(one.keys)
            if len(one.targets) == n:
                self._runs.append((places, len(places) - 1, n + 1))
            else:
                places[-1] = self._add_offsets(one.offsets)
        return places

    def _add_offsets(self, offsets: Array) -> int:
        dtype = smallest_unsigned(int(offsets[-1]))
        padding = -self._offset % dtype.itemsize
        own = offsets.astype(dtype).view(np.uint8)
        self.offsets += [np.zeros(padding, np.uint8), own]
        place = self._offset + padding
        self._offset = place + len(own)
        return place

    def write(self, out: Writer) -> None:
        """Writes the tails, and completes the places: directions with one target a key share a run of numbers."""
        if self._runs:
            for places, at, _ in self._runs:
                places[at] = self._key
            self.keys.append(np.arange(max(size for _, _, size in self._runs), dtype=np.uint32))
        for direction, own in zip(DIRECTIONS, self.targets, strict=True):
            out.extend(f"{direction}.targets", self.reader, own)
        out.extend("keys", self.reader, self.keys)
        out.extend("offsets", self.reader, self.offsets)


def _ids_of_nodes(terms: StoredTerms, some: Iterable[Term]) -> dict[Term, int]:
    """The id of each node among some terms; -1 for one that the projection lacks."""
    nodes = [term for term in dict.fromkeys(some) if isinstance(term, NamedNode | BlankNode)]
    return dict(zip(nodes, terms.find(nodes).tolist(), strict=True))


def _next_literals(
    terms: StoredTerms,
    nodes: Mapping[Term, int],
    added: Sequence[Term],
    removed: Sequence[Term],
    occurs: Callable[[Term], bool],
) -> _Literals | None:
    """The literals of the next tail; None where it would be large, or a node or a kind of literals comes or goes.

    Args:
        terms: of the earlier projection.
        nodes: the ids of the nodes among the terms.
        added: the distinct terms of triples that are new.
        removed: those of triples that have gone.
        occurs: whether a term is subject or object of a triple of the next projection.
    """
    base, tail, names = terms.base, terms.tail, terms.kinds
    gone, dropped, new = {*terms.gone.tolist()}, set[int](), list[Literal]()
    for term in added:
        if term in nodes:
            if nodes[term] < 0:
                return None
            continue
        assert isinstance(term, Literal)
        i = base.find(term)
        gone.discard(i)
        if i >= 0 or (tail is not None and tail.find(term) >= 0):
            continue
        if literal_key(term)[0] and names.find(tag_of(term), 0, len(names)) < 0:
            return None
        new.append(term)
    for term in removed:
        if occurs(term):
            continue
        if isinstance(term, NamedNode | BlankNode):
            return None
        assert isinstance(term, Literal)
        if (i := base.find(term)) >= 0:
            gone.add(i)
        elif tail is not None and (i := tail.find(term)) >= 0:
            dropped.add(i - base.part.end)
    new.sort(key=literal_key)
    n_old = 0 if tail is None else tail.part.end - tail.part.first
    places = [0 if tail is None else tail.place(literal) - base.part.end for literal in new]
    edit = ArrayEdit(n_old, np.array(sorted(dropped), np.int64), np.array(places, np.int64))
    size = sum(len(literal.value.encode()) for literal in new)
    if n_old:
        size += terms.literals.size(len(terms.literals.ranges()) - 1)[1]
    most = min(MAX_LITERALS, int(UNBOUND) - base.part.end - 1)
    if edit.new_size > most or size > MAX_BYTES or len(gone) > MAX_LITERALS:
        return None
    return _Literals(terms, edit, new, np.array(sorted(gone), np.uint32))


def _base_rows(reader: MappedArrays, name: str) -> int:
    """The rows of an array without its tail."""
    base = reader.base_rows(name)
    return reader.check(name)[1][0] if base is None else base


def _place(predicates: StoredPredicates, iri: str) -> list[int]:
    """The places of a predicate, int[PLACES]."""
    places = predicates.places(iri)
    assert places is not None
    return places
