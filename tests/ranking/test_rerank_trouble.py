"""RERANK that is written wrong, and rerankers that fail."""

from __future__ import annotations

import json

import pytest
from model_server_at_hand import content, status
from reranked_films import FOUND, names, weights

from hybridkg.errors import (
    ConfigError,
    HybridkgError,
    ModelServerError,
    QueryCheckError,
    RerankerError,
    UnknownNameError,
)


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ("RERANK TOP 0 USING features(@w.json)", QueryCheckError, "at least 1"),
        ("RERANK TOP 5 USING fetures(@w.json)", UnknownNameError, "no reranker 'fetures'"),
        ("RERANK TOP 5 USING features", QueryCheckError, "'features' takes a file"),
        ("RERANK TOP 5 USING llm(@w.json)", QueryCheckError, "'llm' takes no file"),
        ("RERANK TOP 5 USING llm(modl='m')", QueryCheckError, "no argument 'modl'"),
        ("RERANK TOP 5 USING llm(model=5, model=6)", QueryCheckError, "given twice"),
        ("RERANK TOP 5 USING llm(model='m', batch=0)", QueryCheckError, "whole number from 1 to 50"),
        ("RERANK TOP 5 USING llm(model='m', batch=2.5)", QueryCheckError, "whole number"),
        ("RERANK TOP 5 USING llm(model='m', on_error='pray')", QueryCheckError, "'stop' or 'keep'"),
        ("RERANK TOP 5 USING llm(model='m') ON ?x", QueryCheckError, "nothing binds ?x"),
        ("RERANK TOP 5 USING llm(model='m') AS ?s", QueryCheckError, "has a value already"),
        ("RERANK TOP 5000 USING llm(model='m')", QueryCheckError, "at most 200 rows"),
        ("RERANK TOP 5 USING llm(model=$x)", QueryCheckError, "needs a model"),
        ("RERANK TOP 5 USING llm", ConfigError, "llm needs a model"),
        ("RERANK TOP 5 USING cross_encoder", ConfigError, "needs a model"),
        ("RERANK TOP 5 USING cross_encoder(model='./nowhere')", ConfigError, "no model in"),
        ("RERANK TOP 5 USING features(@none.json)", ConfigError, "no file of weights 'none.json'"),
        ("RERANK TOP 5 USING features(@../w.json)", ConfigError, "no file of weights"),
        ("RERANK TOP 5 USING llm(model='m', fields='lable')", UnknownNameError, "no field 'lable'"),
    ],
)
def test_mistakes_say_what_is_right(films, served, query, error, message):
    with pytest.raises(HybridkgError) as caught:
        films.query(FOUND + query)
    if "$x" not in query:
        assert isinstance(caught.value, error), caught.value.render()
        assert message in caught.value.message
    assert not served.asked


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT ?f { ?f MATCH 'x' AS ?s } RERANK TOP 5 USING llm(model='m')", "this query has none"),
        ("SELECT ?f { ?f ?p ?o } ORDER BY ?f RERANK TOP 5 USING llm(model='m')", "no variable to score"),
        (
            "SELECT (COUNT(*) AS ?n) { ?f MATCH 'x' AS ?s } GROUP BY ?f RANK BY ?n RERANK TOP 5 USING llm(model='m')",
            "has groups",
        ),
        (
            "SELECT DISTINCT ?o { ?f MATCH 'x' AS ?s . ?f ?p ?o } RANK BY ?s RERANK TOP 5 USING llm(model='m')",
            "DISTINCT makes one row of several ?f",
        ),
        (
            "SELECT ?f { ?f MATCH 'x' AS ?s } RANK BY ?s AS ?k RERANK TOP 5 USING llm(model='m') AS ?k",
            "of RANK BY already",
        ),
    ],
)
def test_what_cannot_be_reranked_is_told(films, query, message):
    with pytest.raises(HybridkgError, match=message.replace("?", r"\?")):
        films.query(query)


