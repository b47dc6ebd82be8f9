"""Measures against a slow restatement, against trec_eval, and against numbers worked by hand."""

from __future__ import annotations

import math
from typing import Any

import ir_measures
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import ParameterError, UnknownNameError
from hybridkg.evaluation.measures import DEFAULT_MEASURES, MEASURES, Measure, evaluate, mean, parse_measure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run

DOCUMENTS = [f"d{i}" for i in range(12)]
grades = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-2, 3), max_size=12)
qrels_of = st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q4"]), grades, min_size=1)
rankings = st.lists(st.sampled_from(DOCUMENTS), unique=True, max_size=12)
runs_of = st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q9"]), rankings)
K = (1, 2, 5, 10, 100)


def run_of(rankings: dict[str, list[str]]) -> Run:
    """With scores that say nothing of the order."""
    return Run("r", {topic: tuple((document, 1.0) for document in ranking) for topic, ranking in rankings.items()})


def slow(base: str, k: int | None, rel: int, judged: dict[str, int], ranking: list[str]) -> float:
    """Each measure as it is defined, one document at a time."""
    relevant = sum(1 for grade in judged.values() if grade >= rel)
    depth = len(ranking) if k is None else k
    top = ranking[:depth]
    hits = [document in judged and judged[document] >= rel for document in top]
    match base:
        case "p":
            return sum(hits) / depth
        case "recall":
            return sum(hits) / relevant if relevant else 0.0
        case "hit":
            return 1.0 if any(hits) else 0.0
        case "mrr":
            return next((1 / rank for rank, hit in enumerate(hits, 1) if hit), 0.0)
        case "map":
            found, total = 0, 0.0
            for rank, hit in enumerate(hits, 1):
                if hit:
                    found += 1
                    total += found / rank
            return total / relevant if relevant else 0.0
        case "rprec":
            return sum(hits[:relevant]) / relevant if relevant else 0.0
        case "judged":
            return sum(1 for document in top if document in judged) / len(top) if top else 0.0
    assert base == "ndcg"
    gains = [max(judged.get(document, 0), 0) for document in top]
    best = sorted((max(grade, 0) for grade in judged.values()), reverse=True)
    ideal = dcg(best if k is None else best[:k])
    return dcg(gains) / ideal if ideal else 0.0


