"""Gold queries of questions: their paths, their file, and the grades of a reading."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.errors import LoadError
from hybridkg.evaluation.gold_queries import PARTS, GoldQuestion, ReadingGrader, paths_of, read_gold
from hybridkg.kb.snapshot import snapshot_of

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"
HEAD = "PREFIX : <x:> SELECT DISTINCT ?x { ?x a :paper . "


def step(*alternatives):
    return frozenset((f"x:{name.removeprefix('^')}", name.startswith("^")) for name in alternatives)


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        (":a a :author ; :writes ?x . FILTER(?x != :a)", [(step("writes"),)]),
        ("?u :at :a ; :writes ?x", [(step("^at"), step("writes"))]),
        ("?u :writes :a , ?x . ?x :topic/^:topic :a",
         [(step("topic"), step("^topic")), (step("^writes"), step("writes"))]),
        (":a (:buy|^:buy|:view) ?x", [(step("buy", "^buy", "view"),)]),
    ],
)  # fmt: skip
def test_paths_lead_from_the_anchor_to_the_answers(pattern, paths):
    found = paths_of(f"{HEAD}{pattern} }}", ())
    assert {iri for iri, _ in found} == {"x:a"}
    assert sorted((steps for _, steps in found), key=str) == sorted(paths, key=str)


def test_the_direction_of_a_symmetric_predicate_means_nothing():
    assert paths_of(HEAD + "?x :near :a }", {"x:near"}) == [("x:a", (step("near"),))]


QUESTION = {
    "id": "0",
    "split": "test",
    "query": "films by Ridley Scott",
    "hybridql": "PREFIX : <http://example.org/films/> SELECT DISTINCT ?x { ?x a :Film ; :director :Scott }",
}


def test_a_file_has_questions_by_id_with_their_classes(tmp_path):
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(QUESTION) + "\n" + json.dumps(QUESTION | {"id": "1", "more": 5}) + "\n")
    found = read_gold(path)
    assert list(found) == ["0", "1"]
    assert found["1"].target == "http://example.org/films/Film"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "no question"),
        ("[" * 9999, "no question"),
        ('{"id": "1", "query": "films"}', "no question"),
        (json.dumps(QUESTION | {"id": 1}), "no question"),
        (json.dumps(QUESTION | {"hybridql": "SELECT {"}), "the query of '0'"),
        (json.dumps(QUESTION | {"hybridql": "ASK { ?x a <x:A> }"}), "the query of '0': it is no SELECT with a column"),
        (json.dumps(QUESTION | {"hybridql": "SELECT ?y { ?y a <x:A> }"}), "the query of '0': it is no SELECT with"),
        (json.dumps(QUESTION | {"hybridql": "SELECT * { ?x <x:p>+ <x:a> }"}), r"<x:p>\+ is neither a predicate nor"),
        (json.dumps(QUESTION | {"hybridql": "SELECT * { ?x ?p <x:a> }"}), r"\?p is neither a predicate nor an inverse"),
        (json.dumps(QUESTION) + "\n" + json.dumps(QUESTION), "a second question '0'"),
    ],
)
def test_other_lines_are_errors_with_their_place(tmp_path, line, message):
    path = tmp_path / "gold.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(LoadError, match=message) as caught:
        read_gold(path)
    assert f"{path}:" in caught.value.place


@pytest.fixture(scope="module")
def films(tmp_path_factory, copy_films):
    kb = KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("gold") / "films.kb"))
    with kb:
        yield kb


def test_a_reading_has_a_grade_for_each_part(films):
    grader = ReadingGrader(films, snapshot_of(films).asked)
    gold = GoldQuestion("0", "test", QUESTION["query"], QUESTION["hybridql"])
    right = dict.fromkeys(PARTS, 1.0)
    assert grader.parts(gold, films.interpret(gold.text)) == right
    year = grader.parts(gold, films.interpret("films by Ridley Scott after 1980"))
    assert year == right | {"exec": 0.0}
    kubrick = grader.parts(gold, films.interpret("films by Kubrick"))
    assert kubrick == right | {"anchor_f1": 0.0, "exec": 0.0}
    nothing = grader.parts(gold, films.interpret("space travel"))  # but the class, which restricts no answers
    assert nothing == dict.fromkeys(PARTS, 0.0) | {"type": 1.0}


def test_a_question_is_an_example_with_the_route_of_its_query(films):
    found = ReadingGrader(films, snapshot_of(films).asked).example(GoldQuestion("0", "", "films", QUESTION["hybridql"]))
    scott, director = "http://example.org/films/Scott", "http://example.org/films/director"
    assert found.routes == [(scott, (((director, False),),))]
