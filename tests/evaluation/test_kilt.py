"""KILT's measures against a restatement in KILT's own steps, numbers worked by hand, and its files."""

from __future__ import annotations

import json
import re
import string
from collections import Counter

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.cli import cli
from hybridkg.errors import LoadError
from hybridkg.evaluation.comparison import compare_values
from hybridkg.evaluation.kilt import (
    KILT_MEASURES,
    KiltGold,
    KiltGuess,
    evaluate_kilt,
    normal,
    r_precision,
    recall_at,
    success_at,
    token_f1,
)
from hybridkg.evaluation.kilt_lines import read_kilt_gold, read_kilt_guess

page = st.sampled_from(["p1", "p2", "p3", "p4", "p5", "p6"])
evidence = st.lists(st.lists(page | st.just(""), unique=True, max_size=3).map(tuple), max_size=4).map(tuple)
pages = st.lists(page, max_size=10).map(tuple)
answer = st.sampled_from(["", "Dover", "dover", "the  Nile!", "a river Nile", "Nile Nile", "The", "U.S."])
golds = st.builds(KiltGold, st.lists(answer.filter(bool), unique=True, max_size=3).map(tuple), evidence)
guesses = st.builds(KiltGuess, answer, pages)


def slow_points(evidence, pages) -> tuple[list[object], int]:
    """(points, sets): each new page of a set moves the point of the set to the end; an empty set has none."""
    sets: list[set[str]] = []
    for pages_of_set in evidence:
        if set(pages_of_set) not in sets:
            sets.append(set(pages_of_set))
    left = [set(s) for s in sets]
    rank: list[object] = []
    for page in dict.fromkeys(pages):
        touched = False
        for i, missing in enumerate(left):
            if page in missing:
                touched = True
                if f"set {i}" in rank:
                    rank.remove(f"set {i}")
                missing.remove(page)
                rank.append(f"set {i}" if missing else True)
        if not touched:
            rank.append(False)
    return rank, len(sets)


def slow_recall(k: int, evidence, pages) -> float:
    rank, sets = slow_points(evidence, pages)
    return rank[:k].count(True) / sets if sets else 0.0


def slow_success(k: int, evidence, pages) -> float:
    return float(True in slow_points(evidence, pages)[0][:k])


def slow_rprec(evidence, pages) -> float:
    best = 0.0
    for with_unnamed in evidence:
        wanted = [page for page in with_unnamed if page]
        first: list[str] = []
        for page in pages:
            if page not in first and len(first) < len(wanted):
                first.append(page)
        if wanted:
            best = max(best, sum(page in wanted for page in first) / len(wanted))
    return best


def slow_normal(text: str) -> str:
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(w for w in re.sub(r"\b(a|an|the)\b", " ", text).split())


def slow_f1(guess: str, right: str) -> float:
    a, b = slow_normal(guess).split(), slow_normal(right).split()
    same = sum(min(Counter(a)[w], Counter(b)[w]) for w in set(a))
    if same == 0:
        return 0.0
    precision, recall = same / len(a), same / len(b)
    return 2 * precision * recall / (precision + recall)


@settings(max_examples=examples(72, 120), deadline=None)
@given(evidence, pages, st.integers(1, 6))
def test_the_pages_are_judged_as_in_kilts_steps(evidence, pages, k):
    assert recall_at(k, evidence, pages) == pytest.approx(slow_recall(k, evidence, pages))
    assert success_at(k, evidence, pages) == slow_success(k, evidence, pages)
    assert r_precision(evidence, pages) == pytest.approx(slow_rprec(evidence, pages))


@settings(max_examples=examples(60, 100), deadline=None)
@given(st.text("aAnthe .'é\t", max_size=20), st.text("aAnthe .'é\t", max_size=20))
def test_answers_are_compared_as_in_kilts_steps(guess, right):
    assert normal(guess) == slow_normal(guess)
    assert token_f1(guess, right) == pytest.approx(slow_f1(guess, right))
    assert token_f1(guess, right) == token_f1(right, guess)


@settings(max_examples=examples(30, 50), deadline=None)
@given(st.dictionaries(st.sampled_from("abcd"), golds), st.dictionaries(st.sampled_from("abcde"), guesses))
def test_the_combined_measures_are_those_of_the_records_with_all_pages(gold, guess):
    report = evaluate_kilt(gold, guess)
    assert tuple(report.values) == KILT_MEASURES
    for key, right in gold.items():
        of = {name: values[key] for name, values in report.values.items()}
        mine = guess.get(key, KiltGuess(""))
        told = right.answers if mine.answer else ()
        assert of["accuracy"] == (mine.answer in told)
        assert of["em"] == any(slow_normal(mine.answer) == slow_normal(a) for a in told)
        assert of["f1"] == pytest.approx(max([slow_f1(mine.answer, a) for a in told], default=0))
        full = slow_rprec(right.evidence, mine.pages) == 1
        assert (of["kilt-ac"], of["kilt-em"], of["kilt-f1"]) == tuple(full * of[n] for n in ("accuracy", "em", "f1"))
        assert all(0 <= value <= 1 for value in of.values())
    assert set(report.without_guess) == gold.keys() - guess.keys()
    assert set(report.not_judged) == guess.keys() - gold.keys()


