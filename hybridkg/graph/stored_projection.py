"""The stored projection: the header is read, all arrays are memory-mapped; docs/projection.md lists them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.entities.node_table import NodeTable
from hybridkg.errors import CorruptError
from hybridkg.graph.columns import Adjacency, PredicateColumns, ProjectionColumns
from hybridkg.graph.literal_order import FIRST_VALUED, SEGMENTS, literal_key
from hybridkg.graph.stored_literals import StoredLiterals
from hybridkg.graph.stored_strings import StoredStrings, view
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

LAYOUT = FolderLayout("hybridkg-projection", 3, "projection.json", "projection of the graph", (2,))

FOLDER = "projection"
"""The name of the folder in a generation."""

NODES = NamedNode, BlankNode

DIRECTIONS = ("forward", "backward")

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
        self.segments: Mapping[str, tuple[int, int]] = {
            name: (int(first), int(end)) for name, (first, end) in zip(SEGMENTS, reader.about("segments"), strict=True)
        }
        self._values: NDArray[np.float64] = reader.array("literals.values")
        self._first_value = self.n_terms - len(self._values)
        self._others = StoredStrings(reader.array("others.text"), reader.array("others.offsets"))
        self._others_blank = int(reader.about("other_blank_nodes"))
        self.literals = StoredLiterals(reader)
        self._kinds = StoredStrings(reader.array("kinds.text"), reader.array("kinds.offsets"))
        self._kind_of = view(reader.array("literals.kinds"))
        self._strings = self.segments["string"][1] - self.n_nodes
        self._values_view = view(self._values)

    def lexical(self, first: int, end: int) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        return self.literals.lexical(first - self.n_nodes, end - self.n_nodes)

    def forms(self, ids: Ids, most: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        return self.literals.gathered(ids - np.uint32(self.n_nodes), most)

    def lengths(self, first: int, end: int) -> NDArray[np.int64]:
        return self.literals.lengths(first - self.n_nodes, end - self.n_nodes)

    def values(self, segment: str) -> NDArray[np.float64]:
        first, end = self.segments[segment]
        return self._values[first - self._first_value : end - self._first_value]

    def terms(self, ids: Ids) -> list[Term | None]:
        numbers, n_entities, n_nodes = ids.tolist(), self.n_entities, self.n_nodes
        if not numbers or (last := max(numbers)) < n_entities:
            return [*self._nodes.listed(numbers)]
        first = min(numbers)
        if n_nodes <= first and last < _UNBOUND:
            return [*self._literals([i - n_nodes for i in numbers])]
        if n_entities <= first and last < n_nodes:
            return [*self._other_nodes([i - n_entities for i in numbers])]
        return self._merged(
            numbers,
            self._nodes.listed([i for i in numbers if i < n_entities]),
            self._other_nodes([i - n_entities for i in numbers if n_entities <= i < n_nodes]),
            self._literals([i - n_nodes for i in numbers if n_nodes <= i < _UNBOUND]),
            None,
        )

    def tagged(self, ids: Ids) -> TaggedTexts:
        numbers, n_entities, n_nodes = ids.tolist(), self.n_entities, self.n_nodes
        if not numbers or max(numbers) < n_entities:
            return _tagged_nodes(self._nodes.strings(numbers))
        if n_nodes <= min(numbers) and max(numbers) < _UNBOUND:
            places = [i - n_nodes for i in numbers]
            return self._tags_of(places), self.literals.strings(places)
        tags, texts = _tagged_nodes(self._nodes.strings([i for i in numbers if i < n_entities]))
        others = [i - n_entities for i in numbers if n_entities <= i < n_nodes]
        literals = [i - n_nodes for i in numbers if n_nodes <= i < _UNBOUND]
        pairs = self._merged(
            numbers,
            zip(tags, texts, strict=True),
            zip(self._tags_of_others(others), self._others.strings(others), strict=True),
            zip(self._tags_of(literals), self.literals.strings(literals), strict=True),
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
        ends = [self.n_entities, self.n_nodes, self.n_nodes + self._strings, self.n_terms]
        entities, others, strings, literals, unbound = np.split(ids, np.searchsorted(ids, ends))
        node_text, node_offsets, is_blank = self._nodes.gathered(entities)
        other_text, other_offsets = self._others.gathered(others - np.uint32(self.n_entities))
        places = np.concatenate([strings, literals]) - np.uint32(self.n_nodes)
        literal_text, literal_offsets = self.literals.gathered(places)
        kind_of = np.asarray(self._kind_of)[literals - np.uint32(ends[2])]
        kinds = np.concatenate(
            [
                np.where(is_blank, BLANK_KIND, IRI_KIND),
                np.where(others < self.n_entities + self._others_blank, BLANK_KIND, IRI_KIND),
                np.full(len(strings), STRING_KIND),
                kind_of.astype(np.int64) + len(PLAIN_TAGS),
                np.full(len(unbound), UNBOUND_KIND),
            ]
        )
        parts = [(node_text, node_offsets), (other_text, other_offsets), (literal_text, literal_offsets)]
        parts.append((literal_text[:0], np.zeros(len(unbound) + 1, np.int64)))
        return TermTexts(self._tags, kinds, *joined([part for part in parts if len(part[1]) > 1]))

    @cached_property
    def _tags(self) -> tuple[str, ...]:
        return *PLAIN_TAGS, *map(self._kinds.string, range(len(self._kinds)))

    def find(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        return np.array([self.id_of(term) for term in terms], np.int64)

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
        segment, value, _ = literal_key(literal)
        first, end = self.segments[SEGMENTS[segment]]
        first, end = first - self.n_nodes, end - self.n_nodes
        if first == end:
            return -1
        if segment >= FIRST_VALUED:
            shift = self._first_value - self.n_nodes
            first, end = self._equal(self._values_view, value, first - shift, end - shift)
            first, end = first + shift, end + shift
        if segment > 0:
            tag = literal.datatype.value if literal.language is None else f"@{literal.language}"
            kind = self._kinds.find(tag.encode(), 0, len(self._kinds))
            strings = self._strings
            first, end = self._equal(self._kind_of, kind, first - strings, end - strings)
            first, end = first + strings, end + strings
        place = self.literals.find(literal.value.encode(), first, end)
        return place if place < 0 else place + self.n_nodes

    @staticmethod
    def _equal(sorted_values: Any, value: float, first: int, end: int) -> tuple[int, int]:
        first = bisect_left(sorted_values, value, first, end)
        if first == end or sorted_values[first] != value:
            return first, first
        if first + 1 == end or sorted_values[first + 1] != value:
            return first, first + 1
        return first, bisect_right(sorted_values, value, first, end)

    def _other_nodes(self, places: Sequence[int]) -> list[Node]:
        """The nodes at some places among those that are no entities."""
        texts, blank = self._others.strings(places), self._others_blank
        return [BlankNode(text) if i < blank else NamedNode(text) for i, text in zip(places, texts, strict=True)]

    def _tags_of_others(self, places: Sequence[int]) -> list[str]:
        return [BLANK_TAG if i < self._others_blank else IRI_TAG for i in places]

    def _tags_of(self, places: Sequence[int]) -> list[str]:
        """The tags of the literals at some places."""
        strings, kind_of, tags = self._strings, self._kind_of, self._tags
        first = len(PLAIN_TAGS)
        return [XSD_STRING.value if i < strings else tags[first + kind_of[i - strings]] for i in places]

    def _literals(self, places: Sequence[int]) -> list[Literal]:
        """The literals at some places."""
        strings, kind_of, makers = self._strings, self._kind_of, self._makers
        return [
            Literal(text) if i < strings else makers[kind_of[i - strings]](text)
            for i, text in zip(places, self.literals.strings(places), strict=True)
        ]

    @cached_property
    def _makers(self) -> list[Callable[[str], Literal]]:
        """The function of a text that makes a literal, by the number of its kind."""
        tags = self._tags[len(PLAIN_TAGS) :]
        return [
            partial(Literal, language=tag[1:]) if tag.startswith("@") else partial(Literal, datatype=NamedNode(tag))
            for tag in tags
        ]


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
        self._made: dict[str, PredicateColumns] = {}

    @property
    def shape(self) -> tuple[int, ...]:
        return self._places.shape

    @property
    def triples(self) -> int:
        return int(self._places[-1, 0])

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
        begin, end = self._places[number : number + 2].tolist()
        forward, backward = (
            self._adjacency(begin[1 + 3 * i : 4 + 3 * i], targets[begin[0] : end[0]])
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
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as e:
        raise CorruptError(
            f"the header of the projection is damaged: {e}", hint="index again", place=str(folder)
        ) from e
    if terms.n_entities != len(nodes) or not whole:
        raise CorruptError("the projection does not belong to this generation", hint="index again", place=str(folder))
    return ProjectionColumns(terms, predicates, omitted, lambda most: reader.populate(most=most))


def _fits(reader: MappedArrays, terms: StoredTerms, predicates: StoredPredicates) -> bool:
    """Whether the lengths of the arrays agree; opening has compared them with the sizes of the files."""
    n_literals = terms.n_terms - terms.n_nodes
    ends = [terms.n_nodes, *(place for pair in terms.segments.values() for place in pair), terms.n_terms]
    lengths = {name: int(declared["shape"][0]) for name, declared in reader.about("arrays").items()}
    return (
        terms.n_entities <= terms.n_nodes <= terms.n_terms <= _UNBOUND
        and ends == sorted(ends)
        and len(terms.literals) == n_literals
        and lengths["literals.values"] in (n_literals, terms.n_terms - terms.segments[SEGMENTS[FIRST_VALUED]][0])
        and lengths["literals.kinds"] == n_literals - (terms.segments["string"][1] - terms.n_nodes)
        and lengths["others.offsets"] - 1 == terms.n_nodes - terms.n_entities
        and predicates.shape == (lengths["predicates.offsets"], PLACES)
        and all(lengths[f"{direction}.targets"] == predicates.triples for direction in DIRECTIONS)
    )
