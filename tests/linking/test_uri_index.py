"""The graph as a URI index against a restatement that looks at one triple at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import QueryLimitError, TextQueryError
from hybridkg.interfaces.links import EntityLink, LinkedField, LinkedNode
from hybridkg.linking import uri_index
from hybridkg.linking.uri_index import UriIndex
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Quad
from hybridkg.store.oxigraph import OxigraphStore

NODES = [NamedNode(f"http://e/{name}") for name in "abcdef"] + [BlankNode("blank")]
ENTITIES = NODES[::2]
PREDICATES = [NamedNode(f"http://p/{number:02}") for number in range(12)]
GRAPHS = [NamedNode("http://g/1"), NamedNode("http://g/2")]

objects = st.one_of(st.sampled_from(NODES), st.just(Literal("text")))
triples = st.tuples(st.sampled_from(NODES), st.sampled_from(PREDICATES), objects)
graphs = st.lists(st.tuples(triples, st.sampled_from(GRAPHS)), max_size=40)


class Table:
    """Ids of some nodes, as a NodeTable gives them."""

    def __init__(self, nodes):
        self._ids = {node: number for number, node in enumerate(nodes)}

    def find_many(self, nodes):
        return np.array([self._ids.get(node, -1) for node in nodes], np.int64)

    def __len__(self):
        return len(self._ids)


def restated(statements, node, inverse):
    """[(predicate, ids, df, entities)] of a node in a union of graphs, before the cut to ten predicates."""
    found = []
    directions = [("", lambda s, o: (s, o))] + [("^", lambda s, o: (o, s))] * inverse
    for mark, turned in directions:
        for predicate in PREDICATES:
            pairs = {turned(s, o) for s, p, o in statements if p == predicate and not isinstance(o, Literal)}
            pointing = {d for d, e in pairs if e == node}
            if pointing:
                ids = sorted(ENTITIES.index(d) for d in pointing if d in ENTITIES)
                found.append((mark + predicate.value, ids, len(pointing), len({d for d, _ in pairs})))
    found.sort(key=lambda entry: (entry[2], entry[0]), reverse=True)
    return found[:10] + ([("", [ENTITIES.index(node)], 1, len(ENTITIES))] if node in ENTITIES else [])


@pytest.mark.parametrize("at_once", [0, 3, 2_000])
@settings(deadline=None, max_examples=examples(5, 100))
@given(graphs, st.sampled_from(NODES[:-1]), st.booleans())
def test_fields_are_those_of_the_restatement_however_they_are_read(at_once, quads, node, inverse):
    store = OxigraphStore.memory([Quad(*triple, graph) for triple, graph in quads], union_default_graph=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uri_index, "FEW_TRIPLES", at_once)
        fields = UriIndex(store, Table(ENTITIES), inverse=inverse).fields(node.value)
    seen = [(f.predicate, f.ids.tolist(), f.df, f.entities) for f in fields]
    assert seen == restated({triple for triple, _ in quads}, node, inverse)
    assert all(f.ids.dtype == np.uint32 and len(f.ids) <= f.df <= f.entities <= f.values for f in fields)


def test_values_of_a_predicate_are_its_pairs_of_nodes():
    a, b, c = NODES[:3]
    quads = [Quad(a, PREDICATES[0], b), Quad(a, PREDICATES[0], c), Quad(b, PREDICATES[0], c)]
    quads.append(Quad(c, PREDICATES[0], Literal("no node")))
    (field, own) = UriIndex(OxigraphStore.memory(quads), Table(ENTITIES)).fields(c.value)
    assert (field.df, field.entities, field.values) == (2, 2, 3)
    assert (own.predicate, own.df, own.entities, own.values) == ("", 1, len(ENTITIES), len(ENTITIES))


@given(st.lists(st.tuples(*[st.integers(1, 50)] * 3), min_size=1, max_size=10))
def test_shares_are_the_mapping_probabilities_of_prms(counts):
    none = np.zeros(0, np.uint32)
    counts = [tuple(sorted(some)) for some in counts]  # df <= entities <= values
    node = LinkedNode(EntityLink("x:e"), tuple(LinkedField(f"x:{i}", none, *some) for i, some in enumerate(counts)))
    total = sum(entities for _, entities, _ in counts)
    products = [df / values * (entities / total) for df, entities, values in counts]
    assert node.shares == pytest.approx([product / sum(products) for product in products])
    assert sum(node.shares) == pytest.approx(1)


def test_only_the_ten_most_frequent_predicates_count():
    quads = [Quad(NODES[i], p, NODES[0]) for number, p in enumerate(PREDICATES) for i in range(1 + number % 3)]
    fields = UriIndex(OxigraphStore.memory(quads), Table([])).fields("http://e/a")
    assert [f.df for f in fields] == [3, 3, 3, 3, 2, 2, 2, 2, 1, 1]
    assert [f.predicate[-2:] for f in fields] == ["11", "08", "05", "02", "10", "07", "04", "01", "09", "06"]


def test_a_node_that_nobody_knows_has_no_fields():
    (linked,) = UriIndex(OxigraphStore.memory(), Table(ENTITIES)).linked([EntityLink("http://nowhere/x", 0.5)])
    assert linked == LinkedNode(EntityLink("http://nowhere/x", 0.5), ())
    assert linked.fields == ()
    assert linked.shares == ()


def test_what_has_been_read_is_not_read_again():
    store = OxigraphStore.memory([Quad(NODES[0], PREDICATES[0], NODES[1])])
    index = UriIndex(store, Table(ENTITIES))
    first = index.fields("http://e/b")
    index._graph = None
    assert index.fields("http://e/b") is first


def test_a_node_with_too_many_neighbours_is_refused_by_its_name(monkeypatch):
    monkeypatch.setattr(uri_index, "FEW_TRIPLES", 2)
    monkeypatch.setattr(uri_index, "MAX_LINKED", 4)
    quads = [Quad(NamedNode(f"http://e/{i}"), PREDICATES[0], NODES[0]) for i in range(5)]
    index = UriIndex(OxigraphStore.memory(quads), Table([]))
    with pytest.raises(QueryLimitError, match=r"the linked node <http://e/a> has more than 4 neighbours"):
        index.fields("http://e/a")
    assert UriIndex(OxigraphStore.memory(quads[:4]), Table([])).fields("http://e/a")[0].df == 4


def test_in_degree_counts_triples_up_to_a_bound(monkeypatch):
    quads = [Quad(NODES[i], p, NODES[0]) for i in range(3) for p in PREDICATES[:2]]
    assert UriIndex(OxigraphStore.memory(quads), Table([])).in_degree(NODES[0]) == 6
    monkeypatch.setattr(uri_index, "MAX_COUNTED", 4)
    assert UriIndex(OxigraphStore.memory(quads), Table([])).in_degree(NODES[0]) == 4


@pytest.mark.parametrize(
    "iri", ["e", "", "http://e/a> ?p ?o . } #", "http://e/a b", 'http://e/"', "_:b", "http://e/{x}"]
)
def test_a_link_holds_an_iri_that_a_query_can_write(iri):
    with pytest.raises(TextQueryError, match="not an absolute IRI"):
        EntityLink(iri)


@pytest.mark.parametrize("confidence", [0, -0.1, 1.01, float("nan"), float("inf")])
def test_a_confidence_is_above_0_and_at_most_1(confidence):
    with pytest.raises(TextQueryError, match="must be above 0 and at most 1"):
        EntityLink("http://e/a", confidence)
