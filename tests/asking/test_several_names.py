"""Nodes with several labels: each of them is a name."""

from __future__ import annotations

import pytest

from hybridkg import KnowledgeBase
from hybridkg.asking.mentions import find_mentions
from hybridkg.asking.words import read_question
from hybridkg.kb.snapshot import snapshot_of

GRAPH = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
:MIT a :School ; rdfs:label "Massachusetts Institute of Technology"@en , "MIT"@en , "Technologieinstitut"@de .
:Bell a :School ; rdfs:label "Bell Labs" ; skos:altLabel "AT&T Bell Laboratories" .
:Alice a :Person ; rdfs:label "Alice Adams" ; :at :MIT .
:Bob a :Person ; rdfs:label "Bob Brown" ; :at :Bell .
"""


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    (folder / "graph.ttl").write_text(GRAPH)
    with KnowledgeBase.create(folder / "graph.kb") as kb:
        kb.load(folder / "graph.ttl", index=True)
        yield kb


def named(kb, text):
    """(node, name) of the best choice of each mention."""
    base = snapshot_of(kb).asked
    mentions = find_mentions(read_question(text, base.names.analyzer), base).found
    return [(one.choices[0].iri.rpartition("/")[2], one.choices[0].name) for one in mentions]


@pytest.mark.parametrize(
    ("text", "node", "name"),
    [
        ("people at MIT", "MIT", "MIT"),
        ("people at Massachusetts Institute of Technology", "MIT", "Massachusetts Institute of Technology"),
        ('people at "Technologieinstitut"', "MIT", "Technologieinstitut"),
        ("people at Bell Labs", "Bell", "Bell Labs"),
        ("people at AT&T Bell Laboratories", "Bell", "AT&T Bell Laboratories"),
        ('people at "Bell Labz"', "Bell", "Bell Labs"),
    ],
)
def test_every_label_is_a_name_and_the_mention_has_the_one_that_is_meant(kb, text, node, name):
    assert named(kb, text) == [(node, name)]


def test_a_second_label_is_an_anchor(kb):
    found = kb.interpret("persons at MIT")
    assert [path.anchor.iri for path in found.paths] == ["http://example.org/MIT"]
    assert [str(row["x"]) for row in kb.query(found.strict)] == ["http://example.org/Alice"]


def test_the_words_of_two_labels_are_no_name(kb):
    names = snapshot_of(kb).asked.names
    assert names.containing(("MIT", "Technologieinstitut")).size <= 1  # one behind the other in the field, by chance
    assert names.exact(("MIT", "Technologieinstitut")).size == 0
