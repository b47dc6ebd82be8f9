"""The classes and predicates of a graph, counted and with examples."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.graph.schema import RDF_TYPE, Schema, describe, read_schema, shortened_term
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Quad, Triple
from hybridkg.rdf.well_known import shortened
from hybridkg.store.oxigraph import OxigraphStore

TYPE = NamedNode(RDF_TYPE)
nodes = st.sampled_from([*(NamedNode(f"http://e/n{i}") for i in range(4)), BlankNode("b"), BlankNode("c")])
predicates = st.sampled_from([TYPE, *(NamedNode(f"http://e/p{i}") for i in range(3))])
triples = st.lists(st.builds(Triple, nodes, predicates, st.one_of(nodes, st.sampled_from([Literal(1), Literal("a")]))))


@settings(max_examples=examples(24, 40), deadline=None)
@given(triples)
def test_the_counts_are_those_of_counting_by_hand(statements):
    found = read_schema(OxigraphStore.memory(statements))
    distinct = {(t.subject, t.predicate, t.object) for t in statements}
    assert found.predicates == Counter(p.value for _, p, _ in distinct)
    assert found.classes == Counter(o.value for _, p, o in distinct if p == TYPE and isinstance(o, NamedNode))
    assert found.triples == len(distinct)
    for counts in (found.classes, found.predicates):
        assert list(counts.items()) == sorted(counts.items(), key=lambda item: (-item[1], item[0]))


@settings(max_examples=examples(24, 40), deadline=None)
@given(triples, st.integers(1, 3))
def test_every_example_is_in_the_graph(statements, limit):
    found = describe(OxigraphStore.memory(statements), limit=limit)
    distinct = {(t.subject, t.predicate, t.object) for t in statements}
    assert len(found.predicates) == min(limit, len(found.schema.predicates))
    for item in found.predicates:
        assert item.example is not None
        assert (item.example[0], NamedNode(item.iri), item.example[1]) in distinct
        assert item.subjects == len({s for s, p, _ in distinct if p.value == item.iri})
        assert item.objects == len({o for _, p, o in distinct if p.value == item.iri})
    for of in found.classes:
        assert (of.example, TYPE, NamedNode(of.iri)) in distinct


def test_a_class_counts_each_instance_once_in_a_union_of_graphs():
    a, c = NamedNode("http://e/a"), NamedNode("http://e/C")
    quads = [Quad(a, TYPE, c, NamedNode("http://e/g1")), Quad(a, TYPE, c, NamedNode("http://e/g2"))]
    assert read_schema(OxigraphStore.memory(quads, union_default_graph=True)).classes == {"http://e/C": 1}
    assert read_schema(OxigraphStore.memory(quads)) == Schema()


def test_an_empty_graph_has_an_empty_schema():
    assert describe(OxigraphStore.memory()).to_json() == {
        "triples": 0,
        "class_count": 0,
        "predicate_count": 0,
        "classes": [],
        "predicates": [],
    }


def test_distinct_values_are_not_counted_where_that_reads_too_much(monkeypatch):
    monkeypatch.setattr("hybridkg.graph.schema.MAX_COUNTED", 3)
    p, q = NamedNode("http://e/p"), NamedNode("http://e/q")
    statements = [Triple(p, p, Literal(i)) for i in range(4)] + [Triple(p, q, Literal(i)) for i in range(2)]
    large, small = describe(OxigraphStore.memory(statements)).predicates
    assert (large.triples, large.subjects, large.objects) == (4, None, None)
    assert (small.triples, small.subjects, small.objects) == (2, 1, 2)


def test_iris_are_shortened_only_where_the_rest_is_a_plain_name():
    assert shortened("http://www.w3.org/2004/02/skos/core#prefLabel") == "skos:prefLabel"
    assert shortened("http://www.w3.org/2004/02/skos/core#") == "<http://www.w3.org/2004/02/skos/core#>"
    assert shortened("http://dbpedia.org/resource/A/B") == "<http://dbpedia.org/resource/A/B>"
    assert shortened("http://dbpedia.org/resource/A.") == "<http://dbpedia.org/resource/A.>"


def test_a_term_is_shown_on_one_line():
    assert shortened_term(Literal("two\nlines")) == '"two lines"'
    assert shortened_term(BlankNode("b1")) == "_:b1"
