"""Lookups in the projection against those in the store."""

from __future__ import annotations

import numpy as np
from entity_states import TYPE, E, nodes, predicates
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.graph import projected_triples as module
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projected_triples import ProjectedTriples, projected_triples
from hybridkg.rdf.stored import all_as_stored
from hybridkg.rdf.term_texts import tag_of
from hybridkg.rdf.terms import Literal, NamedNode, Quad, Triple
from hybridkg.store.oxigraph import OxigraphStore

literals = st.sampled_from([Literal("red"), Literal("rot", language="de"), Literal(1999), Literal(1.5), Literal(True)])
objects = st.one_of(nodes, literals.map(lambda one: all_as_stored([one])[0]))
triples = st.lists(st.builds(Triple, nodes, predicates, objects), max_size=14, unique=True)
wanted = st.sampled_from(
    [(None, ()), (None, (E + "p",)), ((E + "p",), ()), ((E + "q", E + "p"), ()), ((E + "absent",), ()), ((), ())]
)


@settings(max_examples=examples(60, 2000), deadline=None)
@given(triples, st.lists(nodes, max_size=4), st.lists(objects, max_size=4), wanted)
def test_lookups_in_the_projection_are_those_in_the_store(graph, asked, ends, wanted):
    only, without = wanted
    store = TripleLookups(OxigraphStore.memory([Quad(t.subject, t.predicate, t.object) for t in graph]))
    nodes_of_graph = {term for t in graph for term in (t.subject, t.object) if not isinstance(term, Literal)}
    entities = sorted({*nodes_of_graph, *asked}, key=lambda node: (type(node) is NamedNode, node.value))[::2]
    projected = ProjectedTriples(columns_of(graph, entities))
    for terms in ([*asked, *ends], asked):  # the second time the ids are known
        assert set(projected.outgoing(terms, only, without)) == set(store.outgoing(terms, only, without))
        assert set(projected.incoming(terms, only, without)) == set(store.incoming(terms, only, without))
    ids = {node: i for i, node in enumerate(entities)}
    known = sorted({node for node in asked if node in ids}, key=ids.__getitem__)
    for predicate in (E + "p", E + "absent"):
        column = projected.literals(np.array([ids[node] for node in known], np.uint32), predicate)
        own = [(s, o) for s, _, o in store.outgoing(known, [predicate]) if isinstance(o, Literal)]
        assert _listed(column) == sorted({(known.index(node), tag_of(literal), literal.value) for node, literal in own})
    assert projected.in_graph(asked) == store.in_graph(asked)
    assert projected.subjects_in(asked) == store.subjects_in(asked)
    assert projected.structural(asked) == store.structural(asked)
    for types in ((TYPE,), (TYPE, E + "q")):
        classes = [E + "b", E + "c", E + "absent"]
        assert projected.instances(asked, classes, types) == store.instances(asked, classes, types)


def _listed(column):
    """The sorted (place, tag, text); each distinct literal is there once."""
    literals = list(zip(column.tags, column.texts, strict=True))
    assert len(set(literals)) == len(literals) == len(set(column.codes.tolist()))
    rows = zip(column.places.tolist(), column.codes.tolist(), strict=True)
    return sorted((place, *literals[code]) for place, code in rows)


def test_batches_of_a_few_terms_give_the_same_triples(monkeypatch):
    hub, p = NamedNode(E + "hub"), NamedNode(E + "p")
    graph = [Triple(NamedNode(f"{E}{i}"), p, hub) for i in range(10)]
    monkeypatch.setattr(module, "BATCH", 3)
    monkeypatch.setattr(module, "MAX_HELD", 2)
    lookups = ProjectedTriples(columns_of(graph))
    assert {s for s, _, _ in lookups.incoming([hub])} == {triple.subject for triple in graph}
    assert len(list(lookups.outgoing([triple.subject for triple in graph]))) == 10


def test_a_projection_that_lacks_triples_or_has_many_predicates_is_not_read(monkeypatch):
    a, p = NamedNode(E + "a"), NamedNode(E + "p")
    assert projected_triples(columns_of([Triple(a, p, a)])) is not None
    assert projected_triples(columns_of([Triple(a, p, Triple(a, p, a))])) is None
    monkeypatch.setattr(module, "MAX_PREDICATES", 0)
    assert projected_triples(columns_of([Triple(a, p, a)])) is None
