"""Extraction against a restatement that walks the triples one entity and one field at a time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable, Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse
from sampling import examples

from hybridkg.entities.extraction import extract
from hybridkg.entities.passage_texts import EntityTexts, entity_texts
from hybridkg.entities.profile.labels import local_name, same_words
from hybridkg.entities.profile.paths import Path, Repeat, Sequence, ShaclAlternative, ShaclInverse, ShaclPredicate
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.entities.profile.profile_reader import load_profile
from hybridkg.entities.structure import STRUCTURAL_PREDICATES
from hybridkg.errors import UnknownNameError
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Node, Quad, Term, Triple
from hybridkg.store.oxigraph import OxigraphStore

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
E = "http://example.org/"
TYPE, LABEL = RDF + "type", RDFS + "label"
FIRST, ON_PROPERTY = RDF + "first", "http://www.w3.org/2002/07/owl#onProperty"

nodes = st.sampled_from(
    [NamedNode(E + "Big_Fish"), NamedNode(E + "b"), NamedNode(E + "c"), BlankNode("x"), BlankNode("y")]
)
predicates = st.sampled_from([*[LABEL, TYPE, RDFS + "comment", E + "p", E + "q"] * 2, FIRST, ON_PROPERTY]).map(
    NamedNode
)
literals = st.sampled_from(
    [
        Literal("big fish"),
        Literal("red"),
        Literal("rot", language="de"),
        Literal("red", language="en-GB"),
        Literal("1999", datatype=NamedNode(XSD + "integer")),
        Literal("<b>bold</b>", datatype=NamedNode(RDF + "HTML")),
        Literal("cafe", datatype=NamedNode(XSD + "hexBinary")),
        Literal("  "),
        Literal('a "tab"\tand a \\ on\ntwo lines'),
        Literal('"rot"@de', language="de"),
        Literal("1.5", datatype=NamedNode(XSD + "decimal")),
        Literal("true", datatype=NamedNode(XSD + "boolean")),
    ]
)
graphs = st.lists(st.builds(Quad, nodes, predicates, st.one_of(nodes, literals)), max_size=12)
iris = st.sampled_from([LABEL, TYPE, E + "p", E + "q"])
paths = st.recursive(
    iris.map(ShaclPredicate),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Sequence(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: ShaclAlternative(tuple(parts))),
        inner.map(ShaclInverse),
        st.builds(Repeat, inner, st.sampled_from("*+?")),
    ),
    max_leaves=4,
)
fields = st.one_of(
    st.builds(
        Field,
        name=st.sampled_from("abcdef"),
        path=paths,
        text=st.sampled_from(["literals", "strings", "labels"]),
        local_name=st.booleans(),
        languages=st.sampled_from([(), ("en",), ("de", "en")]),
    ),
    st.builds(
        Field,
        name=st.sampled_from("abcdef"),
        rest=st.just(True),
        text=st.sampled_from(["literals", "labels"]),
    ),
    st.builds(Field, name=st.sampled_from("abcdef")),
)
profiles = st.builds(
    Profile,
    name=st.just("p"),
    fields=st.lists(fields, min_size=1, max_size=4, unique_by=lambda field: field.name).map(tuple),
    types=st.sampled_from([(TYPE,), (TYPE, E + "p")]),
    entities=st.sampled_from([(), (E + "b",), (E + "b", E + "c")]),
    labels=st.sampled_from([(LABEL,), (E + "q", LABEL)]),
    ignore=st.sampled_from([(), (E + "p",)]),
)
texts = st.dictionaries(
    st.sampled_from(["a", "body"]),
    st.dictionaries(nodes, st.lists(st.sampled_from(["one", "two", ""]), min_size=1), max_size=2),
)


class Texts:
    """Text documents held in a dict: field -> node -> texts."""

    def __init__(self, held: Mapping[str, Mapping[Node, list[str]]]):
        self.held = held

    def fields(self) -> Iterable[str]:
        return sorted(self.held)

    def stream(self, field: str) -> Iterator[tuple[Node, list[str]]]:
        yield from sorted(self.held[field].items(), key=lambda one: (isinstance(one[0], NamedNode), one[0].value))

    def values(self, field: str) -> Iterator[tuple[str, list[str]]]:
        for node, texts in self.stream(field):
            if kept := {text for text in texts if text and not text.isspace()}:
                yield str(node), sorted(kept)

    def texts(self, node: Node, field: str) -> list[str]:
        return self.held.get(field, {}).get(node, [])


def ends(path: Path, start: Term, graph: set[tuple[Term, ...]]) -> set[Term]:
    """The terms at the end of a path, by the definition of each operator (SPARQL 1.1, section 18.4)."""
    match path:
        case ShaclPredicate(iri):
            return {o for s, p, o in graph if s == start and p == NamedNode(iri)}
        case Sequence(parts):
            found = {start}
            for part in parts:
                found = {end for middle in found for end in ends(part, middle, graph)}
            return found
        case ShaclAlternative(parts):
            return {end for part in parts for end in ends(part, start, graph)}
        case ShaclInverse(inner):
            terms = {term for s, _, o in graph for term in (s, o)}
            return {term for term in terms if start in ends(inner, term, graph)}
        case Repeat(inner, mark):
            found = ends(inner, start, graph)
            while mark != "?" and not (more := {e for f in found for e in ends(inner, f, graph)}) <= found:
                found |= more
            return found if mark == "+" else found | {start}


def is_string(term: Term) -> bool:
    types = (XSD + "string", RDF + "langString", RDF + "HTML")
    return isinstance(term, Literal) and term.datatype.value in types


def labels_of(node: Node, profile: Profile, graph: set[tuple[Term, ...]]) -> list[tuple[str, str]]:
    for iri in profile.labels:
        found = [o for s, p, o in graph if s == node and p == NamedNode(iri) and is_string(o) and o.value.strip()]
        if found:
            return [(o.value, o.language or "") for o in found]
    return []


def taken(field: Field, term: Term, *, by_path: bool) -> bool:
    """Whether a field takes this term from what it reaches."""
    if isinstance(term, Literal):
        return {"literals": True, "strings": is_string(term), "labels": is_string(term) and by_path}[field.text]
    return field.text == "labels"


def singles(path: Path | None) -> set[str]:
    match path:
        case ShaclPredicate(iri):
            return {iri}
        case ShaclAlternative(parts):
            return set().union(*map(singles, parts))
    return set()


def reference(
    field: Field, node: Node, profile: Profile, graph: set[tuple[Term, ...]], documents: Texts
) -> list[tuple[str, str]]:
    in_graph = any(node in (s, o) for s, _, o in graph)
    if field.rest:
        reached = {
            o
            for s, p, o in graph
            if s == node
            and p.value not in profile.ignore
            and taken(field, o, by_path=False)
            and not any(p.value in singles(f.path) and taken(f, o, by_path=True) for f in profile.fields)
        }
    else:
        reached = ends(field.path, node, graph) if field.path is not None and in_graph else set()
        reached = {term for term in reached if taken(field, term, by_path=True)}
    values = set()
    for term in reached:
        if isinstance(term, Literal):
            if field.accepts(term.language or "") and term.datatype.value != XSD + "hexBinary":
                values.add((term.value, term.language or ""))
        else:
            names = [value for value in labels_of(term, profile, graph) if field.accepts(value[1])]
            values.update(names or ([(local_name(term.value), "")] if isinstance(term, NamedNode) else []))
    values |= {(text, "") for text in documents.texts(node, field.name)}
    values = {value for value in values if value[0].strip()}
    if field.local_name and isinstance(node, NamedNode):
        name = local_name(node.value)
        if not any(same_words(name, text) for text, _ in values):
            values.add((name, ""))
    return sorted(values)


def entity_texts_of(
    names: list[str], streamed: Mapping[Node, list[tuple[str, str, str]]]
) -> list[list[tuple[str, str, str]]]:
    """The texts of some fields, in this order."""
    return [[text for name in names for text in texts if text[0] == name] for texts in streamed.values()]


@settings(max_examples=examples(30, 250), deadline=None)
@given(profiles, graphs, texts)
def test_extraction_is_the_union_of_the_texts_of_each_entity_and_both_are_the_reference(profile, triples, held):
    store, documents = OxigraphStore.memory(triples), Texts(held)
    graph = {(t.subject, t.predicate, t.object) for t in triples}
    extraction = extract(profile, store, documents)
    profile = extraction.profile
    streamed: dict[Node, list[tuple[str, str, str]]] = {node: [] for node in extraction.nodes}
    for position, field in enumerate(profile.fields):
        for i, values in extraction.stream(position):
            streamed[extraction.nodes[i]] += [(field.name, *value) for value in values]
    for node, found in streamed.items():
        assert found
        assert entity_texts(profile, store, documents, node) == found
        assert [(f.name, *v) for f in profile.fields for v in reference(f, node, profile, graph, documents)] == found

    projected = Projection(columns_of(triples, extraction.nodes), lambda expression, values: [])
    together = EntityTexts(profile, store, documents, projected)
    assert together.of(extraction.nodes) == list(streamed.values())
    names = [field.name for field in profile.fields][::-2]
    wanted = entity_texts_of(names, streamed) if names else list(streamed.values())
    assert together.of(extraction.nodes, names) == wanted

    everyone = {term for s, _, o in graph for term in (s, o) if isinstance(term, Node)}
    everyone |= {node for by_node in held.values() for node, found in by_node.items() if any(found)}
    if profile.entities:
        everyone = {
            node
            for node in everyone
            if any((node, NamedNode(p), NamedNode(c)) in graph for p in profile.types for c in profile.entities)
        }
    structure = {s for s, p, _ in graph if isinstance(s, BlankNode) and p.value in STRUCTURAL_PREDICATES}
    everyone -= structure
    want = {node for node in everyone if any(reference(f, node, profile, graph, documents) for f in profile.fields)}
    assert set(extraction.nodes) == want


@settings(max_examples=examples(18, 150), deadline=None)
@given(profiles, graphs, texts)
def test_fields_given_early_are_those_that_stream_gives_and_the_rest_is_the_same(profile, triples, held):
    store, documents = OxigraphStore.memory(triples), Texts(held)
    taken: dict[int, list[tuple[int, list[tuple[str, str]]]]] = {}

    def take(position, values):
        assert position not in taken
        taken[position] = list(values)

    extraction = extract(profile, store, documents, early=take)
    plain = extract(profile, store, documents)
    assert extraction.nodes == plain.nodes
    assert plain.provisional == []
    assert len(set(extraction.provisional)) == len(extraction.provisional)
    for position, field in enumerate(extraction.profile.fields):
        streamed = list(extraction.stream(position))
        assert streamed == list(plain.stream(position))
        literals_only = field.text != "labels" and not field.local_name and field.name not in held
        documents_only = field.path is None and not field.rest and not field.local_name
        assert position not in taken or literals_only or documents_only
        if literals_only or documents_only:  # a field that nothing feeds is not given
            assert position in taken or not streamed
            assert sorted((extraction.provisional[i], values) for i, values in taken.get(position, [])) == streamed


def film_store() -> OxigraphStore:
    film, scott = NamedNode(E + "Blade_Runner_%281982%29"), NamedNode(E + "RidleyScott")
    triples = [
        (film, LABEL, Literal("Blade Runner (1982)")),
        (film, E + "tagline", Literal("Man has made his match", language="en")),
        (film, E + "year", Literal("1982", datatype=NamedNode(XSD + "integer"))),
        (film, E + "director", scott),
        (film, TYPE, NamedNode(E + "Film")),
        (NamedNode(E + "Film"), LABEL, Literal("film")),
        (film, E + "source", BlankNode("novel")),
        (BlankNode("novel"), RDFS + "comment", Literal("A novel by Philip K. Dick")),
    ]
    return OxigraphStore.memory([Quad(s, NamedNode(p), o) for s, p, o in triples])


def test_default_profile_on_a_small_graph():
    store = film_store()
    extraction = extract(load_profile("default"), store)
    assert [node.value for node in extraction.nodes] == [
        "novel",
        E + "Blade_Runner_%281982%29",
        E + "Film",
        E + "RidleyScott",
    ]
    assert entity_texts(extraction.profile, store, None, extraction.nodes[1]) == [
        ("label", "Blade Runner (1982)", ""),
        ("attributes", "1982", ""),
        ("attributes", "Man has made his match", "en"),
        ("related", "Ridley Scott", ""),
        ("types", "film", ""),
    ]
    assert entity_texts(extraction.profile, store, None, BlankNode("novel")) == [
        ("description", "A novel by Philip K. Dick", "")
    ]


def test_a_number_under_a_label_predicate_is_an_attribute_and_not_lost():
    film = NamedNode(E + "x1984")
    store = OxigraphStore.memory([Quad(film, NamedNode(LABEL), Literal(1984))])
    assert entity_texts(load_profile(), store, None, film) == [
        ("label", "x1984", ""),
        ("attributes", "1984", ""),
    ]


def test_a_triple_as_an_object_is_no_text_and_no_link():
    film = NamedNode(E + "x1984")
    quads = [Quad(film, NamedNode(E + "p"), Triple(film, NamedNode(E + "q"), Literal("word")))]
    store = OxigraphStore.memory(quads)
    extraction = extract(load_profile(), store)
    assert extraction.nodes == [film]
    assert entity_texts(load_profile(), store, None, film) == [("label", "x1984", "")]
    assert [list(extraction.stream(i)) for i in range(5)] == [[(0, [("x1984", "")])], [], [], [], []]


def test_only_the_fields_asked_for_come_back_in_that_order():
    store = film_store()
    film = NamedNode(E + "Blade_Runner_%281982%29")
    found = entity_texts(load_profile(), store, None, film, ["types", "label"])
    assert found == [("types", "film", ""), ("label", "Blade Runner (1982)", "")]


def test_an_unknown_field_is_an_error_with_the_known_ones():
    with pytest.raises(UnknownNameError) as caught:
        entity_texts(load_profile(), film_store(), None, NamedNode(E + "x"), ["lable"])
    assert caught.value.render() == (
        "error[R201]: no field 'lable'; known: label, description, attributes, related, types\n"
        "  hint: did you mean 'label'?"
    )


def test_document_fields_are_appended_and_merge_with_fields_of_the_same_name():
    node = NamedNode(E + "Film")
    documents = Texts(
        {"body": {node: ["long text"]}, "description": {node: ["moving pictures"], BlankNode("n"): ["hm"]}}
    )
    extraction = extract(load_profile(), film_store(), documents)
    assert [field.name for field in extraction.fields][-1] == "body"
    assert BlankNode("n") in extraction.nodes
    assert ("description", "moving pictures", "") in entity_texts(extraction.profile, film_store(), documents, node)


def test_progress_counts_every_row_once():
    counts: list[int] = []
    store = OxigraphStore.memory([Quad(NamedNode(f"{E}{i}"), NamedNode(LABEL), Literal("x")) for i in range(50_000)])
    extract(load_profile(), store, progress=counts.append)
    assert sum(counts) == 50_000
    assert len(counts) >= 3


@pytest.mark.parametrize(
    ("iri", "words"),
    [
        ("http://dbpedia.org/resource/Caf%C3%A9_M%C3%BCller", "Café Müller"),
        ("http://example.org/ns#hasHTMLParser", "has HTML Parser"),
        ("http://example.org/ns#ÉcoleNormaleSupérieure", "École Normale Supérieure"),
        ("http://example.org/listOfURLs", "list Of URLs"),
        ("http://example.org/3D_Version_2.0,1", "3D Version 2.0,1"),
        ("urn:isbn:0451450523", "0451450523"),
        ("http://example.org/a-b.c", "a b c"),
        ("http://example.org/%FF%FE", ""),
        ("data:text/plain;base64," + "QUJD" * 100, ""),
        ("http://example.org/path/", ""),
    ],
)
def test_local_names_are_words(iri, words):
    assert local_name(iri) == words


def test_a_field_that_only_documents_have_is_never_in_memory():
    class Many(Texts):
        def stream(self, field):
            for i in range(3_000):
                yield NamedNode(f"{E}{i:05d}"), [f"{i} " * 2_000]

    extraction = None
    tracemalloc.start()
    try:
        extraction = extract(
            Profile("p", (Field("body"),)),
            OxigraphStore.memory([]),
            Many({"body": {}}),
            early=lambda position, records: [None for _ in records],
        )
        values = sum(len(values) for _, values in extraction.stream(0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(extraction.nodes), values) == (3_000, 3_000)
    assert peak < 4_000_000  # the text has 30 million characters


ONTOLOGY = """
@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:part_of rdfs:label "part of" . :C1 a owl:Class ; rdfs:label "mitochondrion" ; rdfs:comment "an organelle" ;
  rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :part_of ; owl:someValuesFrom :C2 ] ,
    [ a owl:Restriction ; owl:onProperty :part_of ; owl:qualifiedCardinality 1 ; owl:onClass :C2 ] .
:C2 a owl:Class ; rdfs:label "cell" ; owl:equivalentClass [ a owl:Class ; owl:intersectionOf ( :C1 :C3 ) ] .
:C3 a owl:Class ; rdfs:label "thing or cell" ; owl:unionOf ( :C1 :C2 ) .
[] a owl:Axiom ; owl:annotatedSource :C1 ; owl:annotatedProperty rdfs:comment ; owl:annotatedTarget "an organelle" ;
  :source "PMID:1" .
[] a owl:AllDisjointClasses ; owl:members ( :C1 :C2 ) .
[ :note "a blank node that is a thing" ] .
"""


def test_restrictions_lists_and_annotations_are_no_entities_but_other_blank_nodes_are():
    store = OxigraphStore.memory(parse(ONTOLOGY, RdfFormat.TURTLE))
    nodes = extract(load_profile(), store).nodes
    assert [node for node in nodes if isinstance(node, NamedNode)][:3] == [
        NamedNode(f"http://e/C{n}") for n in (1, 2, 3)
    ]
    (thing,) = (node for node in nodes if isinstance(node, BlankNode))
    assert entity_texts(load_profile(), store, None, thing) == [("attributes", "a blank node that is a thing", "")]
