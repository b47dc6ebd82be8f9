"""Changes of literal fields that are read by columns are those of the full extractions before and after a change."""

from __future__ import annotations

import numpy as np
import pytest
from entity_states import LABEL, TYPE, E, Texts, full_texts, graphs, languages, literals
from hypothesis import event, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.entities.changed_text import literal_changes
from hybridkg.entities.field_routing import FieldRouting
from hybridkg.entities.literal_texts import LiteralTexts
from hybridkg.entities.profile.paths import ShaclAlternative, ShaclInverse, ShaclPredicate
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.entities.triple_lookups import in_term_order
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projected_triples import ProjectedTriples
from hybridkg.rdf.stored import all_as_stored
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Quad, Triple
from hybridkg.rdf.triple_columns import TripleColumns
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


def changes_of(profile, before, entities, added, removed, documents=None, *, limit=100):
    """The changes by a projection of the triples before, whose entities are these, in term order."""
    known = ProjectedTriples(columns_of([Triple(*triple) for triple in before], entities))
    ids = {node: i for i, node in enumerate(entities)}
    change = tuple(TripleColumns.of(Triple(*triple) for triple in sorted(own, key=str)) for own in (added, removed))

    def ids_of(nodes):
        return np.array([ids.get(node, -1) for node in nodes], np.int64)

    return literal_changes(profile, change, known, ids_of, documents, limit=limit)


@settings(max_examples=examples(150, 3_000), deadline=None)
@given(
    profiles,
    graphs,
    st.lists(own_literals, min_size=4, max_size=12),
    st.lists(own_literals, min_size=1, max_size=6),
    st.none() | st.none() | graphs,
)
def test_changed_values_are_those_of_the_full_extractions(profile, one, more, toggled, two):
    before = triples_of([*one, *more])
    after = before ^ triples_of(toggled) if two is None else triples_of(two)
    stores, added, removed = [store_of(before), store_of(after)], after - before, before - after
    full = [full_texts(profile, store, None) for store in stores]
    entities = in_term_order(full[0])
    ids = {node: i for i, node in enumerate(entities)}
    changes = changes_of(profile, before, entities, added, removed)
    event(f"read by columns: {changes is not None}")
    if changes is None:
        return
    assert list(full[0]) == list(full[1])
    for position, columns_of_field in enumerate(changes):
        pairs = [(ids[node], full[0][node][position], full[1][node][position]) for node in entities]
        wanted = [(i, old, new) for i, old, new in pairs if old != new]
        assert list(columns_of_field[0]) == [(i, old) for i, old, _ in wanted if old]
        assert list(columns_of_field[1]) == [(i, new) for i, _, new in wanted if new]


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


FILM, OTHER, PREDICATE = NamedNode(E + "film"), NamedNode(E + "other"), NamedNode(E + "p")
PROFILE = Profile("p", (Field("a", path=P), Field("b", path=ShaclPredicate(E + "q"))))


def changed(triples, added, removed=(), *, limit=10):
    entities = in_term_order(subject for subject, _, _ in triples)
    found = changes_of(PROFILE, triples, entities, added, removed, limit=limit)
    return found if found is None else [tuple(map(list, own)) for own in found]


def test_only_the_fields_and_entities_that_differ_are_told():
    text = [(FILM, PREDICATE, Literal("Alien")), (OTHER, PREDICATE, Literal("Heat"))]
    found = changed(text, [(FILM, PREDICATE, Literal("Aliens", language="en"))])
    assert found == [([(0, [("Alien", "")])], [(0, [("Alien", ""), ("Aliens", "en")])]), ([], [])]


def test_a_value_stays_as_long_as_one_of_its_literals_does():
    other = Literal("Alien", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#token"))
    text = [(FILM, PREDICATE, Literal("Alien")), (FILM, PREDICATE, other)]
    assert changed(text, [], text[:1]) == [([], []), ([], [])]
    assert changed([*text, (FILM, PREDICATE, Literal("Heat"))], [], text)[0][1] == [(0, [("Heat", "")])]


def test_a_node_that_no_class_makes_an_entity_is_left_out():
    profile = Profile("p", PROFILE.fields, entities=(E + "b",))
    triples = [(FILM, NamedNode(TYPE), NamedNode(E + "b")), (FILM, PREDICATE, Literal("Alien"))]
    triples.append((OTHER, NamedNode(TYPE), NamedNode(E + "c")))
    added = [(FILM, PREDICATE, Literal("Aliens")), (OTHER, PREDICATE, Literal("Heat"))]
    found = changes_of(profile, triples, [FILM], added, [])
    assert [tuple(map(list, own)) for own in found] == [
        ([(0, [("Alien", "")])], [(0, [("Alien", ""), ("Aliens", "")])]),
        ([], []),
    ]
    triples[-1] = (OTHER, NamedNode(TYPE), NamedNode(E + "b"))
    assert changes_of(profile, triples, [FILM], added, []) is None  # it had no text, and is an entity now


def test_a_literal_that_no_field_takes_changes_nothing():
    path = ShaclPredicate(PREDICATE.value)
    profile = Profile("p", (Field("a", path=path, languages=("en",)), PROFILE.fields[1]))
    triples = [(FILM, NamedNode(E + "q"), Literal("Alien"))]
    added = [(FILM, PREDICATE, Literal("Heat", language="de"))]
    assert [tuple(map(list, own)) for own in changes_of(profile, triples, [FILM], added, [])] == [([], []), ([], [])]


def test_documents_of_other_fields_do_not_matter():
    triples = [(FILM, PREDICATE, Literal("Alien"))]
    added = [(FILM, PREDICATE, Literal("Aliens"))]
    of_b, of_a = (Texts({name: {FILM: ["a crew"]}}) for name in "ba")
    assert changes_of(PROFILE, triples, [FILM], added, [], of_b) is not None
    assert changes_of(PROFILE, triples, [FILM], added, [], of_a) is None


@pytest.mark.parametrize(
    ("added", "removed", "limit"),
    [
        ([(NamedNode(E + "new"), PREDICATE, Literal("Heat"))], [], 10),  # no entity before
        ([], [(FILM, PREDICATE, Literal("Alien"))], 10),  # perhaps no entity after
        ([(FILM, PREDICATE, Literal("Heat")), (OTHER, PREDICATE, Literal("Heat"))], [], 1),
    ],
)
def test_other_changes_are_left_to_the_other_reader(added, removed, limit):
    text = [(FILM, PREDICATE, Literal("Alien")), (OTHER, PREDICATE, Literal("Casino"))]
    assert changed(text, added, removed, limit=limit) is None


def test_a_literal_that_the_earlier_state_lacks_leaves_the_change_to_the_other_reader(caplog):
    assert changed([(FILM, PREDICATE, Literal("Alien"))], [], [(FILM, PREDICATE, Literal("Heat"))]) is None
    assert "lacks" in caplog.text
