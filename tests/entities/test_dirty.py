"""Dirty entities against the full extractions of two states."""

from __future__ import annotations

from hypothesis import event, given
from hypothesis import strategies as st

from hybridkg.entities.changed_text import changed_nodes, texts_of
from hybridkg.entities.dirty import SourceChange, dirty_entities
from hybridkg.entities.extraction import extract
from hybridkg.entities.profile.paths import Repeat, Sequence, ShaclAlternative, ShaclInverse, ShaclPredicate
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.rdf.terms import XSD, BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple
from hybridkg.store.oxigraph import OxigraphStore

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LABEL, TYPE = "http://www.w3.org/2000/01/rdf-schema#label", RDF + "type"
E = "http://example.org/"

GRAPHS = [DefaultGraph(), NamedNode(E + "g"), NamedNode(E + "h")]
nodes = st.sampled_from(
    [*(NamedNode(E + name) for name in ("Big_Fish", "b", "c", "_-_")), BlankNode("x"), BlankNode("y")]
)
predicates = st.sampled_from([LABEL, TYPE, E + "p", E + "q", E + "r"]).map(NamedNode)
literals = st.sampled_from(
    [
        Literal("red"),
        Literal("big fish"),
        Literal("rot", language="de"),
        Literal("red", language="en-GB"),
        Literal(1999),
        Literal("cafe", datatype=NamedNode(XSD + "hexBinary")),
        Literal("  "),
    ]
)
quoted = st.just(Triple(NamedNode(E + "b"), NamedNode(E + "p"), Literal("red")))
objects = st.one_of(nodes, nodes, literals, literals, quoted)
quads = st.builds(Quad, nodes, predicates, objects, st.sampled_from(GRAPHS))
graphs = st.lists(quads, max_size=14, unique=True)

iris = st.sampled_from([LABEL, TYPE, E + "p", E + "q"])
paths = st.recursive(
    iris.map(ShaclPredicate),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Sequence(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: ShaclAlternative(tuple(parts))),
        inner.map(ShaclInverse),
        st.builds(Repeat, inner, st.sampled_from("*+?")),
    ),
    max_leaves=5,
)
languages = st.sampled_from([(), (), ("en",), ("de", "en")])
analyzers = st.sampled_from(["standard", "identifier"])
kinds = st.sampled_from(["labels", "literals", "strings", "labels"])
names = st.sampled_from("abcd")
fields = st.one_of(
    st.builds(
        Field, name=names, path=paths, text=kinds, local_name=st.booleans(), languages=languages, analyzer=analyzers
    ),
    st.builds(Field, name=names, rest=st.just(True), text=st.sampled_from(["literals", "labels"]), languages=languages),
    st.builds(Field, name=names, local_name=st.booleans(), analyzer=analyzers),
)
profiles = st.builds(
    Profile,
    name=st.just("p"),
    fields=st.lists(fields, min_size=1, max_size=4, unique_by=lambda field: field.name).map(tuple),
    entities=st.sampled_from([(), (), (E + "b",), (E + "b", E + "c")]),
    labels=st.sampled_from([(LABEL,), (E + "q", LABEL)]),
    ignore=st.sampled_from([(), (E + "p",), (LABEL, E + "r")]),
    filters=st.sampled_from([(), (E + "p", TYPE)]),
)
held_texts = st.dictionaries(
    st.sampled_from(["a", "body"]),
    st.dictionaries(nodes, st.lists(st.sampled_from(["one", "two", "", "big fish"]), min_size=1), max_size=2),
    min_size=2,
)


class Texts:
    """Text documents held in a dict: field -> node -> texts."""

    def __init__(self, held):
        self.held = held

    def fields(self):
        return sorted(self.held)

    def stream(self, field):
        yield from sorted(self.held[field].items(), key=lambda one: (isinstance(one[0], NamedNode), one[0].value))

    def values(self, field):
        for node, texts in self.stream(field):
            if kept := {text for text in texts if text and not text.isspace()}:
                yield str(node), sorted(kept)

    def texts(self, node, field):
        return self.held.get(field, {}).get(node, [])


def full_texts(profile, store, documents):
    """Node -> values of each field, by the full extraction."""
    extraction = extract(profile, store, documents)
    texts = {node: tuple([] for _ in extraction.profile.fields) for node in extraction.nodes}
    for position in range(len(extraction.profile.fields)):
        for i, values in extraction.stream(position):
            texts[extraction.nodes[i]][position].extend(values)
    return texts


def differing(one, other):
    return {node for node in one.keys() | other.keys() if one.get(node) != other.get(node)}


def visible(quads, union):
    return {(q.subject, q.predicate, q.object) for q in quads if union or q.graph_name == DefaultGraph()}


def documented(*held):
    return sorted({node for texts in held for by_node in texts.values() for node in by_node}, key=str)


@st.composite
def changes(draw):
    """Two sets of quads, the second by removing some of the first and adding others."""
    before = draw(graphs)
    removed = draw(st.lists(st.sampled_from(before), max_size=3)) if before else []
    added = draw(st.lists(quads, max_size=3))
    return set(before), (set(before) - set(removed)) | set(added)


def check_law(profile, states, before_texts, after_texts, union, raw):
    before, after = states
    stores = [OxigraphStore.memory(state, union_default_graph=union) for state in states]
    documents = [Texts(before_texts), Texts(after_texts)]
    old, new = (full_texts(profile, store, texts) for store, texts in zip(stores, documents, strict=True))
    if raw:  # the triples of all quads, also of those that another graph has
        added, removed = visible(after - before, True), visible(before - after, True)
    else:
        added = visible(after, union) - visible(before, union)
        removed = visible(before, union) - visible(after, union)
    changed = [node for node in documented(before_texts, after_texts) if before_texts != after_texts]
    profile = profile.with_documents(documents[0].fields())
    change = SourceChange(sorted(added, key=str), sorted(removed, key=str), changed)
    dirty = dirty_entities(profile, change, stores[1], limit=1_000)
    assert not dirty.too_many
    assert differing(old, new) <= set(dirty.nodes)
    event(f"dirty and changed: {len(dirty.nodes)}, {len(differing(old, new))}")
    one, other = (texts_of(dirty.nodes, profile, *state) for state in zip(stores, documents, strict=True))
    assert set(changed_nodes(one, other)) == differing(old, new)


@given(profiles, changes(), held_texts, st.booleans(), st.booleans())
def test_entities_whose_text_changes_are_dirty(profile, states, texts, union, raw):
    check_law(profile, states, texts, texts, union, raw and union)


@given(profiles, changes(), held_texts, held_texts)
def test_entities_are_dirty_after_a_change_of_graph_and_documents(profile, states, before, after):
    check_law(profile, states, before, after, False, False)
