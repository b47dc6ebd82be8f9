"""Facets: counts of all matching entities, by type and by the properties that divide them well.

Many different numbers are counted by ranges, and dates by ranges of years, months or days (facet_ranges.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridkg.entities.profile.identifier_names import says_identifier
from hybridkg.interfaces.statistics import PredicateStatistics
from hybridkg.kb.search.facet_ranges import counted_ranges, is_measure
from hybridkg.kb.search.queries import MAX_FACET_VALUES, SearchQueries
from hybridkg.kb.search.result import Facet, FacetValue
from hybridkg.rdf.namespaces import last_part
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term, term_text
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
"""Triples for each distinct value, below which a property names rather than divides, unless its values are numbers or
dates."""

MAX_SINGLE_VALUES = 8
"""Numbers or dates that are listed one by one; more become ranges."""


def facets_of(queries: SearchQueries, matches: int, base: SearchedBase) -> tuple[Facet, ...]:
    """The types, then at most MAX_PROPERTIES properties with at least two values, the one of most entities first."""
    if not matches:
        return ()
    # One query for each: with a variable for the predicate, one for all of them takes a hundred times as long.
    candidates = _candidates(base)
    covered = {iri: base.count(queries.coverage(iri)) for iri in (*_typing(base), *candidates)}
    properties = [iri for iri in candidates if covered[iri] >= MIN_COVERAGE * matches]
    properties.sort(key=lambda iri: (-covered[iri], iri))
    typing = [iri for iri in _typing(base) if covered[iri]]
    facets = [_types(iri, covered[iri], queries, base, is_only=len(typing) == 1) for iri in typing]
    kept = 0
    for iri in properties:
        facet = _facet(candidates[iri], covered[iri], queries, base)
        if len(facet.counts) > 1 and kept < MAX_PROPERTIES:
            facets.append(facet)
            kept += 1
    return tuple(facets)


def _typing(base: SearchedBase) -> list[str]:
    """The predicates of hk:types that lead to a class."""
    return [iri for iri, classes in base.classes_by_predicate.items() if classes]


def _candidates(base: SearchedBase) -> dict[str, PredicateStatistics]:
    """Properties with few distinct values, or with numbers or dates, by the statistics of the graph; none without."""
    if base.statistics is None:
        return {}
    dividing = [
        one
        for one in base.statistics.predicates
        if one.iri not in (*base.type_predicates, *base.label_predicates)
        and one.objects > 1
        and (_has_few_values(one) or (is_measure(one) and not says_identifier(last_part(one.iri))))
    ]
    dividing.sort(key=lambda one: (-one.subjects, one.iri))
    return {one.iri: one for one in dividing[:MAX_CANDIDATES]}


def _has_few_values(one: PredicateStatistics) -> bool:
    return (
        one.objects <= MAX_FACET_VALUES
        and one.triples >= MIN_REPEATS * one.objects
        and (not one.frequent or one.frequent[0][0] is not None)  # None: the value is too long to be one of few
    )


def _types(predicate: str, entities: int, queries: SearchQueries, base: SearchedBase, *, is_only: bool) -> Facet:
    query = queries.facet(predicate)
    counted = _counted(query, base)
    names = base.class_names(value.value for value, _ in counted if isinstance(value, NamedNode))
    values = tuple(FacetValue(value, names.get(getattr(value, "value", ""), str(value)), n) for value, n in counted)
    name = "type" if is_only else f"type by {shortened(predicate, base.prefixes)}"
    return Facet(predicate, name, entities, values, query)


def _facet(predicate: PredicateStatistics, entities: int, queries: SearchQueries, base: SearchedBase) -> Facet:
    query = queries.facet(predicate.iri)
    counted = _counted(query, base)
    name = shortened(predicate.iri, base.prefixes)
    if is_measure(predicate) and len(counted) > MAX_SINGLE_VALUES:
        extremes, ranges = counted_ranges(predicate, queries, base)
        if ranges:
            return Facet(predicate.iri, name, entities, (), extremes, ranges)
    if not _has_few_values(predicate):  # few entities, with a number of its own each
        return Facet(predicate.iri, name, entities, (), query)
    labels = base.labels_of(value for value, _ in counted)
    shown = ((value, n, labels.get(value) if isinstance(value, NamedNode | BlankNode) else "") for value, n in counted)
    values = tuple(FacetValue(value, label or _shown(value, base), n) for value, n, label in shown)
    return Facet(predicate.iri, name, entities, values, query)


def _counted(query: str, base: SearchedBase) -> list[tuple[Term, int]]:
    return [
        (value, int(n.value))
        for value, n in base.query(query, name="facet").cells
        if value is not None and isinstance(n, Literal)
    ]


def _shown(value: Term, base: SearchedBase) -> str:
    if isinstance(value, NamedNode | BlankNode):
        return base.shortened(value)
    return value.value if isinstance(value, Literal) else term_text(value)
