"""The stored projection: the header is read, all arrays are memory-mapped; docs/projection.md lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hybridkg.entities.node_table import NodeTable
from hybridkg.errors import CorruptError
from hybridkg.graph.columns import Adjacency, LiteralPart, PredicateColumns, ProjectionColumns
from hybridkg.graph.literal_order import FIRST_VALUED, SEGMENTS
from hybridkg.graph.stored_literal_part import StoredLiteralPart
from hybridkg.graph.stored_literals import StoredLiterals
from hybridkg.graph.stored_strings import StoredStrings
from hybridkg.interfaces.graph_index import UNBOUND, Ids
from hybridkg.rdf.gather import joined
from hybridkg.rdf.term_texts import (
    BLANK_KIND,
    BLANK_TAG,
    IRI_KIND,
    IRI_TAG,
    PLAIN_TAGS,
    STRING_KIND,
    UNBOUND_KIND,
    UNBOUND_TAG,
    TaggedTexts,
    TermTexts,
)
from hybridkg.rdf.terms import XSD_STRING, BlankNode, Literal, NamedNode, Node, Term
from hybridkg.storage.arrays import Array, FolderLayout, MappedArrays, smallest_unsigned

T = TypeVar("T")

LAYOUT = FolderLayout("hybridkg-projection", 4, "projection.json", "projection of the graph", (2, 3))

FOLDER = "projection"
"""The name of the folder in a generation."""

NODES = NamedNode, BlankNode

FOUND_TOGETHER = 16
"""Terms from which nodes are looked up together, which takes half the time of one by one."""

DIRECTIONS = ("forward", "backward")

TAIL_SEGMENTS = "tail_segments"
"""The key of the header with the segments of the literals that follow those of the base."""

TAIL_ARRAYS = "tail.values", "tail.kinds", "tail.places"
"""Of these literals: as `literals.values` and `literals.kinds`, and before which literal of the base each belongs."""

GONE = "gone"
"""The literals of the base that no triple has any more."""

TRIPLES = "predicates.triples"
"""The triples of each predicate, where their targets do not follow one another."""

PLACES = 7
"""Columns of `predicates.places`: the first target of a predicate; then for each direction its first key, the number of
its keys, and its first offset: a byte in `offsets`, or a place in `keys` if each key has one target."""

_UNBOUND = int(UNBOUND)
_FIRST = itemgetter(0)


class StoredTerms:
    """A memory-mapped TermTable; thread-safe. `terms` takes 1 to 2 us each, `id_of` a few us."""

    def __init__(self, reader: MappedArrays, nodes: NodeTable):
        self._nodes = nodes
        self.n_entities, self.n_nodes, self.n_terms = (
            int(reader.about(name)) for name in ("n_entities", "n_nodes", "n_terms")
        )
        self._others = StoredStrings(reader.array("others.text"), reader.array("others.offsets"))
        self._others_blank = int(reader.about("other_blank_nodes"))
        self.literals = StoredLiterals(reader)
        self.kinds = StoredStrings(reader.array("kinds.text"), reader.array("kinds.offsets"))
        segments, values = _segments(reader.about("segments")), reader.array("literals.values")
        valued = segments[SEGMENTS[-1]][1] - segments[SEGMENTS[FIRST_VALUED]][0]
        base = LiteralPart(segments, values[len(values) - valued :])  # earlier versions have values of strings, too
        self.base = StoredLiteralPart(base, reader.array("literals.kinds"), self.kinds, self.literals, self.n_nodes)
        self.tail: StoredLiteralPart | None = None
        self.gone: Ids = reader.array(GONE) if reader.has(GONE) else np.zeros(0, np.uint32)
        self.parts: tuple[LiteralPart, ...] = (base,)
        if TAIL_SEGMENTS in reader.header:
            values, kinds, places = (reader.array(name) for name in TAIL_ARRAYS)
            tail = LiteralPart(_segments(reader.about(TAIL_SEGMENTS)), values, places)
            self.tail = StoredLiteralPart(tail, kinds, self.kinds, self.literals, self.n_nodes)
            self.parts = base, tail

    def lexical(self, first: int, end: int) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        return self.literals.lexical(first - self.n_nodes, end - self.n_nodes)

    def forms(self, ids: Ids, most: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        return self.literals.gathered(ids - np.uint32(self.n_nodes), most)

    def lengths(self, first: int, end: int) -> NDArray[np.int64]:
        return self.literals.lengths(first - self.n_nodes, end - self.n_nodes)

    def terms(self, ids: Ids) -> list[Term | None]:
        numbers, n_entities, n_nodes = ids.tolist(), self.n_entities, self.n_nodes
        if not numbers or (last := max(numbers)) < n_entities:
            return [*self._nodes.listed(numbers)]
        first = min(numbers)
        if n_nodes <= first and last < _UNBOUND:
            return [*self._literals(numbers)]
        if n_entities <= first and last < n_nodes:
            return [*self._other_nodes([i - n_entities for i in numbers])]
        return self._merged(
            numbers,
            self._nodes.listed([i for i in numbers if i < n_entities]),
            self._other_nodes([i - n_entities for i in numbers if n_entities <= i < n_nodes]),
            self._literals([i for i in numbers if n_nodes <= i < _UNBOUND]),
            None,
        )

    def tagged(self, ids: Ids) -> TaggedTexts:
        numbers, n_entities, n_nodes = ids.tolist(), self.n_entities, self.n_nodes
        if not numbers or max(numbers) < n_entities:
            return _tagged_nodes(self._nodes.strings(numbers))
        if n_nodes <= min(numbers) and max(numbers) < _UNBOUND:
            return self._tags_of(numbers), self._texts_of(numbers)
        tags, texts = _tagged_nodes(self._nodes.strings([i for i in numbers if i < n_entities]))
        others = [i - n_entities for i in numbers if n_entities <= i < n_nodes]
        literals = [i for i in numbers if n_nodes <= i < _UNBOUND]
        pairs = self._merged(
            numbers,
            zip(tags, texts, strict=True),
            zip(self._tags_of_others(others), self._others.strings(others), strict=True),
            zip(self._tags_of(literals), self._texts_of(literals), strict=True),
            (UNBOUND_TAG, ""),
        )
        return [tag for tag, _ in pairs], [text for _, text in pairs]

    def _merged(
        self, numbers: list[int], entities: Iterable[T], others: Iterable[T], literals: Iterable[T], unbound: T
    ) -> list[T]:
        """What the entities, the other nodes and the literals among some ids have, in the order of the ids."""
        n_entities, n_nodes = self.n_entities, self.n_nodes
        of_entities, of_others, of_literals = iter(entities), iter(others), iter(literals)
        return [
            next(of_entities) if i < n_entities
            else next(of_others) if i < n_nodes
            else next(of_literals) if i < _UNBOUND
            else unbound
            for i in numbers
        ]  # fmt: skip

    def texts(self, ids: Ids) -> TermTexts:
        entities, others, literals, unbound = np.split(
            ids, np.searchsorted(ids, [self.n_entities, self.n_nodes, self.n_terms])
        )
        node_text, node_offsets, is_blank = self._nodes.gathered(entities)
        other_text, other_offsets = self._others.gathered(others - np.uint32(self.n_entities))
        literal_text, literal_offsets = self.literals.gathered(literals - np.uint32(self.n_nodes))
        kinds = np.concatenate(
            [
                np.where(is_blank, BLANK_KIND, IRI_KIND),
                np.where(others < self.n_entities + self._others_blank, BLANK_KIND, IRI_KIND),
                *(self._kinds_in(part, literals) for part in (self.base, self.tail) if part is not None),
                np.full(len(unbound), UNBOUND_KIND),
            ]
        )
        parts = [(node_text, node_offsets), (other_text, other_offsets), (literal_text, literal_offsets)]
        parts.append((literal_text[:0], np.zeros(len(unbound) + 1, np.int64)))
        return TermTexts(self._tags, kinds, *joined([part for part in parts if len(part[1]) > 1]))

    @staticmethod
    def _kinds_in(stored: StoredLiteralPart, literals: Ids) -> NDArray[np.int64]:
        """The kind of TermTexts of those of some literals, ascending, that are in a part."""
        ends = [stored.part.first, stored.strings_end, stored.part.end]
        _, strings, others, _ = np.split(literals, np.searchsorted(literals, ends))
        numbers = np.asarray(stored.kind_of)[others - np.uint32(stored.strings_end)].astype(np.int64)
        return np.concatenate([np.full(len(strings), STRING_KIND), numbers + len(PLAIN_TAGS)])

    @cached_property
    def _tags(self) -> tuple[str, ...]:
        return *PLAIN_TAGS, *map(self.kinds.string, range(len(self.kinds)))

    def find(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        if len(terms) < FOUND_TOGETHER:
            return np.array([self.id_of(term) for term in terms], np.int64)
        nodes = [i for i, term in enumerate(terms) if isinstance(term, NODES)]
        found = np.full(len(terms), -1, np.int64)
        found[nodes] = self._nodes.find_many(cast(list[Node], [terms[i] for i in nodes]))
        for i in np.flatnonzero(found < 0).tolist():
            found[i] = self.id_of(terms[i])
        return found

    def id_of(self, term: Term) -> int:
        if isinstance(term, NODES):
            node = self._nodes.find(term)
            if node is not None:
                return node
            n, blank = self.n_entities, self._others_blank
            first, end = (blank, self.n_nodes - n) if isinstance(term, NamedNode) else (0, blank)
            place = self._others.find(term.value.encode(), first, end)
            return place if place < 0 else place + n
        return self._find_literal(term) if isinstance(term, Literal) else -1

    def _find_literal(self, literal: Literal) -> int:
        if getattr(literal, "direction", None) is not None:
            return -1
        found = self.base.find(literal)
        if found < 0 and self.tail is not None:
            found = self.tail.find(literal)
        return -1 if found >= 0 and len(self.gone) and self.is_gone(found) else found

    def is_gone(self, i: int) -> bool:
        """Whether no triple has a literal any more."""
        place = int(self.gone.searchsorted(np.uint32(i)))
        return place < len(self.gone) and int(self.gone[place]) == i

    def _other_nodes(self, places: Sequence[int]) -> list[Node]:
        """The nodes at some places among those that are no entities."""
        texts, blank = self._others.strings(places), self._others_blank
        return [BlankNode(text) if i < blank else NamedNode(text) for i, text in zip(places, texts, strict=True)]

    def _tags_of_others(self, places: Sequence[int]) -> list[str]:
        return [BLANK_TAG if i < self._others_blank else IRI_TAG for i in places]

    def _texts_of(self, literals: Sequence[int]) -> list[str]:
        n_nodes = self.n_nodes
        return self.literals.strings([i - n_nodes for i in literals])

    def _kinds_of(self, literals: Sequence[int]) -> list[int]:
        """The number of the language or datatype of each literal; -1 for a plain string."""
        tail, end, kind_of = self.tail, self.base.strings_end, self.base.kind_of
        if tail is None or max(literals, default=0) < (first := tail.part.first):
            return [-1 if i < end else kind_of[i - end] for i in literals]
        kind = tail.kind
        return [-1 if i < end else kind_of[i - end] if i < first else kind(i) for i in literals]

    def _tags_of(self, literals: Sequence[int]) -> list[str]:
        """The tags of some literals."""
        tags, first = self._tags, len(PLAIN_TAGS)
        return [XSD_STRING.value if kind < 0 else tags[first + kind] for kind in self._kinds_of(literals)]

    def _literals(self, literals: Sequence[int]) -> list[Literal]:
        makers = self._makers
        return [
            Literal(text) if kind < 0 else makers[kind](text)
            for kind, text in zip(self._kinds_of(literals), self._texts_of(literals), strict=True)
        ]

    @cached_property
    def _makers(self) -> list[Callable[[str], Literal]]:
        """The function of a text that makes a literal, by the number of its kind."""
        tags = self._tags[len(PLAIN_TAGS) :]
        return [
            partial(Literal, language=tag[1:]) if tag.startswith("@") else partial(Literal, datatype=NamedNode(tag))
            for tag in tags
        ]


def _segments(bounds: Sequence[Sequence[int]]) -> dict[str, tuple[int, int]]:
    """The segments of a part, as the header has them."""
    return {name: (int(first), int(end)) for name, (first, end) in zip(SEGMENTS, bounds, strict=True)}


def _tagged_nodes(texts: list[str]) -> TaggedTexts:
    """Tags and texts of nodes that are written as NodeTable has them."""
    if "_" not in map(_FIRST, texts):  # an IRI begins with a letter
        return [IRI_TAG] * len(texts), texts
    tags = [BLANK_TAG if text.startswith("_:") else IRI_TAG for text in texts]
    return tags, [text.removeprefix("_:") for text in texts]


class StoredPredicates(Mapping[str, PredicateColumns]):
    """The predicates by IRI: slices of the mapped arrays, cached at the first request."""

    def __init__(self, reader: MappedArrays):
        self._names = StoredStrings(reader.array("predicates.text"), reader.array("predicates.offsets"))
        self._places: Array = reader.array("predicates.places")
        self._keys, self._offsets = reader.array("keys"), reader.array("offsets")
        self._targets = [reader.array(f"{direction}.targets") for direction in DIRECTIONS]
        self._triples: Array | None = reader.array(TRIPLES) if reader.has(TRIPLES) else None
        self._made: dict[str, PredicateColumns] = {}

    @property
    def shape(self) -> tuple[int, ...]:
        return self._places.shape

    @property
    def triples(self) -> int:
        """Triples of all predicates."""
        return int(self._places[-1, 0] if self._triples is None else self._triples.sum())

    @property
    def end(self) -> int:
        """The place behind the last target."""
        return int(self._places[-1, 0])

    def places(self, iri: str) -> list[int] | None:
        """The places of a predicate, int[PLACES]; None for one without a triple."""
        number = self._names.find(iri.encode("utf-8", "surrogatepass"), 0, len(self._names))
        return None if number < 0 else [int(place) for place in self._places[number]]

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return map(self._names.string, range(len(self)))

    def __getitem__(self, iri: str) -> PredicateColumns:
        predicate = self._made.get(iri)
        if predicate is None:
            number = self._names.find(iri.encode("utf-8", "surrogatepass"), 0, len(self._names))
            if number < 0:
                raise KeyError(iri)
            predicate = self._made[iri] = self._predicate(number)
        return predicate

    def _predicate(self, number: int) -> PredicateColumns:
        begin, after = self._places[number : number + 2].tolist()
        end = after[0] if self._triples is None else begin[0] + int(self._triples[number])
        forward, backward = (
            self._adjacency(begin[1 + 3 * i : 4 + 3 * i], targets[begin[0] : end])
            for i, targets in enumerate(self._targets)
        )
        return PredicateColumns(forward, backward)

    def _adjacency(self, place: list[int], targets: Array) -> Adjacency:
        first, count, at = place
        if len(targets) == count:  # the offsets are 0, 1, 2, ..., a run that `keys` has, too
            offsets = self._keys[at : at + count + 1]
        else:
            dtype = smallest_unsigned(len(targets))
            offsets = self._offsets[at : at + (count + 1) * dtype.itemsize].view(dtype)
        return Adjacency(self._keys[first : first + count], offsets, targets)


def about(folder: Path) -> dict[str, Any]:
    """The header of a projection: counts, segments, sizes.

    Raises:
        CorruptError: it is missing or unreadable.
    """
    return MappedArrays(LAYOUT, folder).header


def open_columns(folder: Path, nodes: NodeTable, *, union_default_graph: bool) -> ProjectionColumns:
    """Opens the projection in a folder.

    `nodes` is the node table of its generation, `union_default_graph` the current setting of the knowledge base.

    Raises:
        CorruptError: a file is missing, damaged, of another version, or of another graph.
    """
    reader = MappedArrays(LAYOUT, folder)
    if reader.about("union_default_graph") != union_default_graph:
        raise CorruptError(
            "the projection was built for another default graph than kb.toml sets",
            hint="index again",
            place=str(folder),
        )
    try:
        terms, predicates = StoredTerms(reader, nodes), StoredPredicates(reader)
        omitted = frozenset(str(iri) for iri in reader.about("omitted"))
        whole = _fits(reader, terms, predicates)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as e:
        raise CorruptError(
            f"the header of the projection is damaged: {e}", hint="index again", place=str(folder)
        ) from e
    if terms.n_entities != len(nodes) or not whole:
        raise CorruptError("the projection does not belong to this generation", hint="index again", place=str(folder))
    return ProjectionColumns(terms, predicates, omitted, lambda most: reader.populate(most=most))


def _fits(reader: MappedArrays, terms: StoredTerms, predicates: StoredPredicates) -> bool:
    """Whether the lengths of the arrays agree; opening has compared them with the sizes of the files."""
    n_literals, base, tail = terms.n_terms - terms.n_nodes, terms.base, terms.tail
    ends = [terms.n_nodes, *(place for part in terms.parts for pair in part.segments.values() for place in pair)]
    lengths = {name: int(declared["shape"][0]) for name, declared in reader.about("arrays").items()}
    return (
        terms.n_entities <= terms.n_nodes <= terms.n_terms <= _UNBOUND
        and [*ends, terms.n_terms] == sorted([*ends, terms.n_terms])
        and terms.parts[-1].end == terms.n_terms
        and len(terms.literals) == n_literals
        and lengths["literals.values"] in (base.part.end - terms.n_nodes, _valued(base.part))
        and lengths["literals.kinds"] == base.part.end - base.strings_end
        and (tail is None or [lengths[name] for name in TAIL_ARRAYS] == _tail_lengths(tail))
        and lengths["others.offsets"] - 1 == terms.n_nodes - terms.n_entities
        and predicates.shape == (lengths["predicates.offsets"], PLACES)
        and (tail is None or _has_tails(reader, lengths, predicates.shape[0] - 1))
        and all(lengths[f"{direction}.targets"] == predicates.end for direction in DIRECTIONS)
    )


def _has_tails(reader: MappedArrays, lengths: Mapping[str, int], n_predicates: int) -> bool:
    """Whether the arrays that a projection with a tail has are there, with their types."""
    types = {name: reader.check(name)[0].str for name in (*TAIL_ARRAYS, GONE, TRIPLES) if name in lengths}
    return (
        types.get(TAIL_ARRAYS[0]) == "<f8"
        and types.get(TAIL_ARRAYS[2]) == types.get(GONE) == "<u4"
        and types.get(TRIPLES) == "<u8"
        and lengths[TRIPLES] == n_predicates
        and all(reader.base_rows(f"{direction}.targets") is not None for direction in DIRECTIONS)
    )


def _valued(part: LiteralPart) -> int:
    """The literals of the segments with values."""
    return part.end - part.segments[SEGMENTS[FIRST_VALUED]][0]


def _tail_lengths(tail: StoredLiteralPart) -> list[int]:
    part = tail.part
    return [_valued(part), part.end - tail.strings_end, part.end - part.first]
