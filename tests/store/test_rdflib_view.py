"""The read-only rdflib Graph over a knowledge base."""

from __future__ import annotations

from pathlib import Path

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib.compare import isomorphic
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from sampling import examples

from hybridkg.errors import UnsupportedQueryError, UserError
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Quad, Triple, to_rdflib
from hybridkg.store.generations.folder import Folder
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.store.rdflib_view import read_only_graph

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
E = rdflib.Namespace("http://e/")

nodes = st.sampled_from([NamedNode("http://e/a"), NamedNode("http://e/b"), BlankNode("b0"), BlankNode("b1")])
predicates = st.sampled_from([NamedNode("http://e/p"), NamedNode("http://e/q")])
literals = st.sampled_from(
    [
        Literal("x"),
        Literal("x", language="en"),
        Literal(1),
        Literal("1.0E0", datatype=NamedNode(XSD + "double")),
        Literal("0A", datatype=NamedNode(XSD + "hexBinary")),
        Literal("no number", datatype=NamedNode("http://e/own")),
    ]
)
triples = st.lists(st.builds(Triple, nodes, predicates, st.one_of(nodes, literals)), max_size=12)


def graph_of(*statements: Triple | Quad, union: bool = False) -> rdflib.Graph:
    return read_only_graph(OxigraphStore.memory(statements, union_default_graph=union))


def own(triple: Triple | Quad) -> tuple[object, ...]:
    return tuple(map(to_rdflib, (triple.subject, triple.predicate, triple.object)))


def stored(statements: list[Triple]) -> set[tuple[object, ...]]:
    """As Oxigraph keeps them: it writes numbers in one form."""
    return set(map(own, OxigraphStore.memory(statements).quads()))


@settings(max_examples=examples(15, 25), deadline=None)
@given(triples, triples)
def test_every_pattern_gives_the_triples_that_filtering_gives(statements, patterns):
    graph = graph_of(*statements)
    every = stored(statements)
    assert set(graph) == every
    assert len(graph) == len(every)
    for pattern in stored(patterns) | every:
        for kept in range(8):
            asked = tuple(part if kept & 1 << i else None for i, part in enumerate(pattern))
            want = {t for t in every if all(a in (None, b) for a, b in zip(asked, t, strict=True))}
            assert set(graph.triples(asked)) == want
        assert (pattern in graph) == (pattern in every)


@settings(max_examples=examples(4, 100), deadline=None)
@given(triples)
def test_rdflibs_own_sparql_engine_finds_in_the_view_what_it_finds_in_a_copy(statements):
    view = graph_of(*statements)
    copy = rdflib.Graph()
    for triple in view:
        copy.add(triple)
    assert isomorphic(view, copy)
    for query in (
        "SELECT ?s ?o ?t { ?s <http://e/p> ?o . ?t <http://e/q> ?o }",
        "SELECT ?s ?o { ?s <http://e/p>/<http://e/q>* ?o }",
        "SELECT ?s (COUNT(?o) AS ?n) { ?s ?p ?o FILTER isBlank(?s) } GROUP BY ?s",
    ):
        assert sorted(map(str, view.query(query))) == sorted(map(str, copy.query(query)))


@settings(max_examples=examples(15, 25), deadline=None)
@given(st.lists(st.tuples(st.builds(Triple, nodes, predicates, nodes), st.sampled_from("ghd")), max_size=12))
def test_a_union_has_each_triple_of_any_graph_once(placed):
    quads = [
        Quad(t.subject, t.predicate, t.object, *([] if name == "d" else [NamedNode(f"http://e/{name}")]))
        for t, name in placed
    ]
    union, plain = graph_of(*quads, union=True), graph_of(*quads)
    assert sorted(union) == sorted({own(t) for t, _ in placed})
    assert len(union) == len(set(union))
    assert set(plain) == {own(t) for t, name in placed if name == "d"}


def test_blank_nodes_are_patterns_and_not_variables():
    graph = graph_of(
        Triple(BlankNode("b0"), NamedNode("http://e/p"), Literal("zero")),
        Triple(BlankNode("b1"), NamedNode("http://e/p"), Literal("one")),
    )
    node = graph.value(predicate=E.p, object=rdflib.Literal("one"))
    assert node == rdflib.BNode("b1")
    assert [str(o) for o in graph.objects(node)] == ["one"]
    assert [str(row.o) for row in graph.query("SELECT ?o { ?s ?p ?o }", initBindings={"s": node})] == ["one"]
    assert list(graph.objects(rdflib.BNode("elsewhere"))) == []


