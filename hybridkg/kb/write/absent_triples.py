"""Warnings about triples of DELETE DATA that are not in the graph, where a similar one is, or another graph has them.

`DELETE DATA { :tea :price "1.99" }` removes nothing where the price is a number. Any other triple that is not there is
no mistake: SPARQL Update (section 3.1.2) leaves it out without an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from pyoxigraph import Store

from hybridkg.errors import ElsewhereWarning, QueryWarning
from hybridkg.kb.absent_constants import MAX_LENGTH, did_you_mean, folded, written
from hybridkg.query import ast
from hybridkg.query.source import shown
from hybridkg.rdf.terms import DefaultGraph, Literal, NamedNode, Quad, Term
from hybridkg.store.changes import quads_as_stored
from hybridkg.store.quad_patterns import quads_of_pattern

MAX_LOOKED_UP = 10_000
"""Triples of one operation that are looked up, at about 10 us each."""

MAX_VALUES = 1_000
"""Values of one property of a subject that are compared."""

MAX_WARNINGS = 5


def absent_triples(
    store: Store, templates: Sequence[ast.QuadTemplate], quads: Sequence[Quad], prefixes: Mapping[str, str]
) -> Iterator[QueryWarning]:
    """W120 for the triples of DELETE DATA that the store does not have, and has with a similar object.

    Args:
        store: the graph before the operation.
        templates: the triples as written.
        quads: the same, as terms.
        prefixes: those that shorten IRIs.
    """
    nodes = [triple.object for template in templates for triple in template.triples]
    found = 0
    for node, quad in islice(zip(nodes, quads_as_stored(quads), strict=True), MAX_LOOKED_UP):
        if found == MAX_WARNINGS:
            return
        if quad in store or not isinstance(quad.object, NamedNode | Literal):
            continue
        near = _similar(store, quad, quad.object)
        if near:
            found += 1
            triple = " ".join(
                shown(written(term, prefixes), MAX_LENGTH)
                for term in (quad.subject, quad.predicate, quad.object)
                if isinstance(term, NamedNode | Literal)
            )
            yield QueryWarning(
                "W120",
                f"there is no such triple to be removed: {triple}",
                hint=did_you_mean(quad.object, near, prefixes),
                span=node.span,
            )


def triples_elsewhere(store: Store, quads: Sequence[Quad]) -> Iterator[ElsewhereWarning]:
    """W303 for triples that DELETE DATA does not find in the default graph, and that a named graph has."""
    own = (quad for quad in quads_as_stored(quads[:MAX_LOOKED_UP]) if isinstance(quad.graph_name, DefaultGraph))
    missing = [quad for quad in own if quad not in store]
    for graph, found in graphs_with(store, missing).most_common(1):
        hint = f"DELETE DATA {{ GRAPH {graph} {{ ... }} }} removes from that graph"
        yield ElsewhereWarning.of(graph, found, len(missing), hint)


def graphs_with(store: Store, quads: Sequence[Quad]) -> Counter[str]:
    """How many of the triples each graph has, by its name."""
    return Counter(
        str(found.graph_name)
        for quad in quads[:MAX_LOOKED_UP]
        for found in quads_of_pattern(store, quad.subject, quad.predicate, quad.object, None)
    )


def _similar(store: Store, quad: Quad, wanted: NamedNode | Literal) -> Sequence[Term]:
    """At most two objects of the subject and the predicate that differ in case, language or datatype only."""
    own = quads_of_pattern(store, quad.subject, quad.predicate, None, quad.graph_name)
    objects = (one.object for one in islice(own, MAX_VALUES))
    word = folded(wanted)
    return sorted((one for one in objects if isinstance(one, NamedNode | Literal) and folded(one) == word), key=str)[:2]
