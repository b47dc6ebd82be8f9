"""The columns of the projection: DCSR adjacency (Buluç and Gilbert, IPDPS 2008) and the term table.

DCSR lists only sources with a target: 12 bytes a triple in both directions, instead of 97 with one row array per
predicate. Literals have ids in value order (literal_order.py), so the backward adjacency of a predicate is its sorted
value column: a range of values is a range of ids in each part of the literals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.literal_order import FIRST_VALUED, SEGMENTS
from hybridkg.interfaces.graph_index import Ids
from hybridkg.rdf.term_texts import TaggedTexts, TermTexts
from hybridkg.rdf.terms import Term


@dataclass(frozen=True, slots=True)
class Adjacency:
    """One direction of one predicate.

    Args:
        keys: uint32[m], the ids with a neighbour, ascending.
        offsets: unsigned[m + 1]; the neighbours of keys[i] are targets[offsets[i] : offsets[i + 1]].
        targets: uint32[triples], ascending within each key.
    """

    keys: Ids
    offsets: NDArray[Any]
    targets: Ids


@dataclass(frozen=True, slots=True)
class PredicateColumns:
    """The triples of one predicate: subjects to objects (forward), and objects to subjects."""

    forward: Adjacency
    backward: Adjacency

    @property
    def triples(self) -> int:
        return len(self.forward.targets)


@dataclass(frozen=True)
class LiteralPart:
    """Literals with consecutive ids, in the order of literal_order.

    Args:
        segments: the ids first..end (exclusive) of each of literal_order.SEGMENTS.
        numbers: float64[literals from FIRST_VALUED on]: numbers, seconds of dates, 0.0 where there is no value;
            ascending in each segment.
        before: of a tail, uint32[literals], ascending: the literal of the base before which each belongs, or the id
            behind the last one. None for the base.
    """

    segments: Mapping[str, tuple[int, int]]
    numbers: NDArray[np.float64]
    before: Ids | None = None

    @property
    def first(self) -> int:
        return self.segments[SEGMENTS[0]][0]

    @property
    def end(self) -> int:
        return self.segments[SEGMENTS[-1]][1]

    def values(self, segment: str) -> NDArray[np.float64]:
        """float64[literals of a segment], ascending; `segment` is none of those before FIRST_VALUED."""
        (first, end), begin = self.segments[segment], self.segments[SEGMENTS[FIRST_VALUED]][0]
        return self.numbers[first - begin : end - begin]


class TermTable(Protocol):
    """The term table: ids of entities, then other nodes, then literals by segment and value.

    Literals that a commit adds are the *tail*: their ids follow those of all others, the *base*, and have their own
    order by segment and value.
    """

    n_entities: int
    n_nodes: int

    parts: tuple[LiteralPart, ...]
    """The base, and the tail where there is one."""

    gone: Ids
    """Ids of base literals that no triple has any more, ascending; `id_of` does not find them."""

    @property
    def n_terms(self) -> int:
        """Ids are below it."""

    def lexical(self, first: int, end: int) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        """The UTF-8 lexical forms of the first n of the literals first..end: (bytes, offsets[n + 1] into them).

        n is at least 1 where there is a literal, and at most end - first: forms that are not stored together need
        further calls.
        """

    def forms(self, ids: Ids, most: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The UTF-8 lexical forms of the first n of some literals, ascending: (bytes, offsets[n + 1] into them).

        n is at least 1 where there is a literal. Reading ends with the forms that are stored together with the one at
        which `most` bytes are reached: a piece of the projection at most.
        """

    def lengths(self, first: int, end: int) -> NDArray[np.int64]:
        """int64[end - first]: the bytes of the lexical forms of the literals first..end."""

    def terms(self, ids: Ids) -> list[Term | None]:
        """The term of each id; None for UNBOUND."""

    def tagged(self, ids: Ids) -> TaggedTexts:
        """As GraphIndex.tagged has it."""

    def texts(self, ids: Ids) -> TermTexts:
        """The text of each term of ascending ids, as GraphIndex.texts has it."""

    def find(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        """int64[len(terms)]: the id of each term; -1 for a term that is not in the graph."""

    def id_of(self, term: Term) -> int:
        """The id of a term; -1 for a term that is not in the graph."""


@dataclass(frozen=True)
class ProjectionColumns:
    """A projection, in memory or mapped.

    Args:
        terms: the term table.
        predicates: by IRI; a missing one has no triples.
        omitted: predicates with triples outside the projection (those with triple terms, say); it cannot answer them.
        populate: prepares mapped files of at most so many bytes for quick first accesses (MappedArrays.populate).
    """

    terms: TermTable
    predicates: Mapping[str, PredicateColumns]
    omitted: frozenset[str]
    populate: Callable[[float], None] = lambda most: None