def dcg(gains: list[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


CUT = {"ndcg": "optional", "map": "optional", "mrr": "optional", "recall": "optional", "rprec": "none"}
LEVELS = ("map", "mrr", "recall", "rprec", "p", "hit")
NAMED = [
    (base, k, rel)
    for base in ("ndcg", "map", "p", "mrr", "hit", "recall", "rprec", "judged")
    for k in (None, *K)
    for rel in ((1, 2, 3) if base in LEVELS else (1,))
    if not (k is None and CUT.get(base, "required") == "required") and not (k and CUT.get(base) == "none")
]


def name_of(base: str, k: int | None, rel: int) -> str:
    return base + (f"@{k}" if k else "") + (f"(rel={rel})" if rel > 1 else "")


@settings(max_examples=examples(18, 30), deadline=None)
@given(qrels_of, runs_of)
def test_every_measure_equals_its_slow_restatement(judged, ranked):
    measures = [parse_measure(prefix + name_of(*named)) for prefix in ("", "condensed-") for named in NAMED]
    values = evaluate(Qrels(judged), run_of(ranked), measures)
    for base, k, rel in NAMED:
        for topic, of_topic in judged.items():
            ranking = ranked.get(topic, [])
            name = name_of(base, k, rel)
            assert values[name][topic] == pytest.approx(slow(base, k, rel, of_topic, ranking), abs=1e-12), name
            left = [document for document in ranking if document in of_topic]
            want = slow(base, k, rel, of_topic, left)
            assert values[f"condensed-{name}"][topic] == pytest.approx(want, abs=1e-12), name


TREC_EVAL = {"ndcg": "ndcg_cut", "map": "map_cut", "p": "P", "recall": "recall", "hit": "success", "rprec": "Rprec"}


def of_trec_eval(judged: dict[str, dict[str, int]], run: dict[str, list[str]], rel: int) -> dict[str, Any]:
    """trec_eval's values; its topics are those that both have (it then divides by all of the qrels: -c)."""
    cuts = {f"{name}.{','.join(map(str, K))}" for name in ("ndcg_cut", "map_cut", "P", "recall", "success")}
    evaluator = pytrec_eval.RelevanceEvaluator(judged, cuts | {"Rprec", "recip_rank", "map", "ndcg"}, rel)
    return evaluator.evaluate({topic: {d: -float(i) for i, d in enumerate(ranking)} for topic, ranking in run.items()})


@settings(max_examples=examples(36, 60), deadline=None)
@given(qrels_of, runs_of, st.integers(1, 3))
def test_every_measure_equals_trec_evals(judged, ranked, rel):
    # trec_eval reads beyond an array for a topic that has no grade from 0 up, and knows no topic without any.
    judged = {topic: {**of_topic, "never": 0} for topic, of_topic in judged.items()}
    theirs = of_trec_eval(judged, {topic: ranking for topic, ranking in ranked.items() if ranking}, rel)
    assert set(theirs) == {topic for topic in judged if ranked.get(topic)}
    whole = {("map", None): "map", ("ndcg", None): "ndcg", ("mrr", None): "recip_rank", ("rprec", None): "Rprec"}
    names = {
        **{name_of(base, k, rel if base != "ndcg" else 1): column for (base, k), column in whole.items()},
        **{
            name_of(base, k, rel if base != "ndcg" else 1): f"{TREC_EVAL[base]}_{k}"
            for base in ("ndcg", "map", "p", "recall", "hit")
            for k in K
        },
    }
    ours = evaluate(Qrels(judged), run_of(ranked), [parse_measure(name) for name in names])
    for name, column in names.items():
        for topic in judged:
            want = theirs[topic][column] if topic in theirs else 0.0
            assert ours[name][topic] == pytest.approx(want, abs=1e-12), (name, topic)


@settings(max_examples=examples(30, 50), deadline=None)
@given(qrels_of, runs_of)
def test_judged_equals_that_of_ir_measures(judged, ranked):
    judged = {topic: of_topic for topic, of_topic in judged.items() if of_topic}
    answered = {topic: ranking for topic, ranking in ranked.items() if ranking and topic in judged}
    scored = {topic: {d: -float(i) for i, d in enumerate(ranking)} for topic, ranking in answered.items()}
    ours = evaluate(Qrels(judged), run_of(ranked), [parse_measure("judged@5")])["judged@5"]
    for metric in ir_measures.iter_calc([ir_measures.Judged @ 5], judged, scored) if answered else ():
        assert ours[metric.query_id] == pytest.approx(metric.value)


@settings(max_examples=examples(12, 100), deadline=None)
@given(qrels_of, runs_of)
def test_values_lie_between_0_and_1_and_keep_the_topics_of_the_qrels(judged, ranked):
    measures = [parse_measure(name) for name in (*DEFAULT_MEASURES, "map", "mrr", "rprec", "p@10", "hit@1", "recall")]
    for name, values in evaluate(Qrels(judged), run_of(ranked), measures).items():
        assert list(values) == list(judged), name
        assert all(0 <= value <= 1 for value in values.values()), name
        assert all(type(value) is float for value in values.values()), name


def test_the_scores_say_nothing_once_the_order_is_there():
    qrels = Qrels({"q": {"a": 1}})
    rising = Run("r", {"q": (("b", 1.0), ("a", 9.0))})
    assert evaluate(qrels, rising, [parse_measure("mrr")])["mrr"]["q"] == 0.5


def test_numbers_worked_by_hand():
    qrels = Qrels({"q": {"a": 2, "b": 1, "c": 0}})
    run = run_of({"q": ["x", "a", "c", "b"]})
    names = ["ndcg@10", "map@100", "map@100(rel=2)", "judged@10", "condensed-ndcg@10", "condensed-mrr", "p@10"]
    values = {name: found["q"] for name, found in evaluate(qrels, run, map(parse_measure, names)).items()}
    assert values["ndcg@10"] == pytest.approx(0.6433, abs=5e-5)  # (2/log2 3 + 1/log2 5) / (2 + 1/log2 3)
    assert values["map@100"] == pytest.approx(0.5)  # (1/2 + 2/4) / 2
    assert values["map@100(rel=2)"] == pytest.approx(0.5)
    assert values["judged@10"] == 0.75
    assert values["condensed-ndcg@10"] == pytest.approx(0.9502, abs=5e-5)  # (2 + 1/2) / (2 + 1/log2 3)
    assert values["condensed-mrr"] == 1
    assert values["p@10"] == pytest.approx(0.2)


def test_a_topic_without_an_answer_or_without_relevant_documents_counts_as_0():
    qrels = Qrels({"answered": {"a": 1}, "unanswered": {"a": 1}, "nothing relevant": {"a": 0, "b": -1}})
    run = run_of({"answered": ["a"], "nothing relevant": ["a", "b"], "not judged": ["a"]})
    for name in ("ndcg@10", "ndcg", "map", "mrr", "rprec", "hit@1", "recall@5", "p@1"):
        values = evaluate(qrels, run, [parse_measure(name)])[name]
        assert values == {"answered": 1.0, "unanswered": 0.0, "nothing relevant": 0.0}
        assert mean(values) == pytest.approx(1 / 3)
        assert mean(values, ["answered"]) == 1
    with pytest.raises(ParameterError, match="no topic"):
        mean({})


def test_a_negative_grade_is_a_judgement_and_not_relevant():
    qrels = Qrels({"q": {"a": -2, "b": 1}})
    values = evaluate(qrels, run_of({"q": ["x", "a", "b"]}), map(parse_measure, ("judged@2", "condensed-mrr", "ndcg")))
    assert values["judged@2"]["q"] == 0.5
    assert values["condensed-mrr"]["q"] == 0.5
    assert values["ndcg"]["q"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ndcg@10", "ndcg@10"),
        (" nDCG@010 ", "ndcg@10"),
        ("map@100( rel = 2 )", "map@100(rel=2)"),
        ("map()", "map"),
        ("condensed-NDCG@5", "condensed-ndcg@5"),
        ("condensed-condensed-mrr", "condensed-mrr"),
    ],
)
def test_a_measure_has_one_spelling(text, name):
    measure = parse_measure(text)
    assert measure.name == name
    assert parse_measure(measure.name) == measure
    assert isinstance(measure, Measure)


def map_argument(text: str) -> ParameterError:
    with pytest.raises(ParameterError) as caught:
        parse_measure(text)
    return caught.value


def test_a_wrong_name_is_told_with_the_known_ones():
    with pytest.raises(UnknownNameError) as caught:
        parse_measure("ndgc@10")
    assert "no measure 'ndgc@10'; known: " in caught.value.message
    assert all(name in caught.value.message for name in MEASURES.names())
    assert "did you mean 'ndcg'?" in caught.value.hint
    assert "condensed-ndcg@10" in caught.value.hint
    for text in ("", "@10", "ndcg@10)", "ndcg@10(rel=2", "p@5@6(", "condensed-", "ndcg'@10"):
        with pytest.raises(UnknownNameError):
            parse_measure(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p", "the measure 'p' needs a cut-off"),
        ("ndcg@", "is not a whole number from 1"),
        ("ndcg@0", "is not a whole number from 1 to 1,000,000: '0'"),
        ("ndcg@-1", "is not a whole number"),
        ("ndcg@ten", "is not a whole number"),
        ("ndcg@99999999999999999999", "is not a whole number"),
        ("ndcg@\u0661", "is not a whole number"),
        ("rprec@10", "the measure 'rprec' has no cut-off"),
        ("map@100(level=2)", "the measure 'map' has no argument 'level'; known: rel"),
        ("ndcg@10(rel=2)", "the measure 'ndcg' has no argument 'rel'; it takes none"),
        ("map(rel)", "the argument 'rel' of 'map(rel)' has no value"),
        ("map(rel=1,rel=2)", "appears twice"),
        ("map(rel=0)", "argument 'rel' of 'map(rel=0)' is not a whole number"),
    ],
)
def test_a_wrong_cut_off_or_argument_is_told(text, message):
    assert message in map_argument(text).message
