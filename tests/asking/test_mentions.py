"""Mentions: which of several nodes of a name is meant, and which parts of a question are names."""

from __future__ import annotations

import pytest

from hybridkg import KnowledgeBase
from hybridkg.asking.linkability import weighted
from hybridkg.asking.mentions import find_mentions
from hybridkg.asking.nested_quotations import MAX_MARKS, read_quoted
from hybridkg.kb.snapshot import snapshot_of

NS = "http://example.org/"
GRAPH = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:War a :Film ; rdfs:label "War" ; :tag :war , :space ; :by :Ann_Lee .
:Wars a :Film ; rdfs:label "Wars" ; :tag :space ; :by :Ann_Lee .
:Turn_It_Up a :Film ; rdfs:label "Turn It Up" ; :by :Ann_Lee .
:Turn a :Film ; rdfs:label "Turn" ; :by :Ann_Lee .
:Lost_in_Space a :Film ; rdfs:label "Lost in Space" ; :by :Ann_Lee .
:Calling_Me_Mad a :Film ; rdfs:label "You \\"Calling\\" Me Mad?" ; :by :Ann_Lee .
:Ends_Quoted a :Film ; rdfs:label "A \\"Loud\\"" ; :by :Ann_Lee .
:war a :Tag ; rdfs:label "war" .
:space a :Tag ; rdfs:label "space" .
:Ann_Lee a :Person ; rdfs:label "Ann Lee" .
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mentions")
    (folder / "graph.ttl").write_text(GRAPH)
    kb = KnowledgeBase.create(folder / "graph.kb")
    kb.load(folder / "graph.ttl")
    kb.index()
    with kb:
        yield snapshot_of(kb).asked


def found(base, text, links=None):
    question = read_quoted(text, base.names)
    mentions = weighted(question, find_mentions(question, base), links or {})
    return {
        question.written(one.first, one.behind): [node.iri.removeprefix(NS) for node in one.choices]
        for one in mentions.found
    }


@pytest.mark.parametrize(("written", "best"), [("War", "War"), ("war", "war"), ("Wars", "Wars")])
def test_of_the_nodes_of_a_name_the_one_that_is_written_like_the_mention_is_the_best(base, written, best):
    nodes = found(base, f"who made {written}")[written]
    assert set(nodes) == {"War", "war", "Wars"}
    assert nodes[0] == best


def test_a_name_may_end_with_a_stop_word(base):
    assert found(base, "who made Turn It Up") == {"Turn It Up": ["Turn_It_Up"]}


def test_a_whole_name_hides_the_names_inside_it(base):
    assert found(base, "who made Lost in Space") == {"Lost in Space": ["Lost_in_Space"]}
    assert found(base, "films on space by Ann Lee") == {"space": ["space"], "Ann Lee": ["Ann_Lee"]}


def test_a_learned_share_multiplies_the_confidence_of_a_mention(base):
    question = read_quoted("films on space by Ann Lee", base.names)
    mentions = find_mentions(question, base)
    before = {question.written(one.first, one.behind): one.confidence for one in mentions.found}
    after = weighted(question, mentions, {"space": 0.25})
    assert {question.written(one.first, one.behind): one.confidence for one in after.found} == {
        "space": before["space"] / 4,
        "Ann Lee": before["Ann Lee"],
    }


@pytest.mark.parametrize(
    ("question", "name"), [("films by ridley scott", "Scott"), ("the director of blade runner", "BladeRunner")]
)
def test_a_whole_name_in_lower_case_is_found_although_its_iri_has_other_words(films, question, name):
    asked = snapshot_of(films).asked
    mentions = find_mentions(read_quoted(question, asked.names), asked).found
    assert [(one.is_exact, one.choices[0].iri.rpartition("/")[2]) for one in mentions] == [(True, name)]


def test_a_label_that_only_begins_like_the_words_is_no_whole_name(films):
    asked = snapshot_of(films).asked
    assert not len(asked.names.exact(("my", "neighbour")))


@pytest.mark.parametrize(
    ("question", "unresolved"),
    [
        ("films by Ridley Scott and Greta Gerwig", ("Greta Gerwig",)),
        ("films by Greta Gerwig and Ridley Scott with Anna Kim", ("Greta Gerwig", "Anna Kim")),
        ("films by Ridley Scott and Fritz Lang", ()),
        ("films by the Greta and Gerwig", ("Greta and Gerwig",)),
    ],
)
def test_names_without_a_node_are_told_beside_names_with_one(films, question, unresolved):
    asked = snapshot_of(films).asked
    assert find_mentions(read_quoted(question, asked.names), asked).unresolved == unresolved


@pytest.mark.parametrize(
    ("text", "written", "node"),
    [
        ('films like "You "Calling" Me Mad?" about tags', 'You "Calling" Me Mad', "Calling_Me_Mad"),
        ('films like "A "Loud"" about tags', 'A "Loud', "Ends_Quoted"),
        ('films like "You "Calling" Me Mad?" or "Lost in Space"', 'You "Calling" Me Mad', "Calling_Me_Mad"),
        ('films like "Lost in Space" or "You "Calling" Me Mad?"', "Lost in Space", "Lost_in_Space"),
    ],
)
def test_a_whole_name_in_quotation_marks_may_have_quotations_inside(base, text, written, node):
    assert found(base, text)[written] == [node]


def test_quotations_side_by_side_are_no_quotation_around_another(base):
    assert read_quoted('"War" and "Lost in Space"', base.names).quoted == ((0, 1), (2, 5))


def test_a_question_full_of_quotation_marks_has_those_of_neighbours(base):
    text = '"War" ' * MAX_MARKS
    assert len(read_quoted(text, base.names).quoted) == MAX_MARKS
