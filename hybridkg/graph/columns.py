"""The arrays of the projection, as whoever evaluates patterns sees them.

Adjacency is DCSR: only sources that occur are listed, so a predicate costs nothing for the nodes that lack it
(design, numbers.md: 12 bytes a triple in both directions instead of 97 with one row array per predicate).
Literals are numbered in the order of their values (literals.py), so the backward adjacency of a predicate is its
sorted value column: a range of values is a range of ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import Ids
from hybridkg.rdf.terms import Term


@dataclass(frozen=True, slots=True)
class Adjacency:
    """One direction of one predicate.

    Args:
        keys: uint32[m], the ids that have a neighbour, ascending.
        offsets: unsigned[m + 1]; the neighbours of keys[i] are targets[offsets[i] : offsets[i + 1]].
        targets: uint32[triples], ascending within each key.
    """

    keys: Ids
    offsets: NDArray[Any]
    targets: Ids


@dataclass(frozen=True, slots=True)
class PredicateColumns:
    """The triples of one predicate: subject to objects, and object to subjects."""

    forward: Adjacency
    backward: Adjacency

    @property
    def triples(self) -> int:
        """How many."""
        return len(self.forward.targets)


class TermTable(Protocol):
    """Terms of the graph and their ids: entities, then other nodes, then literals by segment and value."""

    n_entities: int
    n_nodes: int
    n_terms: int

    @property
    def segments(self) -> Mapping[str, tuple[int, int]]:
        """For each segment of literals.SEGMENTS, its first id and the one after its last."""

    @property
    def values(self) -> NDArray[np.float64]:
        """float64[literals]: the number, or the seconds of a date, of each literal, from id `n_nodes` on; 0.0 for
        a string. Ascending within a segment.
        """

    def lexical(self, first: int, end: int) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        """The lexical forms in UTF-8 of the literals of ids first..end: (bytes, offsets[end - first + 1] into them)."""

    def terms(self, ids: Ids) -> list[Term | None]:
        """The term of each id; None for UNBOUND."""

    def find(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        """int64[len(terms)]: the id of each term, -1 for one that the graph does not have."""

    def id_of(self, term: Term) -> int:
        """The id of one term, -1 for one that the graph does not have."""


@dataclass(frozen=True)
class ProjectionColumns:
    """A projection, in memory or mapped.

    Args:
        terms: ids and their terms.
        predicates: by IRI; one that is missing has no triples.
        omitted: predicates of which triples were left out (their objects are triple terms, say), so nothing may be
            claimed about them.
    """

    terms: TermTable
    predicates: Mapping[str, PredicateColumns]
    omitted: frozenset[str]
