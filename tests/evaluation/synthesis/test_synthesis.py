"""Synthesised questions: gold is an answer, answers are those of the pattern, a seed always gives the same bytes."""

from __future__ import annotations

import json
import random

import pytest
from click.testing import CliRunner
from stark_graphs import KBS, NO_TEXT

from hybridkg.cli import cli
from hybridkg.errors import IndexMissingError, ParameterError, UserError
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.stark import read_stark
from hybridkg.evaluation.synthesis.output import files_of, write_synthesis
from hybridkg.evaluation.synthesis.own_text import OwnText
from hybridkg.evaluation.synthesis.properties import KEPT_MASS, contains
from hybridkg.evaluation.synthesis.synthesise import split_of_each, synthesise
from hybridkg.evaluation.synthesis.template_reader import load_templates
from hybridkg.evaluation.synthesis.templates import fill
from hybridkg.evaluation.synthesis.verifier import PASSAGE_WORDS
from hybridkg.evaluation.topics import read_topics
from hybridkg.evaluation.tuning.folds import read_folds
from hybridkg.kb import KnowledgeBase

N = 40


@pytest.fixture(scope="module")
def made(graphs):
    found = {}
    for kb in KBS:
        with KnowledgeBase.open(graphs[kb][2]) as base:
            found[kb] = synthesise(base, f"stark-{kb}", N, seed=5)
    return found


def number(iri: str) -> int:
    return int(iri.rpartition("/")[2])


@pytest.mark.parametrize("kb", KBS)
def test_gold_is_an_answer_and_answers_are_those_of_the_pattern_that_have_the_properties(graphs, made, kb):
    _, arrays, path = graphs[kb]
    several = 0
    with KnowledgeBase.open(path) as base:
        texts = OwnText(base)
        for question in made[kb].questions:
            anchors = {anchor: number(iri) for anchor, (iri, _) in question.anchors.items()}
            pattern = arrays.answers(question.template, anchors)
            assert question.candidates == len(pattern)
            want = {node for node in pattern if all(_has(texts, _iri(kb, node), asked) for asked in question.asked)}
            assert set(map(number, question.answers)) == want
            assert question.gold in question.answers
            assert 1 <= len(question.answers) <= 20
            several += 1 < len(question.answers) < len(pattern)
            assert {str(row["x"]) for row in base.query(question.query)} == {_iri(kb, node) for node in pattern}
    assert several


def _iri(kb: str, node: int) -> str:
    return f"https://w3id.org/hybridkg/stark/{kb}/{node}"


def _has(texts: OwnText, iri: str, asked: str) -> bool:
    """Whether some window of a text has most of the idf of the words; every window is counted anew."""
    terms = {word.term for word in texts.words(asked)}
    weights = texts.idf(texts.words(asked))
    for passage in texts.passages(iri):
        for at in range(max(1, len(passage) - PASSAGE_WORDS + 1)):
            inside = terms & {word.term for word in passage[at : at + PASSAGE_WORDS]}
            if sum(weights[term] for term in sorted(inside)) >= KEPT_MASS * sum(weights.values()) - 1e-6:
                return True
    return False


@pytest.mark.parametrize("kb", KBS)
def test_a_question_names_its_anchors_not_its_answer_by_the_wording_of_its_split(graphs, made, kb):
    templates = load_templates(f"stark-{kb}")
    names = {number: f"Node {number}" for number in range(200)}
    for question in made[kb].questions:
        words = question.text.replace('"', " ").replace(",", " ").replace("?", " ").replace(".", " ").split()
        assert not contains(words, names[number(question.gold)].split())
        values = {anchor: name for anchor, (_, name) in question.anchors.items()}
        phrasings = templates.templates[question.template].phrasings
        assert any(fill(text, values) in question.text for text in phrasings.of(question.split))
        other = phrasings.train if question.split == "test" else phrasings.test
        assert not any(fill(text, values) in question.text for text in other)
        assert question.role in [role.name for role in templates.roles]
        assert all(asked in question.text for asked in question.asked)


def test_nodes_without_text_are_asked_for_by_their_relations_alone(made):
    without = [q for q in made["prime"].questions if q.template in ("prime-21", "prime-23", "prime-24", "prime-16")]
    assert NO_TEXT
    assert without
    assert all(not q.asked and q.candidates == len(q.answers) for q in without)
    assert any(q.asked for q in made["prime"].questions)


@pytest.mark.parametrize("kb", KBS)
def test_splits_have_their_shares_and_texts_are_distinct(made, kb):
    found = made[kb]
    assert len(found.questions) == N == len({question.text for question in found.questions})
    assert [question.number for question in found.questions] == list(range(N))
    counts = [sum(question.split == split for question in found.questions) for split in ("train", "val", "test")]
    assert counts == {"amazon": [27, 6, 7], "mag": [24, 8, 8], "prime": [22, 8, 10]}[kb]
    assert found.not_drawn == ()
    assert found.verified == 1.0


def test_counts_of_splits():
    assert sorted(split_of_each(1, (0.0, 0.5, 0.5), random.Random(1))) == ["train"]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(graphs, made):
    with KnowledgeBase.open(graphs["mag"][2]) as base:
        again, other = (synthesise(base, load_templates("stark-mag"), N, seed=seed) for seed in (5, 6))
    assert files_of(again) == files_of(made["mag"])
    assert files_of(other)["gold.jsonl"] != files_of(made["mag"])["gold.jsonl"]