def test_two_texts_are_not_guessed_between(films, served):
    query = (
        "SELECT ?f {{ ?f MATCH 'space' AS ?s . ?f MATCH 'crew' AS ?t }} RANK BY ?s + ?t "
        "RERANK TOP 5 USING llm(model='m'{})"
    )
    with pytest.raises(QueryCheckError, match="by several texts"):
        films.query(query.format(""))
    films.query(query.format(", query='space crew'"))
    assert len(served.asked) == 1


FAILURES = {
    "500": (lambda: [status(500)] * 9, "500 5 times"),
    "malformed": (lambda: [content("<html>")], "no JSON"),
    "no choices": (lambda: [content('{"choices": []}')] * 2, "no message"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_reranker_that_fails_is_an_error_or_keeps_the_order_and_says_so(films, served, failure):
    make, message = FAILURES[failure]
    before = names(films.query(FOUND))
    served.faults = make()
    with pytest.raises(ModelServerError, match=message) as caught:
        films.query(FOUND + "RERANK TOP 5 USING llm(model='m')")
    assert caught.value.hint
    served.faults = make()
    result = films.query(FOUND + "RERANK TOP 5 USING llm(model='m', on_error='keep') AS ?r")
    assert names(result) == before
    assert all(row["r"] is None for row in result)
    assert not result.exact
    (warning,) = result.warnings
    assert warning.code == "W110"
    assert message in warning.message
    assert result.reranked == ("the first 5 rows kept their earlier order: llm (m) failed",)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (lambda scores: json.dumps({"scores": scores[1:]}), "returned 4 scores for 5 candidates"),
        (lambda scores: json.dumps({"scores": [*scores, 1]}), "returned 6 scores for 5 candidates"),
        (lambda scores: json.dumps({"scores": [2.0, *scores[1:]]}), "not a number between 0 and 1"),
        (lambda scores: '{"scores": [NaN, 0, 0, 0, 0]}', "not a number between 0 and 1"),
        (lambda scores: json.dumps({"scores": ["1", *scores[1:]]}), "not a number between 0 and 1"),
        (lambda scores: "I think the first one is best.", "does not answer with JSON"),
        (lambda scores: '"high"', "list of scores"),
    ],
)
def test_a_language_model_that_talks_is_asked_once_more_and_then_given_up(films, served, said, message):
    served.say = said
    with pytest.raises(ModelServerError, match=message) as caught:
        films.query(FOUND + "RERANK TOP 5 USING llm(model='m')")
    assert "batch=1" in caught.value.hint
    assert len(served.asked) == 2
    answers = [said, lambda scores: f"```json\n{json.dumps({'scores': scores})}\n```"]

    def changing(scores):
        return answers.pop(0)(scores)

    served.say = changing
    assert len(films.query(FOUND + "RERANK TOP 5 USING llm(model='m')")) == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "no weights of features"),
        ('{"format": "hybridkg features", "version": 2, "weights": {"earlier": 1}}', "version 2"),
        ('{"format": "hybridkg features", "version": 1, "weights": {}}', "table of some numbers"),
        ('{"format": "hybridkg features", "version": 1, "weights": {"earlier": "1"}}', "must be a number"),
        ('{"format": "hybridkg features", "version": 1, "weights": {"earlier": NaN}}', "must be a number"),
        ('{"format": "hybridkg features", "version": 1, "weights": {"earlier": true}}', "must be a number"),
        ('{"format": "hybridkg features", "version": 1, "weights": {"earlier": 1' + "0" * 5000 + "}}", "JSON"),
        ("[" * 100_000, "not JSON"),
        (" " * 2_000_000, "larger than"),
    ],
)
def test_a_file_that_holds_no_weights_is_declined(films, text, message):
    (films.folder / "models" / "bad.json").write_text(text)
    with pytest.raises(ConfigError, match=message):
        films.query(FOUND + "RERANK TOP 5 USING features(@bad.json)")


def test_weights_of_features_that_the_rows_lack_are_an_error(films):
    weights(films.folder, "other.json", {"score t": 1.0})
    with pytest.raises(RerankerError, match="feature 'score t'"):
        films.query(FOUND + "RERANK TOP 5 USING features(@other.json)")
