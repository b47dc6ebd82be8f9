"""Facets: counts of all matching entities, by type and by the properties that divide them well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hybridkg.kb.search.queries import MAX_FACET_VALUES, SearchQueries
from hybridkg.kb.search.result import Facet, FacetValue
from hybridkg.rdf.terms import RDF_TYPE, BlankNode, Literal, NamedNode, Node, Term, term_text
from hybridkg.rdf.well_known import shortened

if TYPE_CHECKING:
    from hybridkg.kb.search.base import SearchedBase

MAX_PROPERTIES = 5
"""Facets of a search besides the types."""

MAX_CANDIDATES = 20
"""Properties whose coverage of the matching entities is counted, those of most subjects."""

MIN_COVERAGE = 0.2
"""Share of the matching entities that have a property, below which it is no facet."""

MIN_REPEATS = 2
"""Triples for each distinct value, below which a property names rather than divides."""


def facets_of(queries: SearchQueries, matches: int, base: SearchedBase) -> tuple[Facet, ...]:
    """The types, then at most MAX_PROPERTIES properties with 2 to 100 values, the one of most entities first."""
    if not matches:
        return ()
    # One query for each: with a variable for the predicate, one for all of them takes a hundred times as long.
    covered = {iri: base.count(queries.coverage(iri)) for iri in (RDF_TYPE, *_candidates(base))}
    properties = [iri for iri, n in covered.items() if iri != RDF_TYPE and n >= MIN_COVERAGE * matches]
    properties.sort(key=lambda iri: (-covered[iri], iri))
    facets = [_facet(RDF_TYPE, covered[RDF_TYPE], queries, base)] if covered[RDF_TYPE] else []
    kept = 0
    for iri in properties:
        facet = _facet(iri, covered[iri], queries, base)
        if len(facet.values) > 1 and kept < MAX_PROPERTIES:
            facets.append(facet)
            kept += 1
    return tuple(facets)


def _candidates(base: SearchedBase) -> list[str]:
    """Properties with few distinct values, by the statistics of the graph; none where there are no statistics."""
    if base.statistics is None:
        return []
    few = [
        one
        for one in base.statistics.predicates
        if one.iri not in (RDF_TYPE, *base.label_predicates)
        and 1 < one.objects <= MAX_FACET_VALUES
        and one.triples >= MIN_REPEATS * one.objects
        and (not one.frequent or one.frequent[0][0] is not None)  # None: the value is too long to be one of few
    ]
    return [one.iri for one in sorted(few, key=lambda one: (-one.subjects, one.iri))[:MAX_CANDIDATES]]


def _facet(predicate: str, entities: int, queries: SearchQueries, base: SearchedBase) -> Facet:
    query = queries.facet(predicate)
    counted = [
        (value, int(n.value))
        for value, n in base.query(query, name="facet").cells
        if value is not None and isinstance(n, Literal)
    ]
    labels = {} if predicate == RDF_TYPE else base.labels_of(value for value, _ in counted)
    values = tuple(FacetValue(value, _shown(value, labels, base), n) for value, n in counted)
    name = "type" if predicate == RDF_TYPE else shortened(predicate, base.prefixes)
    return Facet(predicate, name, entities, values, query)


def _shown(value: Term, labels: Mapping[Node, str], base: SearchedBase) -> str:
    if isinstance(value, NamedNode | BlankNode):
        return labels.get(value) or base.shortened(value)
    return value.value if isinstance(value, Literal) else term_text(value)