def test_worked_by_hand():
    # Five places: p7 | p1 and p2 of the first set | p8 | p9 | p3, alone of the second set. Then p4 completes it, which
    # moves its place to the end, still the fifth.
    evidence, pages = (("p1", "p2"), ("p3", "p4")), ("p7", "p1", "p2", "p8", "p9", "p3", "p4")
    assert recall_at(5, evidence, pages) == 1
    assert recall_at(4, evidence, pages) == 1 / 2
    assert recall_at(1, evidence, pages) == 0
    assert recall_at(5, evidence, pages[:-1]) == 1 / 2
    assert r_precision(evidence, pages) == 1 / 2  # p1 of p1, p2 among the first two
    assert token_f1("in the city of Paris", "Paris, France") == pytest.approx(2 * (1 / 4) * (1 / 2) / (1 / 4 + 1 / 2))


def test_an_output_without_pages_is_a_set_that_no_guess_finds():
    evidence = (("p1",), (), (), ("p2",))
    assert recall_at(5, evidence, ("p1", "p2")) == 2 / 3  # the two empty ones are one set
    assert recall_at(1, evidence, ("p1", "p2")) == 1 / 3
    assert recall_at(5, ((),), ("p1",)) == 0
    assert r_precision(evidence, ("p1", "p2")) == 1  # the maximum over the outputs
    assert success_at(1, evidence, ("p1", "p2")) == 1
    assert success_at(1, evidence, ("p9", "p2")) == 0
    assert success_at(2, evidence, ("p9", "p2")) == 1
    assert success_at(5, (("p1", "p2"),), ("p1", "p9")) == 0  # half of a set is no success
    assert success_at(5, ((),), ("p1",)) == success_at(5, (), ("p1",)) == 0


def test_a_page_without_an_id_leaves_its_set_incomplete():
    evidence = (("p1", ""), ("p2",))
    assert recall_at(5, evidence, ("p1", "p2")) == 1 / 2
    assert r_precision((("p1", ""),), ("p1",)) == 1  # KILT compares the pages with ids here


def test_a_right_answer_from_the_wrong_page_does_not_count_in_kilt_ac():
    gold = {k: KiltGold(("Dover",), (("p1",),)) for k in "abcd"}
    guess = {"a": KiltGuess("Dover", ("p1",)), "b": KiltGuess("Dover", ("p2", "p1")), "c": KiltGuess("dover", ("p1",))}
    means = evaluate_kilt(gold, guess).means()
    assert (means["accuracy"], means["em"], means["rprec"], means["recall@5"]) == (0.5, 0.75, 0.5, 0.75)
    assert (means["kilt-ac"], means["kilt-em"], means["kilt-f1"]) == (0.25, 0.5, 0.5)


def test_two_systems_are_compared_as_any_two_runs():
    gold = {str(i): KiltGold(("x",), (("p",),)) for i in range(12)}
    values = {
        name: evaluate_kilt(gold, {str(i): KiltGuess("x", ("p",)) for i in range(n)}).values
        for name, n in [("a", 0), ("b", 10)]
    }
    by_name = {one.measure: one for one in compare_values(values).comparisons}
    assert by_name["kilt-ac"].wins == 10
    assert by_name["kilt-ac"].p == 2 / 2**10


def record(key: object, *outputs: dict[str, object]) -> str:
    return json.dumps({"id": key, "input": "?", "output": list(outputs)})