def test_the_files_are_those_that_the_readers_of_stark_and_trec_read(made, tmp_path):
    found = made["mag"]
    write_synthesis(found, tmp_path / "made")
    questions = read_stark(tmp_path / "made")
    assert questions.texts == {str(q.number): q.text for q in found.questions}
    assert {q: set(answers) for q, answers in questions.answers.items()} == {
        str(q.number): set(map(number, q.answers)) for q in found.questions
    }
    topics = read_topics(tmp_path / "made" / "topics.tsv").texts
    assert topics == questions.texts
    folds = {fold.name: fold for fold in read_folds(tmp_path / "made" / "folds.json", topics)}
    for split in ("train", "val", "test"):
        ids = [str(q.number) for q in found.questions if q.split == split]
        assert list(questions.splits[split]) == ids == list(folds[split].testing)
        assert list(read_topics(tmp_path / "made" / f"topics-{split}.tsv").texts) == ids
        assert list(read_qrels(tmp_path / "made" / f"qrels-{split}.txt").grades) == ids
    lines = [json.loads(line) for line in (tmp_path / "made" / "gold.jsonl").read_text().splitlines()]
    assert [line["answers"] for line in lines] == [list(q.answers) for q in found.questions]
    assert json.loads((tmp_path / "made" / "report.json").read_text())["questions"] == N
    with pytest.raises(UserError, match="exists already"):
        write_synthesis(found, tmp_path / "made")
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


OWN = """title = "Films"
prologue = "PREFIX : <http://e/>"
[roles.fan]
train = ["Which are {request}?", "Which are {request} about {properties}?"]
test = ["Name {request}.", "Name {request} on {properties}."]
[templates.director]
metapath = "(person → film)"
query = "SELECT DISTINCT ?x { ?x a :Film ; :director $who . $who a :Person }"
train = ["films by {who}"]
test = ["what {who} directed"]
[templates.writer]
metapath = "(person → film)"
query = "SELECT DISTINCT ?x { ?x a :Film ; :writer $who . $who a :Person }"
train = ["films written by {who}"]
test = ["what {who} wrote"]
"""

FILMS = """@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:scott a :Person ; rdfs:label "Ridley Scott" . :g a :Person ; rdfs:label "Terry Gilliam" .
:alien a :Film ; rdfs:label "Alien" ; :director :scott ; rdfs:comment "A crew meets a deadly creature in deep space." .
:runner a :Film ; rdfs:label "Blade Runner" ; :director :scott ; rdfs:comment "A blade runner hunts four replicants." .
:brazil a :Film ; rdfs:label "Brazil" ; :director :g ; rdfs:comment "A clerk dreams of winged flight above the city." .
"""


@pytest.fixture
def films(tmp_path):
    (tmp_path / "films.ttl").write_text(FILMS)
    (tmp_path / "films.toml").write_text(OWN)
    with KnowledgeBase.create(tmp_path / "kb") as base:
        base.load(tmp_path / "films.ttl", index=True)
    return tmp_path


def run(films, *more: str):
    given = ["--templates", str(films / "films.toml"), "--out", str(films / "out"), *more]
    return CliRunner().invoke(cli, ["synthesise", str(films / "kb"), *given])


def test_any_knowledge_base_and_any_templates(films):
    result = run(films, "--n", "3")
    assert result.exit_code == 0, result.output
    assert "questions: 3 of 3 (train 3, val 0, test 0)" in result.output
    assert "writer: not drawn" in result.output
    names = sorted(path.name for path in (films / "out").iterdir())
    assert "stark_qa" not in names  # http://e/alien has no number
    assert {"gold.jsonl", "topics.tsv", "qrels.txt", "folds.json", "report.json"} <= set(names)
    lines = [json.loads(line) for line in (films / "out" / "gold.jsonl").read_text().splitlines()]
    assert all(line["gold"] in line["answers"] for line in lines)
    assert not any("blade runner" in line["query"].lower() for line in lines if line["gold"] == "http://e/runner")


def test_a_shortfall_is_reported(films):
    result = run(films, "--n", "90")
    assert result.exit_code == 0, result.output
    report = json.loads((films / "out" / "report.json").read_text())
    assert report["questions"] < report["wanted"] == 90
    assert f"questions: {report['questions']} of 90" in result.output
    assert "not used, another question has the same text" in result.output


def test_mistakes_of_the_user(films, tmp_path):
    with KnowledgeBase.open(films / "kb") as base:
        with pytest.raises(ParameterError, match="n is 1 to 1,000,000"):
            synthesise(base, films / "films.toml", 0)
        with pytest.raises(UserError, match="no question could be made with the templates 'stark-mag'"):
            synthesise(base, "stark-mag", 1)
    with KnowledgeBase.create(tmp_path / "empty") as base, pytest.raises(IndexMissingError):
        synthesise(base, "stark-mag", 1)
    out = films / "out"
    out.mkdir()
    result = CliRunner().invoke(cli, ["synthesise", str(films / "kb"), "--templates", "stark-mag", "--out", str(out)])
    assert result.exit_code == 2
    assert "exists already" in result.output
