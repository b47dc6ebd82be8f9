"""The terms of a projection with its predicates: a predicate that is no node has an id after those of the literals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import ProjectionColumns
from hybridkg.interfaces.graph_index import UNBOUND, Ids
from hybridkg.rdf.term_texts import TaggedTexts, TermTexts, tagged
from hybridkg.rdf.terms import NamedNode, Term

MAX_PREDICATES = 300
"""In graphs with more predicates the store answers triple patterns with a variable predicate: `:x ?p ?o` looks for :x
in each. With 10, 100, 300 and 1,000 predicates that takes 0.04, 0.12, 0.28 and 0.82 ms (2-core machine), and for 20
subjects 0.4, 2.2, 7.6 and 12 ms; Oxigraph on disk takes 0.1 ms for one."""


_UNBOUND = int(UNBOUND)


class PredicateTerms:
    """A TermTable with all predicates.

    `?s ?p ?o` binds ?p to a node where the predicate is a node, too, so that joins find it; the other predicates are
    numbered in the order of their IRIs, as the order of terms is.

    >>> from hybridkg.graph.build.reference_builder import columns_of
    >>> from hybridkg.rdf.terms import Triple
    >>> a, p, q = (NamedNode(f"e:{x}") for x in "apq")
    >>> terms = PredicateTerms(columns_of([Triple(a, p, q), Triple(a, q, q)]))
    >>> terms.n_terms, terms.predicate_ids.tolist(), terms.id_of(p)
    (3, [2, 1], 2)
    """

    def __init__(self, columns: ProjectionColumns):
        self._columns, self.base = columns, columns.terms
        self.n_entities, self.n_nodes = self.base.n_entities, self.base.n_nodes
        self.parts, self.gone = self.base.parts, self.base.gone

    @cached_property
    def predicates(self) -> tuple[str, ...]:
        """The IRIs of all predicates, ascending; none if they are too many."""
        names = self._columns.predicates
        fits = len(names) <= MAX_PREDICATES and self.base.n_terms + len(names) <= int(UNBOUND)
        return tuple(sorted(names)) if fits else ()

    @cached_property
    def predicate_ids(self) -> Ids:
        """uint32[predicates]: the id of each of `predicates`."""
        found = self.base.find([NamedNode(iri) for iri in self.predicates])
        outside = found < 0
        found[outside] = np.arange(np.count_nonzero(outside)) + self.base.n_terms
        return found.astype(np.uint32)

    @cached_property
    def _outside(self) -> tuple[NamedNode, ...]:
        """The predicates that are no nodes, by id from the first."""
        numbered = zip(self.predicates, self.predicate_ids.tolist(), strict=True)
        return tuple(NamedNode(iri) for iri, i in numbered if i >= self.base.n_terms)

    @cached_property
    def _id_of_outside(self) -> dict[Term, int]:
        return {term: self.base.n_terms + place for place, term in enumerate(self._outside)}

    @property
    def n_terms(self) -> int:
        return self.base.n_terms + len(self._outside)

    def lexical(self, first: int, end: int) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        return self.base.lexical(first, end)

    def forms(self, ids: Ids, most: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        return self.base.forms(ids, most)

    def lengths(self, first: int, end: int) -> NDArray[np.int64]:
        return self.base.lengths(first, end)

    def terms(self, ids: Ids) -> list[Term | None]:
        places = self._outside_places(ids)
        if not places:
            return self.base.terms(ids)
        among = ids.copy()
        among[places] = UNBOUND
        found = self.base.terms(among)
        for at in places:
            found[at] = self._outside[ids[at] - self.base.n_terms]
        return found

    def _outside_places(self, ids: Ids) -> Sequence[int]:
        """The places of predicates that are no nodes, among a few ids."""
        numbers, first = ids.tolist(), self.base.n_terms
        if not numbers or max(numbers) < first:
            return ()
        return [at for at, i in enumerate(numbers) if first <= i < _UNBOUND]

    def _has_outside(self, ids: Ids) -> bool:
        """Whether an id is that of a predicate that is no node; one comparison for most answers."""
        if not len(ids) or ids.max() < self.base.n_terms:
            return False
        return bool(((ids >= self.base.n_terms) & (ids != UNBOUND)).any())

    def tagged(self, ids: Ids) -> TaggedTexts:
        return tagged(self.terms(ids)) if self._outside_places(ids) else self.base.tagged(ids)

    def texts(self, ids: Ids) -> TermTexts:
        if not self._has_outside(ids):
            return self.base.texts(ids)
        texts = TermTexts.of(self.terms(ids))
        assert texts is not None  # no triple has an id
        return texts

    def find(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        found = self.base.find(terms)
        for at in np.flatnonzero(found < 0).tolist():
            found[at] = self._id_of_outside.get(terms[at], -1)
        return found

    def id_of(self, term: Term) -> int:
        i = self.base.id_of(term)
        return i if i >= 0 else self._id_of_outside.get(term, -1)
