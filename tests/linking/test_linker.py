"""The linker on a graph small enough to check by eye, and where the links of a MATCH come from."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.entities.profile.paths import ShaclAlternative, ShaclInverse, ShaclPredicate
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.errors import TextQueryError
from hybridkg.interfaces.links import EntityLink
from hybridkg.linking import linker
from hybridkg.linking.names import REDIRECT, name_fields
from hybridkg.linking.source import LinkSource, plain_words

GRAPH = """
@prefix : <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
:paris rdfs:label "Paris" ; rdfs:comment "capital of France on the river Seine" ; :in :france .
:texas_paris rdfs:label "Paris (Texas)" ; rdfs:comment "town in Lamar County with cattle" .
:hilton rdfs:label "Paris Hilton" ; skos:altLabel "The Hotel Heiress" ; rdfs:comment "heiress, born in New York" .
:france rdfs:label "France" ; rdfs:comment "a country of wine" .
:louvre rdfs:label "Louvre" ; rdfs:comment "museum in Paris" ; :in :paris .
:eiffel rdfs:label "Eiffel Tower" ; rdfs:comment "tower in Paris" ; :in :paris .
:tower rdfs:label "Tower" ; rdfs:comment "a 1989 film" .
:a rdfs:label "A walk" ; rdfs:comment "a tower and a tower" .
:b rdfs:label "B walk" ; rdfs:comment "another tower by the river" .
"""
WORDS = [
    "paris",
    "hilton",
    "tower",
    "eiffel",
    "france",
    "river",
    "the",
    "hotel",
    "heiress",
    "texas",
    "cattle",
    "nothing",
]
queries = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("linker") / "g.ttl"
    path.write_text(GRAPH)
    with KnowledgeBase.temporary(path) as kb:
        state = kb._snapshot
        yield LinkSource(state.store, state.nodes, state.text, state.profile, state.documents)


def found(source, text, **arguments):
    return [link.node.removeprefix("http://e/") for link in source.linker.links(text, **arguments)]


def test_longer_names_go_first_and_do_not_overlap(source):
    assert found(source, "photos of Paris Hilton") == ["hilton"]
    assert found(source, "the eiffel tower in france", least=0.01) == ["eiffel", "france"]


def test_a_blank_node_of_the_same_name_hides_no_entity(tmp_path):
    (tmp_path / "g.ttl").write_text(
        """@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        [] rdfs:label "Paris" ; rdfs:comment "river river river" . :z rdfs:label "Paris" ; rdfs:comment "town" ."""
    )
    with KnowledgeBase.temporary(tmp_path / "g.ttl") as kb:
        state = kb._snapshot
        source = LinkSource(state.store, state.nodes, state.text, state.profile, state.documents)
        (mention,) = source.linker.mentions("paris on the river", least=0)
        assert (mention.link.node, mention.candidates) == ("http://e/z", 2)
        assert mention.link.confidence < 0.5


def test_names_are_compared_as_the_index_compares_words(source):
    assert found(source, "PARIS hiltons!") == ["hilton"]


def test_other_names_count_as_well_as_the_first(source):
    assert found(source, "the hotel heiress") == ["hilton"]


def test_the_better_linked_entity_wins_unless_the_rest_of_the_text_speaks_for_another(source):
    assert found(source, "paris") == ["paris"]
    candidates = {m.link.node: m for m in source.linker.mentions("paris museum", least=0)}
    assert candidates["http://e/paris"].candidates == 2
    with_context = {
        text: source.linker.mentions(text, least=0)[0].link for text in ("paris cattle", "paris wine seine")
    }
    assert with_context["paris wine seine"].confidence > with_context["paris cattle"].confidence


def test_a_name_that_is_mostly_plain_text_is_worth_less_than_a_real_one(source):
    (tower, france) = source.linker.mentions("tower wine france", least=0)
    assert tower.words == ("tower",)
    assert france.link.confidence > tower.link.confidence


def test_a_text_that_is_a_name_is_that_entity(source):
    assert source.linker.links("France") == (EntityLink("http://e/france", 1.0),)


def test_nothing_is_found_where_nothing_is_named(source):
    assert found(source, "") == found(source, "?! -") == found(source, "unheard of") == []


@settings(deadline=None, max_examples=examples(36, 60))
@given(queries)
def test_mentions_are_whole_names_apart_from_each_other_with_confidences_in_range(source, text):
    mentions = source.linker.mentions(text, least=0)
    words = text.split()
    places = [place for m in mentions for place in range(m.start, m.start + len(m.words))]
    assert len(places) == len(set(places))
    assert places == sorted(places)
    for mention in mentions:
        assert list(mention.words) == words[mention.start : mention.start + len(mention.words)]
        assert 0 < mention.link.confidence <= 1
        named = source.linker._names.named(mention.words)
        assert mention.link.node in {node.value for node in source._entities.nodes(named.ids)}
        assert len(named.ids) <= named.df
    assert source.linker.mentions(text, least=0) == mentions


def test_confidence_is_link_probability_times_commonness_by_hand(source):
    # `paris` in a text: two entities are called so, and 2 triples lead to one; 5 entities have the word.
    (mention,) = source.linker.mentions("unheard paris", least=0)
    assert mention.link.node == "http://e/paris"
    assert mention.link.confidence == pytest.approx((3 + 1) / 5 * 3 / 4)


def test_only_so_many_words_and_candidates_are_looked_at(source, monkeypatch):
    monkeypatch.setattr(linker, "MAX_WORDS", 2)
    assert found(source, "nothing of paris") == []
    monkeypatch.setattr(linker, "MAX_WORDS", 64)
    monkeypatch.setattr(linker, "MAX_CANDIDATES", 1)
    (mention,) = source.linker.mentions("paris cattle", least=0)
    assert mention.link.node == "http://e/texas_paris"


def test_a_long_text_takes_no_long_time(source):
    assert found(source, "paris hilton " * 20_000) == ["hilton"]


def test_fields_of_names_are_found_by_their_predicates():
    label, text = Field("label", ShaclPredicate("x:label")), Field("text", ShaclPredicate("x:text"))
    same = Field("same", ShaclPredicate("http://www.w3.org/2002/07/owl#sameAs"), text="labels")
    redirects = Field(
        "r", ShaclAlternative((ShaclPredicate("x:b"), ShaclInverse(ShaclPredicate(REDIRECT)))), text="labels"
    )
    profile = Profile("p", (text, label, same, redirects, Field("rest", rest=True)), labels=("x:label",))
    assert [field.name for field in name_fields(profile)] == ["label", "same", "r"]
    assert [field.name for field in name_fields(replace(profile, fields=(Field("r", rest=True), text)))] == ["text"]
    assert name_fields(Profile("p", (Field("rest", rest=True),))) == ()


def test_links_come_from_the_linker_from_a_text_from_values_or_from_a_file(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "l.tsv").write_text("paris hilton\t<http://e/hilton>\t0.8\nParis Hilton\thttp://e/paris\t0.2\n")
    file = "@l.tsv"
    both = (EntityLink("http://e/hilton", 0.8), EntityLink("http://e/paris", 0.2))
    assert source.links("Paris Hilton", file) == both
    assert source.links("Paris Hilton", "<http://e/hilton> 0.8 <http://e/paris> 0.2") == both
    assert source.links("Paris Hilton", both) == both
    assert source.links("Paris Hilton") == (EntityLink("http://e/hilton", 1.0),)
    assert source.links("Paris Hilton", "") == source.links("Paris Hilton", []) == source.links("x", file) == ()
    for name in ("absent.tsv", "../l.tsv", f"{tmp_path}/l.tsv"):  # a query names no file outside its folders
        with pytest.raises(TextQueryError, match="no file of links"):
            source.links("Paris", f"@{name}")


def test_a_file_that_has_changed_is_read_again(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "l.tsv"
    path.write_text("q\t<http://e/paris>\n")
    assert source.links("q", "@l.tsv") == source.links("q", "@l.tsv") == (EntityLink("http://e/paris"),)
    path.write_text("q\t<http://e/hilton>\n")
    os.utime(path, ns=(1, 1))
    assert source.links("q", "@l.tsv") == (EntityLink("http://e/hilton"),)


def test_linked_nodes_come_with_their_fields(source):
    first, second = source.linked("any", "<http://e/paris> 0.6 <http://e/france> 0.2")
    assert [linked.link for linked in (first, second)] == [
        EntityLink("http://e/paris", 0.6),
        EntityLink("http://e/france", 0.2),
    ]
    pointing = source._entities.nodes(first.fields[0].ids)
    assert [(first.fields[0].predicate, node.value) for node in pointing] == [
        ("http://e/in", "http://e/eiffel"),
        ("http://e/in", "http://e/louvre"),
    ]
    own = first.fields[-1]
    assert own.predicate == ""
    assert source._entities.nodes(own.ids)[0].value == "http://e/paris"
    assert own.entities == len(source._entities)


def test_excluded_words_of_a_query_string_mention_nothing(source):
    assert plain_words('france -paris -label:"eiffel tower" +label:louvre').split() == ["france", "+louvre"]
    assert plain_words('france NOT paris AND NOT label:"eiffel tower" OR "louvre"').split() == ["france", '"louvre"']
    assert [link.node for link in source.links("wine france -paris")] == ["http://e/france"]
    assert len(source.links("wine france -paris", syntax=False)) == 2


def test_stop_words_at_the_ends_of_a_name_are_no_reason_to_fail(tmp_path):
    (tmp_path / "g.ttl").write_text(
        '<http://e/w> <http://www.w3.org/2000/01/rdf-schema#label> "The Who" .\n'
        '<http://e/m> <http://www.w3.org/2000/01/rdf-schema#label> "Man of Steel" .\n'
    )
    (tmp_path / "p.ttl").write_text(
        "@prefix hk: <https://w3id.org/hybridkg/ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        '<> a hk:Profile ; rdfs:label "p" ;\n'
        '   hk:fields ( [ hk:name "label" ; hk:path rdfs:label ; hk:analyzer "stopped" ] ) .'
    )
    with KnowledgeBase.temporary(tmp_path / "g.ttl", profile=tmp_path / "p.ttl") as kb:
        state = kb._snapshot
        source = LinkSource(state.store, state.nodes, state.text, state.profile)
        assert found(source, "the who") == ["w"]
        assert found(source, "man of steel film") == ["m"]
        assert source.linker._names.named(("the",)).ids.tolist() == []
        assert isinstance(source.linker._names.named(("who",)).ids, np.ndarray)
