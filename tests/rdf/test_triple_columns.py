"""Triples in columns are the triples."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridkg.rdf.terms import Literal, NamedNode, Triple
from hybridkg.rdf.triple_columns import TripleColumns

nodes = st.sampled_from("abc").map(lambda name: NamedNode(f"e:{name}"))
objects = nodes | st.sampled_from("xy").map(Literal)
triples = st.lists(st.builds(Triple, nodes, nodes, objects), max_size=8)


@given(triples)
def test_columns_have_every_triple_in_the_order_of_its_predicate(own):
    columns = TripleColumns.of(own)
    stated = [(triple.subject, triple.predicate, triple.object) for triple in own]
    assert len(columns) == len(own)
    assert sorted(map(str, columns)) == sorted(map(str, stated))
    for iri, pairs in columns.by_predicate.items():
        assert [*zip(*pairs, strict=True)] == [(s, o) for s, p, o in stated if p.value == iri]
    assert columns.subjects() == list(dict.fromkeys(s for s, _, _ in columns))
    assert columns.objects() == list(dict.fromkeys(o for _, _, o in columns))
    assert set(columns.terms()) == {term for s, _, o in stated for term in (s, o)}
    assert len(columns.terms()) == len(set(columns.terms()))
