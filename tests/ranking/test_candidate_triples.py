"""The features of a row that read the graph: all candidates at once get what each gets alone."""

from __future__ import annotations

import math

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.reranker import RerankCandidates, Surroundings
from hybridkg.ranking.rerankers import candidate_triples
from hybridkg.ranking.rerankers.row_features import RowFeatures, unit
from hybridkg.rdf.terms import RDF_TYPE
from hybridkg.store.oxigraph import OxigraphStore

GRAPH = ("triples from", "triples to", "linked", "types")
NODES = [*(ox.NamedNode(f"http://e/{i}") for i in range(9)), ox.BlankNode("a"), ox.BlankNode("b")]
PREDICATES = [*(ox.NamedNode(f"http://e/p{i}") for i in range(4)), ox.NamedNode(RDF_TYPE)]
OBJECTS = [*NODES, ox.Literal("x"), ox.Literal("y")]


class CountingStore:
    """Counts the queries of a store."""

    def __init__(self, statements):
        self._store, self.asked = OxigraphStore.memory(statements), 0

    def select(self, sparql, bound=None, *, joined=False):
        self.asked += 1
        return self._store.select(sparql, bound, joined=joined)


def features_of(store, nodes):
    text = ("",) * len(nodes)
    candidates = RerankCandidates(tuple(nodes), text, {}, np.full(len(nodes), -1))
    return RowFeatures(candidates, Surroundings(store, None, lambda nodes, fields: [], lambda: None))


def one_by_one(statements, nodes, most):
    """The features by their definition, from the triples themselves; None where a count is cut."""
    place = {node: 1.0 / (10 + rank) for rank, node in enumerate(nodes, 1)}
    triples = {(t.subject, t.predicate, t.object) for t in statements}
    out, into = ([sum(t[at] == node for t in triples) for node in nodes] for at in (0, 2))
    links = {(s, o) for s, _, o in triples if s in place and o in place and s != o and isinstance(o, ox.NamedNode)}
    linked = [math.fsum([place[b] for a, b in links if a == n] + [place[a] for a, b in links if b == n]) for n in nodes]
    classes = {n: [o for s, p, o in triples if s == n and p.value == RDF_TYPE] for n in nodes}
    weight = {c: math.fsum(place[n] for n in nodes if c in classes[n]) for own in classes.values() for c in own}
    types = [math.fsum(weight[c] for c in classes[n]) / len(classes[n]) if classes[n] else 0.0 for n in nodes]
    counts = [np.log1p(np.minimum(own, most)) for own in (out, into)]
    return [unit(np.array(column)) for column in (*counts, linked, types)]


triples = st.builds(ox.Triple, st.sampled_from(NODES), st.sampled_from(PREDICATES), st.sampled_from(OBJECTS))


@settings(deadline=None, max_examples=examples(27, 200))
@given(
    st.lists(triples, max_size=80),
    st.lists(st.sampled_from(NODES), unique=True, min_size=1),
    st.sampled_from([(6, 8, 2), (100, 100, 3), (1_000, 10_000, 500)]),
)
def test_all_candidates_at_once_get_what_each_gets_alone(statements, nodes, limits):
    most, rows, at_once = limits
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidate_triples, "MAX_TRIPLES", most)
        patch.setattr(candidate_triples, "MAX_ROWS", rows)
        patch.setattr(candidate_triples, "NODES_AT_ONCE", at_once)
        found = features_of(OxigraphStore.memory(statements), nodes).matrix(GRAPH)
    want = one_by_one(statements, nodes, most)
    for name, own, expected in zip(GRAPH, found.T, want, strict=True):
        if name != "types" or most > 6:  # which of too many classes count is the store's choice
            assert own == pytest.approx(expected, abs=1e-9), name


def test_the_store_is_asked_once_for_all_candidates():
    link, kind = PREDICATES[0], PREDICATES[-1]
    nodes = [ox.NamedNode(f"http://e/{i}") for i in range(100)]
    statements = [ox.Triple(node, kind, NODES[0]) for node in nodes]
    statements += [ox.Triple(nodes[i], link, nodes[7 * i % 100]) for i in range(100)]
    store = CountingStore(statements)
    assert features_of(store, nodes).matrix(GRAPH).max(axis=0).tolist() == [0.0, 1.0, 1.0, 0.0]
    assert store.asked == 4


def test_a_hub_is_not_counted_to_its_end(monkeypatch):
    monkeypatch.setattr(candidate_triples, "MAX_TRIPLES", 20)
    monkeypatch.setattr(candidate_triples, "MAX_ROWS", 50)
    nodes = [ox.NamedNode(f"http://e/{i}") for i in range(30)]
    statements = [ox.Triple(nodes[9], PREDICATES[0], ox.Literal(str(i))) for i in range(5_000)]
    statements += [ox.Triple(node, PREDICATES[1], nodes[0]) for node in nodes]
    store = CountingStore(statements)
    found = candidate_triples.CandidateTriples(nodes, store, lambda: None)
    assert found.from_counts == [20 if node is nodes[9] else 1 for node in nodes]
    assert store.asked <= 4
    assert sorted(map(str, (subject for subject, _ in found.linked()))) == sorted(map(str, nodes))
