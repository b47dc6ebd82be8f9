"""Runs: read in trec_eval's order, written so that trec_eval keeps ours."""

from __future__ import annotations

import math
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import LoadError, ParameterError, StorageError
from hybridkg.evaluation.run import Run, read_run, write_run
from hybridkg.evaluation.trec_eval import falling, ranked, score_texts

LARGEST = float(np.finfo(np.float32).max)
TINIEST = float(np.finfo(np.float32).smallest_subnormal)
awkward = st.sampled_from(
    [0.0, -0.0, 1.0, 1.0 + 1e-12, 1e300, -1e300, LARGEST, -LARGEST, TINIEST, -TINIEST, 1e-320, 0.1, math.nan]
)
scores = st.lists(
    st.one_of(awkward, st.floats(), st.floats(width=32, allow_nan=False), st.floats(2**24, 2**24 + 9)), max_size=30
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples, which overwrite each other's file."""
    return tmp_path_factory.mktemp("runs")


def float32(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]


@settings(max_examples=examples(36, 400), deadline=None)
@given(scores)
def test_scores_fall_strictly_as_float32_and_as_double(values):
    texts = score_texts(values)
    doubles = [float(text) for text in texts]
    assert all(math.isfinite(value) for value in doubles)
    assert all(after < before for before, after in pairwise(doubles))
    floats = [float32(value) for value in doubles]
    assert all(after < before for before, after in pairwise(floats))


@settings(max_examples=examples(36, 400), deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), unique=True, max_size=30))
def test_scores_that_fall_already_stay_as_they_are(values):
    values = sorted({value + 0.0 for value in values}, reverse=True)
    assert falling(values).tolist() == values
    assert [float32(float(text)) for text in score_texts(values)] == values


def test_a_score_moves_no_further_than_it_must():
    assert falling([1.0, 1.0]).tolist() == [1.0, float(np.nextafter(np.float32(1), np.float32(0)))]
    assert falling([-1e300, -1e300]).tolist() == [float(np.nextafter(np.float32(-LARGEST), np.float32(0))), -LARGEST]
    assert falling([1e300, 5.0]).tolist() == [LARGEST, 5.0]
    assert falling([math.nan, 2.0, math.nan, 1.0]).tolist()[1::2] == [2.0, 1.0]


def test_twenty_million_close_scores_keep_their_order():
    first, count = 2.0**24, 1000
    values = [first + 1 - i / count for i in range(count)]  # fewer float32 there than scores
    texts = score_texts(values)
    assert len({float32(float(text)) for text in texts}) == count


documents = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=3)


@settings(max_examples=examples(30, 300), deadline=None)
@given(st.data())
def test_trec_eval_and_our_reader_see_the_order_that_was_written(folder, data):
    order = data.draw(st.lists(documents, min_size=1, max_size=20, unique=True))
    values = data.draw(st.lists(st.one_of(awkward, st.floats()), min_size=len(order), max_size=len(order)))
    run = Run("a run", {"q": tuple(zip(order, values, strict=True))})
    path = folder / "out.run"
    write_run(run, path)
    again = read_run(path)
    assert again.documents("q") == order
    assert again.name == "a_run"
    # Each document relevant on its own: trec_eval's reciprocal rank tells the rank that it gives it.
    written = pytrec_written(path)
    for rank, document in enumerate(order, 1):
        evaluator = pytrec_eval.RelevanceEvaluator({"q": {document: 1}}, {"recip_rank"})
        assert evaluator.evaluate(written)["q"]["recip_rank"] == pytest.approx(1 / rank, abs=1e-12)


@settings(max_examples=examples(24, 200), deadline=None)
@given(st.lists(st.sampled_from([0, 1, 2, -1]), min_size=2, max_size=15).filter(lambda g: max(g) > 0), st.randoms())
def test_trec_evals_measures_survive_the_round_trip(folder, grades, random):
    names = [f"d{i}" for i in range(len(grades))]
    qrels = {"q": dict(zip(names, grades, strict=True))}
    random.shuffle(names)
    ours = Run("r", {"q": tuple((name, random.choice([1.0, 2.0, 1e300])) for name in names)})
    path = folder / "out.run"
    write_run(ours, path)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg", "ndcg_cut", "recip_rank", "P"})
    by_rank = {"q": {name: float(-rank) for rank, name in enumerate(names)}}
    assert evaluator.evaluate(pytrec_written(path)) == evaluator.evaluate(by_rank)


def pytrec_written(path: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        topic, _, document, _, score, _ = line.split(" ")
        found.setdefault(topic, {})[document] = float(score)
    return found


@settings(max_examples=examples(30, 300), deadline=None)
@given(st.dictionaries(documents, st.sampled_from([1.0, 1.0 + 1e-12, 2.0, 1e-46, 0.0, 1e39, 2e39]), min_size=1))
def test_a_run_is_ordered_by_float32_score_then_document_downwards(scored):
    want = sorted(scored, reverse=True)
    want.sort(key=lambda document: np.float32(min(scored[document], LARGEST)), reverse=True)
    assert [document for document, _ in ranked(list(scored.items()))] == want


def test_the_rank_column_says_nothing(tmp_path):
    path = tmp_path / "x.run"
    path.write_text("q1 Q0 a 1 0.5 t\nq2 Q0 a 1 1 t\nq1 Q0 b 2 7 t\nq1 Q0 c 3 0.5 other\n")
    run = read_run(path)
    assert run.name == "t"
    assert run.documents("q1") == ["b", "c", "a"]
    assert list(run.rankings) == ["q1", "q2"]
    assert run.documents("q3") == []
    assert len(run) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 Q0 b 2 0.5", "5 columns instead of 6"),
        ("q1 Q0 a b 2 0.5 tag", "7 columns instead of 6"),
        ("q1 Q0 b 2 best tag", "'best' is not a score"),
        ("q1 Q0 b 2 NaN tag", "'NaN' is not a score"),
        ("q1 Q0 b 2 -inf tag", "'-inf' is not a score"),
        ("q1 Q0 b 2 1e999 tag", "'1e999' is not a score"),
        ("q1 Q0 b 2 1_000 tag", "'1_000' is not a score"),
        ("q1 Q0 a 2 0.5 tag", "the document 'a' appears twice for the topic 'q1'"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path, line, message):
    path = tmp_path / "x.run"
    path.write_text(f"q1 Q0 a 1 0.7 tag\n{line}\n")
    with pytest.raises(LoadError) as caught:
        read_run(path)
    assert message in caught.value.message
    assert caught.value.place == f"{path}:2"


def test_a_document_that_is_not_utf8_is_told(tmp_path):
    path = tmp_path / "x.run"
    path.write_bytes(b"q1 Q0 Z\xfcrich 1 0.7 tag\n")
    with pytest.raises(LoadError, match="not UTF-8"):
        read_run(path)


def test_what_no_run_file_can_hold_is_refused(tmp_path):
    for bad in ("a b", "", "a\tb", "a\nb", "a\0", "a\ud800"):
        with pytest.raises(ParameterError, match="cannot be part of a run file"):
            write_run(Run("r", {"q": ((bad, 1.0),)}), tmp_path / "x.run")
    assert not (tmp_path / "x.run").exists()
    with pytest.raises(ParameterError, match="the document 'a' twice for the topic 'q'"):
        Run("r", {"q": (("a", 2.0), ("b", 1.0), ("a", 0.0))})
    with pytest.raises(StorageError, match="cannot write the run"):
        write_run(Run("r", {}), tmp_path / "no" / "x.run")