def test_gold_and_guesses_are_read(tmp_path):
    gold = [
        record(
            7,
            {"answer": " Dover "},  # no list of pages: no evidence set
            {"answer": "Dover", "provenance": [{"wikipedia_id": 4}, {"wikipedia_id": "4 "}]},
            {"answer": "Folkestone", "provenance": []},
        ),
        record("b", {"provenance": [{"wikipedia_id": "1", "title": "x"}, {"title": "no id"}]}, {"answer": None}),
    ]
    (tmp_path / "gold.jsonl").write_text("\n".join(gold) + "\n\n")
    assert read_kilt_gold(tmp_path / "gold.jsonl") == {
        "7": KiltGold(("Dover", "Folkestone"), (("4",), ())),
        "b": KiltGold((), (("1", ""),)),
    }
    (tmp_path / "guess.jsonl").write_text(
        record(
            "7",
            {
                "answer": "Dover",
                "provenance": [{"wikipedia_id": "9"}, {"wikipedia_id": "4"}, {"title": "x"}, {"wikipedia_id": "9"}],
            },
        )
    )
    guess = read_kilt_guess(tmp_path / "guess.jsonl")
    assert guess == {"7": KiltGuess("Dover", ("9", "4", "9"))}
    # Of 7 one of two sets, the empty one counted; b has no guess.
    means = evaluate_kilt(read_kilt_gold(tmp_path / "gold.jsonl"), guess).means()
    assert (means["recall@5"], means["success@5"]) == (1 / 4, 1 / 2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON: "),
        ("[" * 30_000, "not JSON"),
        ('{"id": 1' + "0" * 5000 + "}", "not JSON that can be read"),
        ("[1]", "not a JSON object"),
        ("{}", "the record has no id"),
        ('{"id": true, "output": []}', "the record has no id"),
        ('{"id": "a", "output": []}', "the record 'a' is repeated"),
        ('{"id": "b"}', "the record 'b' has no list of outputs"),
        ('{"id": "b", "output": ["x"]}', "the record 'b' has no list of outputs"),
        ('{"id": "b", "output": [{}, {}]}', "the record 'b' has 2 outputs; a guess has one"),
        ('{"id": "b", "output": []}', "the record 'b' has 0 outputs; a guess has one"),
        ('{"id": "b", "output": [{"answer": ["x"]}]}', "an answer is a text"),
        ('{"id": "b", "output": [{"provenance": "x"}]}', "a provenance is a list of objects"),
        ('{"id": "b", "output": [{"provenance": [{"wikipedia_id": 1.5}]}]}', "'1.5' is not a wikipedia_id"),
        ('{"id": "b", "output": [{"provenance": [' + ",".join(["{}"] * 1001) + "]}]}", "more than 1,000 pages"),
    ],
)
def test_a_wrong_line_is_told_by_its_number(tmp_path, line, message):
    path = tmp_path / "guess.jsonl"
    path.write_text(record("a", {"answer": "x"}) + f"\n{line}\n")
    with pytest.raises(LoadError) as e:
        read_kilt_guess(path)
    assert message in e.value.message
    assert e.value.place == f"{path}:2"


def test_a_guess_may_carry_the_texts_of_its_pages(tmp_path):
    pages = [{"wikipedia_id": str(i), "text": "a river in England " * 60} for i in range(100)]
    (tmp_path / "g.jsonl").write_text(record(1, {"answer": "Dover", "provenance": pages}))
    assert len(read_kilt_guess(tmp_path / "g.jsonl")["1"].pages) == 100


def command(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in arguments], catch_exceptions=False, env={"COLUMNS": "80"})


def test_the_commands_take_kilts_files(tmp_path):
    gold, good, bad = (tmp_path / name for name in ("dev-kilt.jsonl", "good.jsonl", "bad.jsonl"))
    right = {"answer": "Dover", "provenance": [{"wikipedia_id": "4"}]}
    gold.write_text("".join(record(f"t-{i}", right) + "\n" for i in range(10)))
    good.write_text("".join(record(f"t-{i}", right) + "\n" for i in range(9)))
    bad.write_text("".join(record(f"t-{i}", {"answer": "Calais"}) + "\n" for i in (*range(10), 77)))
    result = command("eval", gold, good, bad, "-m", "KILT-AC", "-m", "rprec", "--format", "csv")
    assert result.stdout.splitlines() == ["run,topics,kilt-ac,rprec", "good,10,0.9000,0.9000", "bad,10,0.0000,0.0000"]
    assert "good: 1 topic without an answer" in result.stderr
    assert "bad: 1 topic of the run not judged" in result.stderr
    assert command("eval", gold, good, "--format", "csv").stdout.splitlines() == [
        "run,topics,rprec,recall@5,success@5,accuracy,em,f1,kilt-ac,kilt-em,kilt-f1", "good,10" + ",0.9000" * 9
    ]  # fmt: skip
    compared = command("compare", bad, good, "--qrels", gold, "-m", "kilt-f1", "--by", "prefix", "--format", "json")
    first = json.loads(compared.stdout)["comparisons"][0]
    assert (first["wins"], first["ties"], first["p"]) == (9, 1, 2 / 2**9)
    for wrong, message in [
        (("-m", "kilt-acc"), "no measure 'kilt-acc' for KILT; known: rprec, recall@5, success@5, accuracy"),
        (("-m", "ndcg@10"), "no measure 'ndcg@10' for KILT"),
    ]:
        result = command("eval", gold, good, *wrong)
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr
    other = tmp_path / "other.jsonl"
    other.write_text(record("z", right))
    assert "no record of the guesses is in the gold" in command("eval", gold, other).stderr
