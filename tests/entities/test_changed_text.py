"""Texts of some entities against the full extraction."""

from __future__ import annotations

from entity_states import GRAPHS, LABEL, E, Texts, full_texts, graphs, held_texts, profiles
from entity_states import nodes as some_nodes
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.config.settings import Config
from hybridkg.entities import triple_lookups
from hybridkg.entities.changed_text import changed_nodes, changed_values, texts_before_and_after, texts_of
from hybridkg.entities.changed_triples import TwoStates
from hybridkg.entities.extraction import extract
from hybridkg.entities.profile.paths import ShaclPredicate
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.entities.profile.profile_reader import load_profile
from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.interfaces.progress import SILENT
from hybridkg.kb.write.build_indexes import GenerationText
from hybridkg.rdf.terms import BlankNode, DefaultGraph, Literal, NamedNode, Quad
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.text.index.engine import EmbeddedTextEngine

ABSENT = NamedNode(E + "absent")


def nodes_of(triples, held):
    terms = {term for quad in triples for term in (quad.subject, quad.predicate, quad.object)}
    terms |= {node for by_node in held.values() for node in by_node}
    return [term for term in sorted(terms, key=str) if isinstance(term, NamedNode | BlankNode)] + [ABSENT]


@settings(max_examples=examples(15, 600), deadline=None)
@given(profiles, graphs, held_texts, st.booleans(), st.lists(some_nodes))
def test_texts_are_value_for_value_those_of_the_full_extraction(profile, triples, held, union, some):
    store, documents = OxigraphStore.memory(triples, union_default_graph=union), Texts(held)
    full = full_texts(profile, store, documents)
    everything = texts_of(nodes_of(triples, held), profile, store, documents)
    assert list(everything.texts.items()) == list(full.items())
    part = texts_of([*some, ABSENT], profile, store, documents)
    assert list(part.texts.items()) == [(node, values) for node, values in full.items() if node in some]
    assert part.texts == everything.only(some).texts
    assert changed_nodes(everything, part) == tuple(node for node in full if node not in some)


@settings(max_examples=examples(24, 300), deadline=None)
@given(profiles, graphs, held_texts)
def test_streams_and_filter_values_are_those_of_the_full_extraction(profile, triples, held):
    store, documents = OxigraphStore.memory(triples, union_default_graph=True), Texts(held)
    full = extract(profile, store, documents)
    source = texts_of(nodes_of(triples, held), profile, store, documents, union_default_graph=True)
    assert source.union_default_graph
    assert (source.fields, source.filters) == (full.fields, full.profile.filters)
    texts = source.extract()
    assert (texts.nodes, texts.provisional) == (full.nodes, [])
    for position in range(len(full.fields)):
        assert list(texts.stream(position)) == list(full.stream(position))
    for predicate in (LABEL, E + "p"):
        assert list(texts.filter_values(predicate)) == list(full.filter_values(predicate))


def test_a_field_that_names_an_ignored_predicate_reads_it_beside_a_rest_field():
    film = NamedNode(E + "film")
    store = OxigraphStore.memory([Quad(film, NamedNode(E + name), Literal(name)) for name in ("title", "key", "note")])
    rest, named = Field("rest", rest=True), Field("title", path=ShaclPredicate(E + "title"))
    profile = Profile("p", (rest, named), ignore=(E + "title", E + "key"))
    assert texts_of([film], profile, store).texts == {film: ([("note", "")], [("title", "")])}


def some_films():
    films = [NamedNode(f"{E}Film_{i}") for i in range(30)]
    for i, film in enumerate(films):
        graph = GRAPHS[0]
        yield Quad(film, NamedNode(LABEL), Literal(f"film {i}", language="en"), graph)
        yield Quad(film, NamedNode(E + "next"), films[(i * 7) % 30], graph)
        yield Quad(film, NamedNode(E + "year"), Literal(1970 + i), graph)
        yield Quad(film, NamedNode(E + "part"), BlankNode(f"p{i}"), graph)
        yield Quad(BlankNode(f"p{i}"), NamedNode(E + "note"), Literal(f"note {i}"), graph)


def test_batches_of_a_few_nodes_give_the_same_texts(monkeypatch):
    store, profile = OxigraphStore.memory(some_films()), load_profile("default")
    nodes = extract(profile, store).nodes
    whole = texts_of(nodes, profile, store)
    monkeypatch.setattr(triple_lookups, "NODES_OF_A_QUERY", 7)
    monkeypatch.setattr("hybridkg.entities.changed_text.NODES_OF_A_QUERY", 11)
    monkeypatch.setattr("hybridkg.entities.changed_text.MAX_LABELS_HELD", 5)
    assert texts_of(nodes[::-1] * 2, profile, store).texts == whole.texts == full_texts(profile, store, None)


