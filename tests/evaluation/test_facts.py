"""Facts as documents: the identifier, the files, and Hits@k against a restatement on triples."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import LoadError, ParameterError
from hybridkg.evaluation.facts import FACT_MEASURES, Fact, fact_id, fact_of, read_fact_qrels, read_fact_run
from hybridkg.evaluation.measures import evaluate, parse_measure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run, read_run, write_run

term = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
small = st.builds(Fact, *[st.sampled_from(["<a>", "<b>", '"x y"'])] * 3)


@settings(max_examples=examples(60, 100), deadline=None)
@given(st.builds(Fact, term, term, term))
def test_a_fact_survives_as_a_word(fact):
    word = fact_id(fact)
    assert fact_of(word) == fact
    assert len(word.split()) == 1


@settings(max_examples=examples(30, 50), deadline=None)
@given(st.sets(small, min_size=1), st.lists(small, unique=True), st.integers(1, 12))
def test_hits_at_k_and_mrr_are_those_of_the_triples(right, ranked, k):
    qrels = Qrels({"q": {fact_id(f): 1 for f in sorted(right)}})
    run = Run("r", {"q": tuple((fact_id(f), -float(i)) for i, f in enumerate(ranked))})
    found = evaluate(qrels, run, [parse_measure(f"hit@{k}"), parse_measure("mrr")])
    assert found[f"hit@{k}"]["q"] == any(f in right for f in ranked[:k])
    assert found["mrr"]["q"] == next((1 / i for i, f in enumerate(ranked, 1) if f in right), 0)


def test_files_are_read_and_a_run_goes_through_trecs_form(tmp_path):
    (tmp_path / "gold.tsv").write_text('q1\t<a>\t<p>\t"red fish"@en\nq1\t<a>\t<p>\t<b>\nq2\t<c>\t<p>\t"1"\n')
    (tmp_path / "mine.tsv").write_text('q1\t<z>\t<p>\t<b>\t0.9\nq1\t<a>\t<p>\t"red fish"@en\t0.5\n')
    qrels, run = read_fact_qrels(tmp_path / "gold.tsv"), read_fact_run(tmp_path / "mine.tsv")
    assert qrels.relevant("q1") == ['<a>|<p>|"red%20fish"@en', "<a>|<p>|<b>"]
    measures = [parse_measure(name) for name in FACT_MEASURES]
    found = evaluate(qrels, run, measures)
    assert found == {"hit@1": {"q1": 0, "q2": 0}, "hit@10": {"q1": 1, "q2": 0}, "mrr@1000": {"q1": 0.5, "q2": 0}}
    write_run(run, tmp_path / "mine.run")
    assert evaluate(qrels, read_run(tmp_path / "mine.run"), measures) == found


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q\t<a>\t<p>\t0.5", "4 columns instead of 5"),
        ("q\t<a>\t\t<b>\t1", "the predicate is empty"),
        ("q\t<a>\t<p>\t<b>\tnan", "'nan' is not a score"),
        ("q\t<a>\t<p>\t<b>\t1_0", "'1_0' is not a score"),
        ("q 1\t<a>\t<p>\t<b>\t1", "the topic id 'q 1' contains blanks"),
        ("q\t<s>\t<p>\t<o>\t2", "the fact appears twice for the topic 'q'"),
    ],
)
def test_a_wrong_line_is_told_by_its_number(tmp_path, line, message):
    path = tmp_path / "facts.tsv"
    path.write_text(f"q\t<s>\t<p>\t<o>\t3\n{line}\n")
    with pytest.raises(LoadError) as e:
        read_fact_run(path)
    assert message in e.value.message
    assert e.value.place == f"{path}:2"


def test_what_is_no_fact_is_told():
    with pytest.raises(ParameterError, match="'d17' is not a fact"):
        fact_of("d17")
