"""Random profiles, graphs and documents, and the texts of their entities by the full extraction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hypothesis import strategies as st
from pyoxigraph import BaseDirection

from hybridkg.entities.extraction import extract
from hybridkg.entities.profile.paths import Repeat, Sequence, ShaclAlternative, ShaclInverse, ShaclPredicate
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.rdf.terms import XSD, BlankNode, DefaultGraph, Literal, NamedNode, Node, Quad, Triple

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LABEL, TYPE = "http://www.w3.org/2000/01/rdf-schema#label", RDF + "type"
E = "http://example.org/"

GRAPHS = [DefaultGraph(), NamedNode(E + "g"), NamedNode(E + "h")]
nodes = st.sampled_from(
    [*(NamedNode(E + name) for name in ("Big_Fish", "b", "c", "_-_")), BlankNode("x"), BlankNode("y")]
)
FIRST = RDF + "first"
predicates = st.sampled_from([E + "p", E + "q", LABEL, E + "p", E + "q", LABEL, TYPE, E + "r", FIRST]).map(NamedNode)
literals = st.sampled_from(
    [
        Literal("red"),
        Literal("big fish"),
        Literal("rot", language="de"),
        Literal("red", language="en-GB"),
        Literal("red", language="ar", direction=BaseDirection.RTL),
        Literal(1999),
        Literal("cafe", datatype=NamedNode(XSD + "hexBinary")),
        Literal("  "),
    ]
)
quoted = st.just(Triple(NamedNode(E + "b"), NamedNode(E + "p"), Literal("red")))
objects = st.one_of(nodes, nodes, literals, literals, quoted)
quads = st.builds(Quad, nodes, predicates, objects, st.sampled_from(GRAPHS))
graphs = st.lists(quads, max_size=14, unique=True)

iris = st.sampled_from([E + "p", E + "q", E + "p", E + "q", LABEL, TYPE])
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
    types=st.sampled_from([(TYPE,), (TYPE, E + "p")]),
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


def full_texts(profile, store, documents):
    """Node -> values of each field, by the full extraction."""
    extraction = extract(profile, store, documents)
    texts = {node: tuple([] for _ in extraction.profile.fields) for node in extraction.nodes}
    for position in range(len(extraction.profile.fields)):
        for i, values in extraction.stream(position):
            texts[extraction.nodes[i]][position].extend(values)
    return texts
