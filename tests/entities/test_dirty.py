"""Dirty entities against the full extractions of two states."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from entity_states import LABEL, TYPE, E, Texts, full_texts, graphs, held_texts, profiles, quads
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.entities import dirty
from hybridkg.entities.changed_text import changed_nodes, texts_before_and_after, texts_of
from hybridkg.entities.changed_triples import TwoStates
from hybridkg.entities.dirty import DirtyEntities, SourceChange, dirty_entities
from hybridkg.entities.profile.paths import Path, Repeat, Sequence, ShaclInverse, ShaclPredicate
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.entities.profile.profile_reader import load_profile
from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.rdf.terms import BlankNode, DefaultGraph, Literal, NamedNode, Quad
from hybridkg.store.oxigraph import OxigraphStore

P, Q = ShaclPredicate(E + "p"), ShaclPredicate(E + "q")
A, B, C, D = (NamedNode(E + name) for name in "abcd")


def visible(quads, union):
    return {(q.subject, q.predicate, q.object) for q in quads if union or q.graph_name == DefaultGraph()}


@st.composite
def changes(draw):
    """Two sets of quads: the second without some of the first, and with others."""
    before = draw(graphs)
    removed = draw(st.lists(st.sampled_from(before), max_size=3)) if before else []
    added = draw(st.lists(quads, max_size=3))
    return set(before), (set(before) - set(removed)) | set(added)


def check_that_changed_texts_are_dirty(profile, states, held, union, whole_graphs):
    stores = [OxigraphStore.memory(state, union_default_graph=union) for state in states]
    documents = [Texts(texts) for texts in held]
    old, new = (full_texts(profile, store, texts) for store, texts in zip(stores, documents, strict=True))
    seen = [visible(state, union) for state in states]
    if whole_graphs:  # also the triples that another graph of the union has
        seen = [visible(one - other, union) for one, other in (states, states[::-1])]
    change = SourceChange(
        added=sorted(seen[1] - (set() if whole_graphs else seen[0]), key=str),
        removed=sorted(seen[0] - (set() if whole_graphs else seen[1]), key=str),
        documents=sorted({node for texts in held for by_node in texts.values() for node in by_node}, key=str)
        if held[0] != held[1]
        else (),
    )
    after = TripleLookups(stores[1])
    found = dirty_entities(profile.with_documents(documents[0].fields()), change, after, limit=1_000)
    assert not found.too_many
    want = {node for node in old.keys() | new.keys() if old.get(node) != new.get(node)}
    assert want <= set(found.nodes)
    one, other = (texts_of(found.nodes, profile, *state) for state in zip(stores, documents, strict=True))
    assert set(changed_nodes(one, other)) == want
    if not whole_graphs:
        triples = change.added, change.removed
        for both in (
            TwoStates.from_after(after, *triples),
            TwoStates.from_before(TripleLookups(stores[0]), *triples),
        ):
            again = dirty_entities(
                profile.with_documents(documents[0].fields()), change, both.after_streamed, limit=1_000
            )
            assert again == found
            texts = texts_before_and_after(found.nodes, one.profile, both, documents)
            assert [own.texts for own in texts] == [one.texts, other.texts]
    filtered = {s for s, p, _ in change.triples if p.value in profile.filters}
    assert set(found.filtered) == filtered


@settings(max_examples=examples(9, 2000), deadline=None)
@given(profiles, changes(), held_texts, st.booleans(), st.booleans())
def test_entities_whose_text_changes_are_dirty(profile, states, texts, union, whole_graphs):
    check_that_changed_texts_are_dirty(profile, states, (texts, texts), union, union and whole_graphs)


@settings(max_examples=examples(12, 1000), deadline=None)
@given(profiles, changes(), held_texts, held_texts)
def test_entities_whose_text_changes_are_dirty_when_documents_change_as_well(profile, states, before, after):
    check_that_changed_texts_are_dirty(profile, states, (before, after), False, False)


def dirty_after(
    profile: Profile, after: list[Quad], added: Iterable[Quad] = (), removed: Iterable[Quad] = (), limit: int = 100
) -> DirtyEntities:
    """What is dirty after a change of the default graph; `after` is extended by what is added."""
    change = SourceChange(
        [(q.subject, q.predicate, q.object) for q in added], [(q.subject, q.predicate, q.object) for q in removed]
    )
    return dirty_entities(profile, change, TripleLookups(OxigraphStore.memory([*after, *added])), limit=limit)


def quad(subject, iri, end):
    return Quad(subject, NamedNode(iri), end)


def labelled(path: Path | None = None, **more) -> Profile:
    return Profile("p", (Field("links", path=path, text="labels", **more),), labels=(LABEL,))


def test_a_literal_of_one_entity_dirties_one_entity():
    around = [quad(A, E + "p", B), quad(B, E + "p", C), quad(C, LABEL, Literal("c")), quad(B, E + "q", Literal("x"))]
    found = dirty_after(load_profile("default"), around, [quad(B, E + "q", Literal("y"))])
    assert found == DirtyEntities((B,))


def test_what_no_field_takes_dirties_nothing():
    profile = Profile("p", (Field("title", path=P, text="strings"),))
    around = [quad(A, P.iri, Literal("x"))]
    assert not dirty_after(profile, around, [quad(A, P.iri, Literal(1)), quad(A, P.iri, B), quad(A, Q.iri, B)]).nodes


def test_a_link_between_known_nodes_dirties_its_subject_only():
    around = [quad(A, LABEL, Literal("a")), quad(B, LABEL, Literal("b")), quad(C, E + "p", B)]
    assert dirty_after(load_profile("default"), around, [quad(A, E + "p", B)]).nodes == (A,)


@pytest.mark.parametrize("change", ["added", "removed"])
def test_a_label_dirties_its_node_and_those_that_link_to_it(change):
    around = [quad(A, E + "p", B), quad(C, E + "q", B), quad(D, E + "p", A), quad(B, E + "p", D)]
    label = [quad(B, LABEL, Literal("b"))]
    assert dirty_after(load_profile("default"), around, **{change: label}).nodes == (A, B, C)


def test_a_label_that_is_not_shown_dirties_no_neighbour():
    alternative = "http://www.w3.org/2004/02/skos/core#altLabel"
    around = [quad(A, E + "p", B), quad(B, LABEL, Literal("b"))]
    assert dirty_after(load_profile("default"), around, [quad(B, alternative, Literal("bee"))]).nodes == (B,)
    french = [quad(B, LABEL, Literal("bé", language="fr"))]
    assert dirty_after(labelled(P, languages=("en",)), around, french).nodes == ()
    assert dirty_after(labelled(P), around, french).nodes == (A,)


def test_a_rest_field_is_dirty_by_no_link_that_it_does_not_read():
    profile = Profile(
        "p", (Field("rest", rest=True, text="labels"), Field("named", path=P, text="labels", languages=("en",))),
        labels=(LABEL,), ignore=(E + "q",),
    )  # fmt: skip
    around = [quad(A, E + "p", B), quad(C, E + "q", B), quad(D, E + "r", B)]
    assert dirty_after(profile, around, [quad(B, LABEL, Literal("bé", language="fr"))]).nodes == (D,)


def test_a_step_of_a_path_dirties_the_entities_before_it():
    chain = [quad(A, P.iri, B), quad(B, P.iri, C), quad(D, Q.iri, A)]
    new = [quad(C, Q.iri, Literal("end"))]
    assert dirty_after(Profile("p", (Field("f", path=Sequence((P, Q))),)), chain, new).nodes == (B,)
    assert dirty_after(Profile("p", (Field("f", path=Sequence((Repeat(P, "+"), Q))),)), chain, new).nodes == (A, B)
    assert dirty_after(Profile("p", (Field("f", path=Sequence((Repeat(P, "*"), Q))),)), chain, new).nodes == (A, B, C)
    assert dirty_after(Profile("p", (Field("f", path=Sequence((Repeat(P, "?"), Q))),)), chain, new).nodes == (B, C)
    inverse = Profile("p", (Field("f", path=Sequence((ShaclInverse(Sequence((P, P))), Q))),))
    assert dirty_after(inverse, chain, [quad(A, Q.iri, Literal("end"))]).nodes == (C,)


def test_a_step_in_the_middle_of_a_closure_dirties_all_entities_before_it():
    around = [quad(A, P.iri, B), quad(C, P.iri, D), quad(D, Q.iri, Literal("end"))]
    for mark in "*+":
        profile = Profile("p", (Field("f", path=Sequence((Repeat(P, mark), Q))),))
        assert dirty_after(profile, around, [quad(B, P.iri, C)]).nodes == (A, B)


@pytest.mark.parametrize("path", [Sequence((P, Q)), Sequence((P, Repeat(Q, "+"))), Sequence((Repeat(P, "?"), P, Q))])
def test_a_label_dirties_the_entities_at_the_start_of_a_longer_path(path):
    around = [quad(A, P.iri, B), quad(B, Q.iri, C), quad(C, E + "r", D)]
    assert dirty_after(labelled(path), around, [quad(C, LABEL, Literal("end"))]).nodes == (A,)


def test_a_label_dirties_the_entities_at_the_end_of_an_inverse_path():
    around = [quad(A, P.iri, B), quad(B, Q.iri, C)]
    assert dirty_after(labelled(ShaclInverse(Sequence((P, Q)))), around, [quad(A, LABEL, Literal("a"))]).nodes == (C,)


def test_a_node_of_a_path_that_may_be_empty_is_dirty_when_it_appears_or_is_gone():
    around, link = [quad(A, E + "r", B)], [quad(A, E + "r", D)]
    assert dirty_after(labelled(Repeat(P, "*")), around, link).nodes == (D,)
    assert dirty_after(labelled(Repeat(P, "*")), around, removed=link).nodes == (D,)
    assert dirty_after(labelled(Repeat(P, "+")), around, link).nodes == ()


def test_a_path_back_from_a_literal_dirties_the_others_that_have_it():
    profile = labelled(Sequence((P, ShaclInverse(P))))
    shared = Literal("1999", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#gYear"))
    around = [quad(A, P.iri, shared), quad(B, P.iri, Literal("2000"))]
    assert dirty_after(profile, around, [quad(C, P.iri, shared)]).nodes == (A, C)


def test_a_blank_node_is_found_by_walks():
    blank = BlankNode("x")
    assert dirty_after(labelled(P), [quad(blank, P.iri, blank)], [quad(blank, LABEL, Literal("b"))]).nodes == (blank,)


def test_only_instances_of_the_classes_are_dirty():
    profile = Profile("p", (Field("title", path=P),), entities=(E + "Film",))
    film = quad(A, TYPE, NamedNode(E + "Film"))
    titles = [quad(A, P.iri, Literal("a")), quad(B, P.iri, Literal("b"))]
    assert dirty_after(profile, [film], titles).nodes == (A,)
    assert dirty_after(profile, titles, removed=[film]).nodes == (A,)
    assert dirty_after(profile, titles, [film]).nodes == (A,)


def test_a_node_with_a_local_name_is_dirty_when_it_appears_or_is_gone():
    profile = Profile("p", (Field("name", local_name=True),))
    around, link = [quad(A, E + "p", B), quad(C, E + "p", A)], [quad(A, E + "p", D)]
    assert dirty_after(profile, around, link).nodes == (D,)
    assert dirty_after(profile, around, removed=link).nodes == (D,)
    assert dirty_after(profile, [], link).nodes == (A, D)
    assert dirty_after(profile, around, [quad(C, E + "q", A)]).nodes == ()


def test_the_reason_for_too_many_names_the_label():
    hub = [quad(NamedNode(f"{E}n{i}"), TYPE, C) for i in range(30)]
    few = [quad(NamedNode(f"{E}n{i}"), TYPE, D) for i in range(3)]
    label = [quad(C, LABEL, Literal("class"))]
    found = dirty_after(load_profile("default"), hub, label, limit=20)
    assert (found.nodes, found.too_many) == ((), True)
    assert found.reason == f"the label of {E}c is text of more than 20 entities"
    assert not dirty_after(load_profile("default"), hub, label, limit=31).too_many
    found = dirty_after(load_profile("default"), hub + few, [*label, quad(D, LABEL, Literal("d"))], limit=20)
    assert found.reason == f"the label of {E}c (and of 1 other) is text of more than 20 entities"


def test_the_reason_for_too_many_names_the_field_of_a_path(monkeypatch):
    profile = Profile("p", (Field("deep", path=Sequence((Repeat(P, "*"), Q))),))
    chain = [quad(NamedNode(f"{E}n{i}"), P.iri, NamedNode(f"{E}n{i + 1}")) for i in range(30)]
    end = [quad(NamedNode(f"{E}n30"), Q.iri, Literal("end"))]
    found = dirty_after(profile, chain, end, limit=20)
    assert found.reason == "the path of the field 'deep' changed for more than 20 entities"
    monkeypatch.setattr(dirty, "MAX_WALK", 5)
    assert dirty_after(profile, chain, end, limit=20) == found
    assert len(dirty_after(profile, chain, end, limit=31).nodes) == 31


def test_the_reason_for_too_many_changed_entities_is_the_change_itself():
    titles = [quad(NamedNode(f"{E}n{i}"), LABEL, Literal("x")) for i in range(30)]
    found = dirty_after(load_profile("default"), [], titles, limit=20)
    assert found.reason == "more than 20 entities have triples or documents that changed"


def test_subjects_of_filters_are_told_apart():
    profile = Profile("p", (Field("title", path=P),), filters=(Q.iri,))
    found = dirty_after(profile, [], [quad(A, Q.iri, Literal(1)), quad(B, P.iri, Literal("b"))])
    assert (found.nodes, found.filtered) == ((B,), (A,))