@pytest.mark.filterwarnings("ignore:Dataset.default_context:DeprecationWarning")  # rdflib's own queries
def test_named_graphs_are_a_dataset_over_the_same_store():
    a, p, g = NamedNode("http://e/a"), NamedNode("http://e/p"), NamedNode("http://e/g")
    view = graph_of(Quad(a, p, Literal("named"), g), Quad(a, p, Literal("default")))
    data = rdflib.Dataset(store=view.store)
    assert {graph.identifier for graph in data.graphs()} == {E.g, DATASET_DEFAULT_GRAPH_ID}
    assert [str(o) for o in data.graph(E.g).objects()] == ["named"]
    assert len(data.get_context(E.g)) == 1
    assert [str(row.o) for row in data.query("SELECT ?o { GRAPH <http://e/g> { ?s ?p ?o } }")] == ["named"]
    assert [str(o) for o in view.objects()] == ["default"]
    with pytest.raises(UserError):
        data.graph(E.new)


def test_what_cannot_be_a_triple_is_in_no_graph():
    graph = graph_of(Triple(NamedNode("http://e/a"), NamedNode("http://e/p"), Literal("x")))
    assert list(graph.triples((rdflib.Literal("x"), None, None))) == []
    assert list(graph.triples((rdflib.URIRef("not an iri"), None, None))) == []
    assert (E.a, rdflib.Literal("p"), None) not in graph
    assert list(graph.triples((None, None, rdflib.Variable("v")))) == []


@pytest.mark.parametrize(
    "write",
    [
        lambda g: g.add((E.a, E.p, E.b)),
        lambda g: g.addN([(E.a, E.p, E.b, g)]),
        lambda g: g.remove((None, None, None)),
        lambda g: g.set((E.a, E.p, E.b)),
        lambda g: g.parse(data="<http://e/a> <http://e/p> 1 .", format="turtle"),
        lambda g: g.update("INSERT DATA { <http://e/a> <http://e/p> 1 }"),
        lambda g: g.store.remove_graph(g),
        lambda g: g.destroy(""),
    ],
)
def test_writing_is_refused_and_changes_nothing(write):
    graph = graph_of(Triple(NamedNode("http://e/a"), NamedNode("http://e/p"), Literal("x")))
    with pytest.raises(UserError, match="read-only view"):
        write(graph)
    assert len(graph) == 1


def test_a_copy_can_be_changed_and_serialized():
    graph = graph_of(Triple(NamedNode("http://e/a"), NamedNode("http://e/p"), Literal("x")))
    copy = rdflib.Graph() + graph
    copy.add((E.a, E.p, E.b))
    assert (len(copy), len(graph)) == (2, 1)
    graph.bind("e", E)
    assert "e:a e:p" in graph.serialize(format="turtle")
    assert graph.qname(E.a) == "e:a"


def test_a_triple_as_a_value_is_an_error_that_names_it():
    inner = Triple(NamedNode("http://e/a"), NamedNode("http://e/p"), Literal("x"))
    graph = graph_of(Triple(NamedNode("http://e/r"), NamedNode("http://e/says"), inner))
    with pytest.raises(UnsupportedQueryError, match="http://e/says"):
        list(graph)


def test_a_knowledge_base_on_disk_is_read_without_being_written(tmp_path):
    from hybridkg.kb import KnowledgeBase

    KnowledgeBase.create(tmp_path / "kb").load(FILMS, index=False)
    generation = Folder.open(tmp_path / "kb").current()
    graph = read_only_graph(OxigraphStore.open(generation.graph), hold=generation)
    assert isomorphic(graph, rdflib.Graph().parse(FILMS))
    del graph
    generation.verify()


def test_a_graph_outlives_the_generation_it_was_opened_on(tmp_path):
    from hybridkg.kb import KnowledgeBase

    kb = KnowledgeBase.create(tmp_path / "kb")
    kb.load(FILMS, index=False)
    generation = Folder.open(tmp_path / "kb").current()
    graph = read_only_graph(OxigraphStore.open(generation.graph), hold=generation)
    path = generation.path
    del generation
    for _ in range(3):
        kb.load(FILMS)
    assert path.is_dir()
    assert len(graph) == len(list(graph)) == len(rdflib.Graph().parse(FILMS))
