"""Hints that know the names of the knowledge base."""

from __future__ import annotations

import pytest

from hybridkg import KnowledgeBase
from hybridkg.errors import NotAnIriError, UnknownFieldError

TURTLE = """
@prefix e: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
e:tea a e:Drink ; e:name "green tea" ; rdfs:label "tea" ; e:brand e:b1 .
e:Cell a owl:Class ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty e:part_of ; owl:someValuesFrom e:Body ] .
"""


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    (folder / "a.ttl").write_text(TURTLE)
    with KnowledgeBase.create(folder / "k.kb") as kb:
        kb.load(folder / "a.ttl")
        yield kb


def test_the_name_of_a_property_in_place_of_a_field_leads_to_the_field(kb):
    with pytest.raises(UnknownFieldError) as caught:
        kb.query('SELECT * { ?x MATCH "tea" ON (name) }')
    field = caught.value.hint.removeprefix("the text of e:name is in the field ").strip("'")
    assert len(kb.query(f'SELECT * {{ ?x MATCH "green" ON ({field}) }}')) == 1


def test_a_misspelled_field_keeps_its_nearest_name(kb):
    with pytest.raises(UnknownFieldError) as caught:
        kb.query('SELECT * { ?x MATCH "tea" ON (lable) }')
    assert caught.value.hint == "did you mean 'label'?"


def test_a_prefixed_name_as_a_parameter_is_answered_with_its_iri(kb):
    expected = "e:tea is a text here; for the IRI write <http://e/tea> on the command line, rdflib.URIRef in Python"
    with pytest.raises(NotAnIriError) as caught:
        kb.query("SELECT * { $p e:name ?x }", {"p": "e:tea"})
    assert caught.value.hint == expected
    with pytest.raises(NotAnIriError) as caught:
        kb.update("INSERT DATA { $p e:name 1 }", {"p": "e:tea"})
    assert caught.value.hint == expected
    with pytest.raises(NotAnIriError) as caught:
        kb.query("SELECT * { $p e:name ?x }", {"p": "no: name"})
    assert caught.value.hint.startswith("give an IRI: ")


def test_a_prefixed_name_as_a_text_object_is_answered_with_the_iri_that_a_triple_has(kb):
    (warning,) = kb.query("SELECT * { ?x e:brand $b }", {"b": "e:b1"}).warnings
    assert (warning.code, warning.hint) == ("W112", "did you mean the IRI e:b1? as a parameter it is <http://e/b1>")
    (warning,) = kb.query("SELECT * { ?x e:brand $b }", {"b": "e:b2"}).warnings
    assert "the IRI" not in warning.hint


def test_a_property_that_only_restrictions_use_is_answered_with_their_pattern(kb):
    (warning,) = kb.query("SELECT * { ?x e:part_of ?y }").warnings
    pattern = warning.hint.removeprefix("it is used in owl:Restriction: ")
    assert warning.code == "W107"
    assert len(kb.query(f"SELECT * {{ {pattern} }}")) == 1
