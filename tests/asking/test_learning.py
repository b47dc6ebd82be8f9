"""Learned models: they change which path of an anchor is chosen, and survive as JSON."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest

from hybridkg import KnowledgeBase
from hybridkg.asking import weights as weights_of_questions
from hybridkg.asking.learning import Example, learn, word_model
from hybridkg.asking.mentions import find_mentions
from hybridkg.asking.readings import compared_readings
from hybridkg.asking.targets import find_targets
from hybridkg.asking.weights import QuestionWeights, WordModel, named_weights, shipped_weights
from hybridkg.asking.words import read_question
from hybridkg.errors import ConfigError, ParameterError
from hybridkg.kb.asking import interpreted
from hybridkg.kb.snapshot import snapshot_of

NS = "http://example.org/films/"
SAME_DIRECTOR = (((NS + "director", False), (NS + "director", True)),)


def test_a_model_is_the_naive_bayes_of_the_words():
    model = word_model([("x", ["by", "by"]), ("x", ["by"]), ("y", ["on"]), ("y", ["on", "rare"])])
    assert model.prior["x"] == pytest.approx(log(2.5 / 5.5), abs=1e-4)
    assert model.unseen == pytest.approx(log(0.5 / 5.5), abs=1e-4)
    assert model.ratios["by"]["x"] == pytest.approx(log((2 + 0.25) / 2.5 / 0.5), abs=1e-4)
    assert model.ratios["by"]["y"] == pytest.approx(log(0.25 / 2.5 / 0.5), abs=1e-4)
    assert "rare" not in model.ratios
    assert model.score("x", ["by", "never"]) == pytest.approx(model.prior["x"] + model.ratios["by"]["x"])


def learned(films):
    examples = [
        Example(f'films made by the people behind "{name}"', NS + "Film", [(NS + iri, SAME_DIRECTOR)])
        for name, iri in (("Alien", "Alien"), ("Blade Runner", "BladeRunner"), ("Solaris", "Solaris"))
    ]
    return learn(examples, snapshot_of(films).asked)


def test_a_learned_path_is_chosen_for_another_anchor(films):
    weights = learned(films)
    (path,) = interpreted(films, 'films by the people behind "Stalker"', limit=10, weights=weights).paths
    assert [step.written for step in path.steps] == [f"<{NS}director>", f"^<{NS}director>"]


def test_learned_weights_survive_as_json(films, tmp_path):
    weights = learned(films)
    file = tmp_path / "weights.json"
    file.write_text(weights.to_json())
    assert QuestionWeights.read(file) == weights


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 1}',
        '{"format": 2}',
        '{"format": 2, "routes": {"a": 3}, "classes": null}',
        '{"format": 2, "routes": {"a": {"prior": [], "ratios": {}, "unseen": 0}}, "classes": null}',
    ],
)
def test_another_file_is_no_weights(tmp_path, text):
    file = tmp_path / "weights.json"
    file.write_text(text)
    with pytest.raises(ConfigError):
        QuestionWeights.read(file)


@pytest.mark.parametrize("share", ["NaN", "Infinity", "-0.5", "0", "1.5", '"0.5"', "true", "[]", "1" + "0" * 400])
def test_a_share_is_a_number_above_0_and_at_most_1(tmp_path, share):
    file = tmp_path / "weights.json"
    file.write_text(QuestionWeights().to_json().replace('"links":{}', f'"links":{{"alien":{share}}}'))
    with pytest.raises(ConfigError, match="no weights of questions"):
        QuestionWeights.read(file)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-301", '"1"', "null", "1" + "0" * 400])
@pytest.mark.parametrize("part", ["prior", "ratios", "unseen"])
def test_the_weights_of_a_model_are_finite_numbers(tmp_path, part, value):
    model = {"prior": {"x": 0.5}, "ratios": {"by": {"x": 0.25}}, "unseen": 0.125}
    weights = replace(QuestionWeights(), classes=WordModel(**model))
    number = {"prior": "0.5", "ratios": "0.25", "unseen": "0.125"}[part]
    file = tmp_path / "weights.json"
    file.write_text(weights.to_json())
    assert QuestionWeights.read(file) == weights
    file.write_text(weights.to_json().replace(number, value))
    with pytest.raises(ConfigError, match="no weights of questions"):
        QuestionWeights.read(file)


def test_a_file_of_weights_that_is_too_large_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(weights_of_questions, "MAX_FILE_BYTES", 10)
    file = tmp_path / "weights.json"
    file.write_text(QuestionWeights().to_json())
    with pytest.raises(ConfigError, match="more than 10 bytes"):
        QuestionWeights.read(file)


def test_a_name_by_chance_is_no_constraint_where_training_tells_anchors_by_quotation_marks(films):
    wanted = [("Alien", "Alien"), ("Blade Runner", "BladeRunner"), ("Solaris", "Solaris")]
    by_chance = ["Stalker", "The Martian", "Gravity"]
    examples = [
        Example(f'films by the people behind "{name}" with {other}', NS + "Film", [(NS + iri, SAME_DIRECTOR)])
        for name, iri in wanted
        for other in by_chance
    ]
    weights = learn(examples, snapshot_of(films).asked)
    question = 'films by the people behind "Alien" with Solaris'
    assert {one.name for one in interpreted(films, question, limit=10, weights=weights).anchors} == {"Alien"}


def test_the_shares_of_all_classes_sum_to_one(films):
    question = read_question('films by the people behind "Stalker"', snapshot_of(films).asked.names.analyzer)
    base, weights = snapshot_of(films).asked, learned(films)
    readings = compared_readings(
        question, find_mentions(question, base).found, find_targets(question, base, (), weights), base, weights
    )
    shares = {one.target.iri: one.target.confidence for one in readings}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert all(0 < path.share <= 1 for one in readings for _, path in one.paths)


@pytest.mark.parametrize("name", ["stark-mag", "stark-prime", "stark-amazon"])
def test_the_weights_of_the_package_have_all_models(name):
    weights = named_weights(name)
    assert weights.routes
    assert weights.classes
    assert weights.shapes
    assert weights.mentions


def test_other_names_are_files_and_an_unknown_one_is_an_error():
    assert shipped_weights("default") is None
    with pytest.raises(ConfigError, match="there are no weights 'stark-map'"):
        named_weights("stark-map")


@pytest.mark.parametrize("odds", [-300.0, 300.0])
@pytest.mark.parametrize("model", ["mentions", "classes", "shapes", "routes"])
def test_the_largest_weights_leave_a_question_readable(films, model, odds):
    extreme = WordModel(
        {"anchor": odds, "other": -odds, NS + "Film": odds},
        {"film": {NS + "Film": odds}, "by": {NS + "Film": odds}},
        -odds,
    )
    key = f"<{NS}Director> <{NS}Film>"
    weights = QuestionWeights(**{model: {key: extreme} if model == "routes" else extreme})
    found = interpreted(films, 'films by "Ridley Scott"', limit=10, weights=weights)
    assert films.query(found.query).returned


def test_python_takes_weights_by_name_or_file_too(films, tmp_path):
    file = tmp_path / "weights.json"
    file.write_text(learned(films).to_json())
    question = 'films by the people behind "Stalker"'
    for weights in (file, str(file)):
        assert films.interpret(question, weights=weights) == films.interpret(question, weights=learned(films))
    assert films.interpret(question, weights="stark-mag") == films.interpret(
        question, weights=named_weights("stark-mag")
    )
    query = films.interpret(question, weights=file, limit=3).query
    rows = [list(result.to_python()) for result in (films.ask(question, weights=file, limit=3), films.query(query))]
    assert rows[0] == rows[1]
    assert rows[0]


def test_weights_of_another_type_are_an_error(films):
    with pytest.raises(ParameterError, match="not int"):
        films.interpret("films", weights=5)


MARRIED = """
@prefix : <http://example.org/pairs/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:G1 a :Gene ; rdfs:label "Alpha1" ; :binds :G2 , :G3 ; :linked :D1 , :P1 .
:G2 a :Gene ; rdfs:label "Beta2" ; :linked :D1 .
:G3 a :Gene ; rdfs:label "Gamma3" ; :linked :P1 .
:D1 a :Disease ; rdfs:label "Ague" .
:P1 a :Phenotype ; rdfs:label "Chills" .
"""
PAIRS = "http://example.org/pairs/"


@pytest.mark.parametrize(("shared", "answers"), [("disease", ["G2"]), ("phenotype", ["G3"])])
def test_pairs_of_the_same_predicates_through_other_classes_are_all_tried(tmp_path, shared, answers):
    """Both pairs are one route, so the class on the way must not be lost with it."""
    data = tmp_path / "pairs.ttl"
    data.write_text(MARRIED)
    route = (((PAIRS + "binds", True),), ((PAIRS + "linked", False), (PAIRS + "linked", True)))
    with KnowledgeBase.create(tmp_path / "pairs.kb") as kb:
        kb.load(data)
        kb.index()
        examples = [
            Example(f"genes that share a {shared} with {name} and bind to it", PAIRS + "Gene", [(PAIRS + iri, route)])
            for shared in ("disease", "phenotype")
            for name, iri in (("Alpha1", "G1"), ("Beta2", "G2"))
        ]
        weights = learn(examples, snapshot_of(kb).asked)
        found = interpreted(kb, f"genes that share a {shared} with Alpha1 and bind to it", limit=10, weights=weights)
        assert [str(row["x"]) for row in kb.query(found.pattern)] == [PAIRS + one for one in answers]
