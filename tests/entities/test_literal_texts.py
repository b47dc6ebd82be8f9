"""Values of literal fields that are read by columns are those of the full extraction, before and after a change."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from entity_states import LABEL, TYPE, E, Texts, full_texts, graphs, languages, literals
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.entities import changed_text
from hybridkg.entities.changed_text import changed_nodes, changed_values, texts_before_and_after
from hybridkg.entities.changed_triples import TwoStates
from hybridkg.entities.dirty import SourceChange, dirty_entities
from hybridkg.entities.field_routing import FieldRouting
from hybridkg.entities.literal_texts import LiteralTexts
from hybridkg.entities.profile.paths import ShaclAlternative, ShaclInverse, ShaclPredicate
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projected_triples import ProjectedTriples
from hybridkg.rdf.stored import all_as_stored
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Quad, Triple
from hybridkg.store.oxigraph import OxigraphStore

steps = st.sampled_from([E + "p", E + "q", LABEL, E + "r"]).map(ShaclPredicate)
paths = steps | st.lists(steps, min_size=2, max_size=3).map(lambda parts: ShaclAlternative(tuple(parts)))
fields = st.builds(
    Field,
    name=st.sampled_from("abcd"),
    path=paths,
    text=st.sampled_from(["literals", "literals", "literals", "strings", "strings", "labels"]),
    languages=languages,
)
some_nodes = st.sampled_from([NamedNode(E + "Big_Fish"), NamedNode(E + "b"), BlankNode("x")])
own_literals = st.builds(Quad, some_nodes, steps.map(lambda step: NamedNode(step.iri)), literals)
some_fields = st.lists(fields, min_size=1, max_size=3, unique_by=lambda field: field.name).map(tuple)
with_rest = some_fields.map(lambda own: (Field("rest", rest=True), *own[:1]))
profiles = st.builds(
    Profile,
    name=st.just("p"),
    fields=some_fields | some_fields | some_fields | with_rest,
    types=st.sampled_from([(TYPE,), (TYPE, E + "p")]),
    entities=st.sampled_from([(), (), (), (E + "b", E + "c")]),
    labels=st.just((LABEL,)),
    ignore=st.sampled_from([(), (), (LABEL, E + "r")]),
)


def triples_of(quads):
    """The triples of a projection, with literals in the store's form; only literals with a direction and triples
    differ from those of the graph."""
    stated = {(q.subject, q.predicate, q.object) for q in quads if not isinstance(q.object, Triple)}
    stated = {one for one in stated if getattr(one[2], "direction", None) is None}
    return {(s, p, all_as_stored([o])[0] if isinstance(o, Literal) else o) for s, p, o in stated}


def store_of(triples):
    return OxigraphStore.memory([Quad(*triple) for triple in sorted(triples, key=str)])


@settings(max_examples=examples(150, 3_000), deadline=None)
@given(
    profiles,
    graphs,
    st.lists(own_literals, min_size=4, max_size=12),
    st.lists(own_literals, min_size=1, max_size=6),
    st.none() | st.none() | graphs,
    st.booleans(),
)
def test_texts_before_and_after_are_those_of_the_full_extraction(profile, one, more, toggled, two, projected):
    before = triples_of([*one, *more])
    after = before ^ triples_of(toggled) if two is None else triples_of(two)
    stores, added, removed = [store_of(before), store_of(after)], after - before, before - after
    full = [full_texts(profile, store, None) for store in stores]
    columns = columns_of([Triple(*triple) for triple in before], sorted(full[0], key=str))
    known = ProjectedTriples(columns) if projected else TripleLookups(stores[0])
    states = TwoStates.from_before(known, sorted(added, key=str), sorted(removed, key=str))
    change = SourceChange(states.added, states.removed)
    dirty = dirty_entities(profile, change, states.after_streamed, limit=100, known=full[0]).nodes
    texts = texts_before_and_after(dirty, profile, states, entities=full[0])
    differing = [node for node in {**full[0], **full[1]} if full[0].get(node) != full[1].get(node)]
    assert set(changed_nodes(*texts)) == set(differing)
    none = tuple([] for _ in profile.fields)
    for position, values in enumerate(changed_values(differing, *texts)):
        wanted = [tuple(own.get(node, none)[position] for own in full) for node in differing]
        pairs = [(node, old, new) for node, (old, new) in zip(differing, wanted, strict=True) if old != new]
        assert values == {node: new for node, _, new in pairs}
        assert {node: texts[0].texts.get(node, none)[position] for node in values} == {n: old for n, old, _ in pairs}


def routing_of(*some: Field, **others) -> tuple[Profile, FieldRouting]:
    profile = Profile("p", some, **others)
    return profile, FieldRouting(profile)


P = ShaclPredicate(E + "p")


@pytest.mark.parametrize(
    ("some", "documented", "reads"),
    [
        ([Field("a", path=P)], [], True),
        ([Field("a", path=P, text="strings"), Field("b", path=ShaclPredicate(E + "q"), text="labels")], [], True),
        ([Field("a", path=P), Field("b", rest=True)], [], True),
        ([Field("a", path=P)], [0], False),
        ([Field("a", path=P, text="labels")], [], False),
        ([Field("a", rest=True)], [], False),
        ([Field("a", path=P), Field("b", local_name=True)], [], False),
        ([Field("a", path=ShaclAlternative((P, ShaclInverse(P))))], [], False),
    ],
)
def test_fields_with_other_values_than_own_literals_are_left_to_the_other_reader(some, documented, reads):
    assert (LiteralTexts.of(*routing_of(*some), frozenset({0}), documented) is not None) == reads


def test_a_change_of_classes_or_of_structure_is_left_to_the_other_reader():
    reader = LiteralTexts.of(*routing_of(Field("a", path=P), entities=(E + "b",)), frozenset({0}), [])
    assert reader.follows(frozenset({E + "p"}))
    assert not reader.follows(frozenset({E + "p", TYPE}))
    assert not reader.follows(frozenset({"http://www.w3.org/1999/02/22-rdf-syntax-ns#first"}))


def test_a_literal_that_the_earlier_state_lacks_leaves_the_change_to_the_other_reader(caplog):
    film, p = NamedNode(E + "film"), NamedNode(E + "p")
    store = OxigraphStore.memory([Quad(film, p, Literal("Alien"))])
    states = TwoStates.from_before(TripleLookups(store), [], [(film, p, Literal("Heat"))])
    profile = Profile("p", (Field("a", path=P), Field("b", path=ShaclPredicate(E + "q"))))
    before, after = texts_before_and_after([film], profile, states, entities={film})
    assert before.texts == after.texts == {film: ([("Alien", "")], [])}
    assert "lacks" in caplog.text


def test_many_entities_are_read_at_once_and_others_with_them():
    p = NamedNode(E + "p")
    films = [NamedNode(f"{E}{i:04}") for i in range(1_500)]
    store = OxigraphStore.memory([Quad(film, p, Literal(f"film {i}")) for i, film in enumerate(films)])
    added = [(film, p, Literal("new")) for film in [*films, NamedNode(E + "x"), BlankNode("y")]]
    states = TwoStates.from_before(TripleLookups(store), added, [(films[0], p, Literal("film 0"))])
    profile = Profile("p", (Field("a", path=P), Field("b", path=ShaclPredicate(E + "q"))))
    nodes = [subject for subject, _, _ in added]
    with patch.object(
        changed_text._TextReader, "read", autospec=True, side_effect=changed_text._TextReader.read
    ) as read:
        before, after = texts_before_and_after(nodes, profile, states, (None, Texts({})), entities=set(films))
    assert {node for call in read.call_args_list for node in call.args[1]} == {NamedNode(E + "x"), BlankNode("y")}
    assert list(after.texts) == [BlankNode("y"), *films, NamedNode(E + "x")]
    assert list(before.texts) == films
    assert after.texts[films[0]] == ([("new", "")], [])
    assert after.texts[films[7]] == ([("film 7", ""), ("new", "")], [])
