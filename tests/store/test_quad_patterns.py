"""The quads of a pattern in a store on disk, whose own search has a wrong end where the last byte of a key is 0xFF."""

from __future__ import annotations

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Store
from rdflib import XSD

from hybridkg.rdf.terms import DefaultGraph, Literal, NamedNode, Quad, Triple
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.store.quad_patterns import quads_of_pattern
from hybridkg.store.rdflib_view import read_only_graph

E = "http://e/"
NUMBERS = (-512, -257, -256, -1, 0, 1, 254, 255, 256, 300, 510, 511, 512, 65_535, 65_536)
OTHERS = ("a", True, 1.5, 255.0)
OBJECTS = [
    *(Literal(value) for value in (*NUMBERS, *OTHERS)),
    Literal("2.5", datatype=NamedNode(XSD.decimal)),
    Triple(NamedNode(E + "a"), NamedNode(E + "p"), Literal(255)),
    Triple(NamedNode(E + "a"), NamedNode(E + "p"), Literal(256)),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    store = Store(str(tmp_path_factory.mktemp("patterns") / "graph"))
    for graph in (DefaultGraph(), NamedNode(E + "g")):
        store.extend(
            Quad(NamedNode(E + "ab"[place % 2]), NamedNode(E + "p"), term, graph) for place, term in enumerate(OBJECTS)
        )
    return store


some = st.sampled_from
names = st.none() | some([NamedNode(E + "a"), NamedNode(E + "b")])
graphs = st.none() | some([DefaultGraph(), NamedNode(E + "g")])


@given(names, st.none() | st.just(NamedNode(E + "p")), st.none() | some(OBJECTS) | st.integers().map(Literal), graphs)
def test_a_pattern_gives_the_quads_that_filtering_gives(store, subject, predicate, term, graph):
    pattern = (subject, predicate, term, graph)
    wanted = {quad for quad in store if all(one in (None, other) for one, other in zip(pattern, quad, strict=True))}
    assert set(quads_of_pattern(store, *pattern)) == wanted


def test_an_rdflib_view_finds_255_in_any_of_its_forms_and_no_larger_number(store):
    view = read_only_graph(OxigraphStore(store))
    for text, datatype in (("255", XSD.integer), ("+0255", XSD.int)):
        found = {value for _, _, value in view.triples((None, None, rdflib.Literal(text, datatype=datatype)))}
        assert found == {rdflib.Literal(255)}
