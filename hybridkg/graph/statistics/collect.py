"""The collection of statistics: one pass over the offsets of each predicate of a projection, and two over its subjects.

6.7 million triples take about a second; memory is that of a few chunks, independent of the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybridkg.graph.literal_order import SEGMENTS
from hybridkg.graph.statistics.catalog import MAX_FREQUENT, MAX_TERM_LENGTH, Others, Statistics
from hybridkg.graph.statistics.grouping import MAX_MEMBERS, MAX_SETS, find_sets
from hybridkg.graph.statistics.histograms import degree_quantiles, equi_depth, most_frequent
from hybridkg.graph.statistics.objects_in_order import objects_in_order, ranks
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.statistics import Bucket, PredicateStatistics
from hybridkg.rdf.terms import RDF_TYPE, NamedNode, Term

if TYPE_CHECKING:
    from hybridkg.graph.columns import Adjacency, PredicateColumns, ProjectionColumns, TermTable
    from hybridkg.graph.statistics.earlier_statistics import EarlierStatistics

WITH_VALUES = ("number", "datetime zoned", "datetime", "date zoned", "date")
"""Segments of literals (graph/literal_order.py) with a numeric order."""

MAX_PREDICATES = 1_000
"""The maximum number of predicates with their own statistics, at most 25 kB each in the file."""

MAX_CLASSES = 1_000
"""The maximum number of listed classes."""


def collect(
    columns: ProjectionColumns,
    progress: Progress = SILENT,
    earlier: EarlierStatistics | None = None,
    *,
    most_predicates: int = MAX_PREDICATES,
    most_classes: int = MAX_CLASSES,
    most_sets: int = MAX_SETS,
    most_members: int = MAX_MEMBERS,
) -> Statistics:
    """Collects the statistics of a projection.

    Args:
        columns: the projection.
        progress: counts triples.
        earlier: spares what has not changed.
        most_predicates: maximum number of predicates with their own statistics.
        most_classes: maximum number of listed classes.
        most_sets: maximum number of characteristic sets.
        most_members: maximum total number of their predicates.

    >>> from hybridkg.graph.build.reference_builder import columns_of
    >>> from hybridkg.rdf.terms import Literal, Triple
    >>> a, b, p = (NamedNode(f"e:{x}") for x in "abp")
    >>> statistics = collect(columns_of([Triple(a, p, Literal(1)), Triple(b, p, Literal(1)), Triple(b, p, a)]))
    >>> statistics.predicate("e:p").frequent
    (('"1"^^<http://www.w3.org/2001/XMLSchema#integer>', 2),)
    """
    progress.start("counting statistics", None)
    ordered = sorted(
        ((iri, predicate) for iri, predicate in columns.predicates.items() if predicate.triples),
        key=lambda item: (-item[1].triples, item[0]),
    )
    listed = []
    for iri, predicate in ordered[:most_predicates]:
        own = None if earlier is None else earlier.predicate(iri)
        listed.append(own or describe(iri, predicate, columns.terms))
        progress.advance(0, predicate.triples)
    rare = [predicate.triples for _, predicate in ordered[most_predicates:]]
    progress.advance(0, sum(rare))
    known_classes = None if earlier is None else earlier.classes()
    classes, other_classes = known_classes or _classes(columns, most_classes)
    known_sets = None if earlier is None else earlier.sets(columns, most_sets, most_members)
    sets = known_sets or find_sets(columns, most_sets, most_members)
    triples = sum(predicate.triples for _, predicate in ordered)
    progress.done(triples)
    return Statistics(
        triples,
        sets.others + sum(one.subjects for one in sets.sets),
        columns.terms.n_entities,
        columns.terms.n_nodes,
        columns.terms.n_terms - len(columns.terms.gone),
        tuple(listed),
        Others(len(rare), sum(rare), max(rare, default=0)),
        classes,
        other_classes,
        sets,
        tuple(sorted(columns.omitted)),
    )


def describe(iri: str, predicate: PredicateColumns, terms: TermTable) -> PredicateStatistics:
    backward = predicate.backward
    frequent = most_frequent(backward, MAX_FREQUENT, rank=ranks(backward, terms))
    texts = map(_text, terms.terms(np.array([key for key, _ in frequent], np.uint32)))
    return PredicateStatistics(
        iri,
        predicate.triples,
        len(predicate.forward.keys),
        len(backward.keys),
        _kinds(backward, terms),
        degree_quantiles(predicate.forward),
        degree_quantiles(backward),
        _histograms(backward, terms),
        tuple(zip(texts, (triples for _, triples in frequent), strict=True)),
    )


def _text(term: Term | None) -> str | None:
    text = str(term)
    return text if len(text) <= MAX_TERM_LENGTH else None


def _histograms(backward: Adjacency, terms: TermTable) -> dict[str, tuple[Bucket, ...]]:
    """The equi-depth histogram of the values of each segment that has some."""
    with_values = [name for name in WITH_VALUES if _triples_of(backward, terms, name)]
    if not with_values:
        return {}
    objects = objects_in_order(backward, terms)
    return {
        name: equi_depth(objects.backward, objects.literals.values(name), *objects.literals.segments[name])
        for name in with_values
    }


def _kinds(backward: Adjacency, terms: TermTable) -> dict[str, int]:
    """The triples by kind of their object, in the order of kinds, without zeros."""
    counts = {name: _triples_of(backward, terms, name) for name in ("node", *SEGMENTS)}
    return {name: triples for name, triples in counts.items() if triples}


def _triples_of(backward: Adjacency, terms: TermTable, kind: str) -> int:
    """The triples whose object is of a kind."""
    triples = 0
    for ids in [(0, terms.n_nodes)] if kind == "node" else [part.segments[kind] for part in terms.parts]:
        begin, end = np.searchsorted(backward.keys, np.array(ids, backward.keys.dtype)).tolist()
        triples += int(backward.offsets[end]) - int(backward.offsets[begin])
    return triples


def _classes(columns: ProjectionColumns, most: int) -> tuple[dict[str, int], Others]:
    """The `rdf:type` triples by IRI of the class, most frequent first, then by id; and those of the other classes."""
    predicate = columns.predicates.get(RDF_TYPE)
    if predicate is None or not predicate.triples:
        return {}, Others(0, 0, 0)
    backward = predicate.backward
    frequent = most_frequent(backward, most, least=1)
    terms = columns.terms.terms(np.array([key for key, _ in frequent], np.uint32))
    listed = {term.value: n for term, (_, n) in zip(terms, frequent, strict=True) if isinstance(term, NamedNode)}
    unnamed = [n for term, (_, n) in zip(terms, frequent, strict=True) if not isinstance(term, NamedNode)]
    rest = len(backward.keys) - len(listed)
    beyond = [frequent[-1][1]] if len(frequent) < len(backward.keys) else []
    return listed, Others(rest, predicate.triples - sum(listed.values()), max([*unnamed, *beyond], default=0))
