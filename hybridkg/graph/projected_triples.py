"""Lookups of the triples of many nodes at once in the projection, about ten times as fast as in the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hybridkg.entities.literal_texts import LiteralColumn
from hybridkg.entities.triple_lookups import StatedTriple, TripleLookups
from hybridkg.graph.columns import Adjacency, ProjectionColumns
from hybridkg.interfaces.graph_index import Ids
from hybridkg.rdf.terms import RDF_TYPE, BlankNode, NamedNode, Node, Term

MAX_PREDICATES = 256
"""Predicates of a graph that is read here: each is looked at (3 us), where a lookup does not say which it wants."""

BATCH = 10_000
"""Terms that are made at once, 2 us each."""

MAX_HELD = 100_000
"""Terms whose ids are kept from lookup to lookup."""


def projected_triples(columns: ProjectionColumns, ids: Mapping[Node, int] | None = None) -> ProjectedTriples | None:
    """Lookups in a projection, with the `ids` that are known; None where it lacks triples or has many predicates."""
    return None if columns.omitted or len(columns.predicates) > MAX_PREDICATES else ProjectedTriples(columns, ids)


class ProjectedTriples(TripleLookups):
    """Reads the triples of many nodes from a projection of the whole graph.

    Args:
        columns: none of whose predicates is omitted.
        ids: of some nodes of the projection.

    >>> from hybridkg.graph.build.reference_builder import columns_of
    >>> from hybridkg.rdf.terms import Triple
    >>> a, p, b = (NamedNode(f"e:{x}") for x in "apb")
    >>> [str(o) for _, _, o in ProjectedTriples(columns_of([Triple(a, p, b)])).outgoing([a, b])]
    ['<e:b>']
    """

    def __init__(self, columns: ProjectionColumns, ids: Mapping[Node, int] | None = None):
        self._terms = columns.terms
        self._predicates = {iri: (NamedNode(iri), predicate) for iri, predicate in columns.predicates.items()}
        self._ids: dict[Term, int] = dict((ids or {}).items())

    def outgoing(
        self, terms: Iterable[Term], only: Sequence[str] | None = None, without: Sequence[str] = ()
    ) -> Iterator[StatedTriple]:
        nodes, ids = self._known(term for term in terms if isinstance(term, NamedNode | BlankNode))
        for iri in self._chosen(only, without) if nodes else ():
            predicate, columns = self._predicates[iri]
            for row, term in self._pairs(columns.forward, ids):
                yield cast(Node, nodes[row]), predicate, term

    def incoming(
        self, terms: Iterable[Term], only: Sequence[str] | None = None, without: Sequence[str] = ()
    ) -> Iterator[StatedTriple]:
        ends, ids = self._known(terms)
        for iri in self._chosen(only, without) if ends else ():
            predicate, columns = self._predicates[iri]
            for row, term in self._pairs(columns.backward, ids):
                yield cast(Node, term), predicate, ends[row]

    def literals(self, ids: Ids, predicate: str) -> LiteralColumn:
        """The literals that nodes with distinct ids have by a predicate."""
        if predicate not in self._predicates:
            return LiteralColumn(np.zeros(0, np.int64), np.zeros(0, np.int64), [], [])
        rows, targets = _neighbours(self._predicates[predicate][1].forward, ids)
        is_literal = targets >= self._terms.n_nodes
        distinct, codes = np.unique(targets[is_literal], return_inverse=True)
        return LiteralColumn(rows[is_literal], codes, *self._terms.tagged(distinct))

    def in_graph(self, nodes: Iterable[Node]) -> set[Node]:
        every = [predicate for _, predicate in self._predicates.values()]
        return self._having(nodes, [column for p in every for column in (p.forward, p.backward)])

    def subjects_in(self, nodes: Iterable[Node]) -> set[Node]:
        return self._having(nodes, [predicate.forward for _, predicate in self._predicates.values()])

    def instances(self, nodes: Iterable[Node], classes: Sequence[str], types: Sequence[str] = (RDF_TYPE,)) -> set[Node]:
        known, ids = self._known(nodes)
        of_classes, is_instance = self._known(map(NamedNode, classes))[1], np.zeros(len(known), bool)
        for iri in self._chosen(types, ()):
            rows, targets = _neighbours(self._predicates[iri][1].forward, ids)
            is_instance[rows[np.isin(targets, of_classes)]] = True
        return {cast(Node, known[row]) for row in np.flatnonzero(is_instance).tolist()}

    def _pairs(self, column: Adjacency, ids: Ids) -> Iterator[tuple[int, Term]]:
        """(number of an id, neighbour of it in a direction), read in batches as they are asked for."""
        rows, neighbours = _neighbours(column, ids)
        for at in range(0, len(rows), BATCH):
            own = slice(at, at + BATCH)
            yield from zip(rows[own].tolist(), cast(list[Term], self._terms.terms(neighbours[own])), strict=True)

    def _having(self, nodes: Iterable[Node], columns: Iterable[Adjacency]) -> set[Node]:
        """The nodes that are a key of one of some directions."""
        known, ids = self._known(nodes)
        found = np.zeros(len(known), bool)
        for one in columns:
            found |= _places(one, ids) >= 0
        return {cast(Node, known[row]) for row in np.flatnonzero(found).tolist()}

    def _known(self, terms: Iterable[Term]) -> tuple[list[Term], Ids]:
        """The terms of the projection among some terms, and their ids."""
        terms = list(terms)
        ids = self._ids_of(terms)
        known = np.flatnonzero(ids >= 0)
        return [terms[place] for place in known.tolist()], ids[known].astype(np.uint32)

    def _ids_of(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        """The id of each of some terms; -1 for one that the projection lacks."""
        held = self._ids
        if new := [term for term in dict.fromkeys(terms) if term not in held]:
            if len(held) + len(new) > MAX_HELD:
                held.clear()
                new = list(dict.fromkeys(terms))
            held.update(zip(new, self._terms.find(new).tolist(), strict=True))
        return np.array([held[term] for term in terms], np.int64)

    def _chosen(self, only: Sequence[str] | None, without: Sequence[str]) -> list[str]:
        names = self._predicates if only is None else dict.fromkeys(only)
        return [iri for iri in names if iri in self._predicates and iri not in without]


def _places(column: Adjacency, ids: Ids) -> NDArray[np.int64]:
    """int64[n]: the place of each id among the keys of a direction; -1 for one that is no key."""
    if not len(column.keys):
        return np.full(len(ids), -1)
    places = np.minimum(column.keys.searchsorted(ids), len(column.keys) - 1)
    return np.where(column.keys[places] == ids, places, -1)


def _neighbours(column: Adjacency, ids: Ids) -> tuple[NDArray[np.int64], Ids]:
    """The neighbours of some ids in a direction: (int64[pairs], the number of the id of each, uint32[pairs])."""
    places = _places(column, ids)
    rows = np.flatnonzero(places >= 0)
    own = places[rows]
    begins, ends = column.offsets[own].astype(np.int64), column.offsets[own + 1].astype(np.int64)
    counts = ends - begins
    before = np.cumsum(counts) - counts
    targets = column.targets[np.arange(int(counts.sum())) + np.repeat(begins - before, counts)]
    return np.repeat(rows, counts), targets