def test_a_text_index_of_all_texts_has_the_bytes_of_an_index_of_the_graph(tmp_path):
    store, profile = OxigraphStore.memory(some_films()), load_profile("default")
    full, selected = tmp_path / "full", tmp_path / "selected"
    source = GenerationText(tmp_path, profile, store, None, SILENT, union_default_graph=False)
    nodes = extract(profile, store).nodes
    for folder, made in ((full, source), (selected, texts_of(nodes, profile, store))):
        folder.mkdir()
        EmbeddedTextEngine(tmp_path, Config()).build(folder, made, SILENT)
    names = sorted(path.name for path in full.iterdir())
    assert names == sorted(path.name for path in selected.iterdir())
    for name in names:
        assert (full / name).read_bytes() == (selected / name).read_bytes(), name


def test_fields_that_a_change_does_not_touch_have_the_values_of_before_unread():
    film, title, plot = NamedNode(E + "film"), NamedNode(E + "title"), NamedNode(E + "plot")
    store = OxigraphStore.memory([Quad(film, title, Literal("Alien")), Quad(film, plot, Literal("a ship"))])
    profile = Profile("p", (Field("title", path=ShaclPredicate(title.value)), Field("plot", rest=True)))
    states = TwoStates.from_before(TripleLookups(store), [(film, plot, Literal("a crew"))], [])
    before, after = texts_before_and_after([film], profile, states)
    assert before.texts == {film: ([("Alien", "")], [("a ship", "")])}
    assert after.texts == {film: ([("Alien", "")], [("a crew", ""), ("a ship", "")])}
    assert after.texts[film][0] is before.texts[film][0]
    assert changed_nodes(before, after) == (film,)


def is_default(quad):
    return isinstance(quad.graph_name, DefaultGraph)


@settings(max_examples=examples(60, 1000), deadline=None)
@given(profiles, graphs, graphs, held_texts, held_texts, st.booleans())
def test_of_entities_that_stay_the_fields_that_differ_suffice(profile, one, two, held, changed, union):
    graphs_of = [
        frozenset((q.subject, q.predicate, q.object) for q in quads if union or is_default(q)) for quads in (one, two)
    ]
    stores = [OxigraphStore.memory([Quad(*triple) for triple in sorted(own, key=str)]) for own in graphs_of]
    documents = Texts(held), Texts(changed)
    for own in documents:
        profile = profile.with_documents(own.fields())
    added, removed = (sorted(some - others, key=str) for some, others in (graphs_of[::-1], graphs_of))
    nodes = nodes_of([*one, *two], {**held, **changed})

    def read(entities):
        states = TwoStates.from_before(TripleLookups(stores[0]), added, removed)
        return texts_before_and_after(nodes, profile, states, documents, entities=entities)

    (before, after), entities = read(()), full_texts(profile, stores[0], documents[0])
    narrow = read(entities)
    for whole, own in zip((before, after), narrow, strict=True):
        assert list(own.texts) == list(whole.texts)
        for node, values in own.texts.items():
            assert all(mine in ([], other) for mine, other in zip(values, whole.texts[node], strict=True))
    differing = changed_nodes(before, after)
    assert changed_nodes(*narrow) == differing
    assert changed_values(differing, *narrow) == changed_values(differing, before, after)
    for place, state in ((0, before), (1, after)):
        for position, values in enumerate(changed_values(differing, before, after)):
            for node in values:
                if node in state.texts:
                    assert narrow[place].texts[node][position] == state.texts[node][position]


def test_fields_that_no_change_touches_are_left_out_of_an_entity_that_stays_and_read_of_others():
    film, other = NamedNode(E + "film"), NamedNode(E + "other")
    title, plot = NamedNode(E + "title"), NamedNode(E + "plot")
    quads = [Quad(node, predicate, Literal(text)) for node, predicate, text in [
        (film, title, "Alien"), (film, plot, "a ship"), (other, title, "Heat"), (other, plot, "a city")]]  # fmt: skip
    store = OxigraphStore.memory(quads)
    profile = Profile("p", tuple(Field(n, path=ShaclPredicate(E + n)) for n in ("title", "plot")))
    states = TwoStates.from_before(
        TripleLookups(store), [(film, plot, Literal("a crew"))], [(other, plot, Literal("a city"))]
    )
    before, after = texts_before_and_after([film, other], profile, states, entities={film, other})
    assert before.texts[film] == ([], [("a ship", "")])
    assert after.texts[film] == ([], [("a crew", ""), ("a ship", "")])
    # Nothing of what has changed is left of the other, so all of it is read.
    assert (before.texts[other], after.texts[other]) == (([("Heat", "")], [("a city", "")]), ([("Heat", "")], []))


def test_a_node_outside_the_graph_has_a_local_name_as_long_as_it_has_a_document():
    store, film = OxigraphStore.memory(), NamedNode(E + "Alien")
    profile = Profile("p", (Field("title", path=ShaclPredicate(E + "title"), local_name=True), Field("review")))
    one, none = Texts({"review": {film: ["slow"]}}), Texts({"review": {}})
    for documents, texts in (((one, none), ({film: ([("Alien", "")], [("slow", "")])}, {})), ((none, none), ({}, {}))):
        for pair, wanted in ((documents, texts), (documents[::-1], texts[::-1])):
            states = TwoStates.from_before(TripleLookups(store), [], [])
            assert tuple(own.texts for own in texts_before_and_after([film], profile, states, pair)) == wanted
