"""Walks along property paths against Oxigraph's evaluation of the same paths."""

from __future__ import annotations

import pytest
from entity_states import GRAPHS, E, paths
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.entities.path_walks import TooManyNodesError, ends_of, inverse_of, starts_of, steps_of
from hybridkg.entities.profile.paths import Repeat, Sequence, ShaclPredicate, to_sparql
from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Quad, Triple
from hybridkg.store.oxigraph import OxigraphStore

P = ShaclPredicate(E + "p")


nodes = st.sampled_from([NamedNode(E + "a"), NamedNode(E + "b"), NamedNode(E + "c"), BlankNode("x")])
edges = st.builds(
    Quad,
    nodes,
    st.sampled_from([P.iri, E + "q"]).map(NamedNode),
    st.one_of(
        nodes, nodes, nodes, st.sampled_from([Literal("red"), Triple(BlankNode("x"), NamedNode(P.iri), Literal(1))])
    ),
    st.sampled_from(GRAPHS[:2]),
)
graphs = st.lists(edges, min_size=2, max_size=8)


def pairs_of(path, store):
    return set(store.select(f"SELECT ?s ?o WHERE {{ ?s {to_sparql(path)} ?o }}").rows)


@settings(max_examples=examples(36, 600), deadline=None)
@given(paths, graphs, st.booleans())
def test_ends_and_starts_are_those_of_sparql(path, triples, union):
    store = OxigraphStore.memory(triples, union_default_graph=union)
    lookups, pairs = TripleLookups(store), pairs_of(path, store)
    terms = {term for (term,) in store.select("SELECT ?t WHERE { { ?t ?p ?o } UNION { ?s ?p ?t } }").rows}
    ends = ends_of(path, terms, lookups)
    assert {(start, end) for start, found in ends.items() for end in found} == pairs
    assert pairs_of(inverse_of(path), store) == {(end, start) for start, end in pairs}
    for term in terms:
        assert set(starts_of((path,), [term], lookups, 100)) == {start for start, end in pairs if end == term}
    assert set(starts_of((path,), terms, lookups, 100)) == {start for start, _ in pairs}


@settings(max_examples=examples(24, 300), deadline=None)
@given(paths, graphs)
def test_every_start_of_a_path_is_found_from_one_of_the_steps(path, triples):
    store = OxigraphStore.memory(triples, union_default_graph=True)
    lookups, found = TripleLookups(store), set()
    for step in steps_of(path):
        for s, _, o in lookups.outgoing({quad.subject: None for quad in triples}, (step.iri,)):
            found |= starts_of(step.before, [o if step.inverted else s], lookups, 100).keys()
    assert {start for start, end in pairs_of(path, store) if start != end} <= found


def test_a_walk_that_reaches_too_much_stops():
    chain = [Quad(NamedNode(f"{E}{i}"), NamedNode(P.iri), NamedNode(f"{E}{i + 1}")) for i in range(9)]
    lookups, last = TripleLookups(OxigraphStore.memory(chain)), NamedNode(f"{E}9")
    assert len(starts_of((Repeat(P, "+"),), [last], lookups, 9)) == 9
    with pytest.raises(TooManyNodesError):
        starts_of((Repeat(P, "+"),), [last], lookups, 8)
    assert list(starts_of((Sequence((P, P)),), [last], lookups, 1)) == [NamedNode(f"{E}7")]
