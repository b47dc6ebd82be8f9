"""STaRK's measures against lists that are built in full, and its files."""

from __future__ import annotations

import ast
import csv
import io
import lzma
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import LoadError, ParameterError
from hybridkg.evaluation.comparison import compare
from hybridkg.evaluation.measures import Measure, evaluate, parse_measure
from hybridkg.evaluation.measures.stark import STARK_SET, AnswerCandidates, StarkMeasure, stark_measures
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.stark import read_stark, read_stark_questions, read_stark_split

node = st.integers(0, 14).map(str)
predictions = st.dictionaries(node, st.sampled_from([-1.0, 0.0, 0.5, 2.0]), max_size=12)
answers = st.sets(node, min_size=1, max_size=6)
candidate_sets = st.sets(node, min_size=1)


def slow(name: str, scores: dict[str, float], answers: set[str], candidates: set[str]) -> float:
    """STaRK's evaluator, step by step, with the order of ties written out."""
    kept = {x: s for x, s in scores.items() if x in candidates}
    if not kept:
        return 0.0
    filled = {x: kept.get(x, min(kept.values()) - 1) for x in candidates}
    order = sorted(filled, key=lambda x: (-filled[x], int(x)))
    judged = [x in answers for x in order]  # the whole list; answers that are no candidates are in no list
    total, kind, k = sum(judged), name.partition("@")[0], int(name.partition("@")[2] or 0)
    if total == 0:
        return 0.0
    match kind:
        case "mrr":
            return 1 / (judged.index(True) + 1)
        case "map":
            return sum(sum(judged[: i + 1]) / (i + 1) for i in range(len(judged)) if judged[i]) / total
        case "rprecision":
            return sum(judged[:total]) / total
        case "hit":
            return float(any(judged[:k]))
        case "recall":
            return sum(judged[:k]) / total
        case "precision":
            return sum(judged[:k]) / k
    gain = [1 / math.log2(i + 2) for i in range(len(judged))]
    return sum(g for g, is_answer in zip(gain[:k], judged, strict=False) if is_answer) / sum(gain[: min(k, total)])


def as_run(scores: dict[str, float]) -> Run:
    return Run("r", {"q": tuple(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))})


@settings(max_examples=examples(30, 240), deadline=None)
@given(predictions, answers, candidate_sets, st.integers(1, 16))
def test_every_measure_equals_the_list_of_all_candidates(scores, answers, candidates, k):
    names = (*(f"{kind}@{k}" for kind in ("hit", "recall", "precision", "ndcg")), "mrr", "map", "rprecision")
    qrels = Qrels({"q": dict.fromkeys(sorted(answers), 1)})
    found = evaluate(qrels, as_run(scores), stark_measures(candidates, names))
    assert found == {name: {"q": pytest.approx(slow(name, scores, answers, candidates))} for name in names}


@settings(max_examples=examples(36, 60), deadline=None)
@given(st.lists(node, unique=True, min_size=1), answers)
def test_down_to_the_depth_of_an_untied_run_they_are_the_plain_measures(ranking, answers):
    run = Run("r", {"q": tuple((x, -float(i)) for i, x in enumerate(ranking))})
    qrels = Qrels({"q": dict.fromkeys(sorted(answers), 1)})
    plain = {"hit": "hit", "recall": "recall", "precision": "p", "ndcg": "ndcg"}
    names = [(f"{kind}@{k}", f"{other}@{k}") for kind, other in plain.items() for k in range(1, len(ranking) + 1)]
    found = evaluate(qrels, run, stark_measures(range(15), [name for name, _ in names]))
    wanted = evaluate(qrels, run, [parse_measure(name) for _, name in names])
    for name, other in names:
        assert found[name] == pytest.approx(wanted[other])


@settings(max_examples=examples(24, 40), deadline=None)
@given(st.permutations([str(i) for i in range(15)]), answers)
def test_over_a_run_of_all_candidates_all_are_the_plain_measures(ranking, answers):
    run = Run("r", {"q": tuple((x, -float(i)) for i, x in enumerate(ranking))})
    qrels = Qrels({"q": dict.fromkeys(sorted(answers), 1)})
    found = evaluate(qrels, run, stark_measures(range(15), ("map", "rprecision", "mrr", "ndcg@15")))
    wanted = evaluate(qrels, run, [parse_measure(name) for name in ("map", "rprec", "mrr", "ndcg@15")])
    assert [one["q"] for one in found.values()] == pytest.approx([one["q"] for one in wanted.values()])


def test_the_tail_has_a_rank_by_hand():
    # Predicted: 7, 2. Then 1, 3, 4, 10, 100 (as numbers, not as text): the answer 10 has rank 6, 100 rank 7.
    candidates = ["100", "10", "1", "2", "3", "4", "7"]
    run = Run("r", {"q": (("7", 0.9), ("2", 0.8), ("55", 0.7)), "empty": (("55", 1.0),)})
    qrels = Qrels({"q": {"10": 1, "100": 1}, "empty": {"10": 1}, "absent": {"10": 1}})
    found = evaluate(qrels, run, stark_measures(candidates, ("mrr", "hit@5", "hit@6", "recall@6")))
    assert found["mrr"] == {"q": 1 / 6, "empty": 0, "absent": 0}
    assert found["hit@5"]["q"] == 0
    assert found["hit@6"]["q"] == 1
    assert found["recall@6"]["q"] == 1 / 2
    more = evaluate(
        qrels, run, stark_measures(candidates, ("map", "rprecision", "precision@7", "precision@9", "ndcg@6"))
    )
    # Ranks 6 and 7: (1/6 + 2/7) / 2 = 19/84; none in the first 2; 2 of 7, and of 9; (1/log2 7) / (1 + 1/log2 3).
    assert more["map"]["q"] == pytest.approx(19 / 84)
    assert more["rprecision"]["q"] == 0
    assert (more["precision@7"]["q"], more["precision@9"]["q"]) == pytest.approx((2 / 7, 2 / 9))
    assert more["ndcg@6"]["q"] == pytest.approx(0.21840744)
    assert more["ndcg@6"]["empty"] == more["map"]["absent"] == 0


def test_answers_that_are_no_candidates_count_nowhere():
    run = Run("r", {"q": (("1", 1.0),)})
    names = ("recall@1", "map", "rprecision", "ndcg@1")
    found = evaluate(Qrels({"q": {"1": 1, "9": 1}}), run, stark_measures(["1", "2"], names))
    assert [one["q"] for one in found.values()] == [1, 1, 1, 1]


def test_they_are_those_of_the_tensors_that_the_evaluator_fills():
    """`stark_qa/evaluator.py`: every candidate gets the least of all predictions minus 1, those predicted their own."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        candidates = np.sort(rng.choice(300, 120, replace=False))
        predicted = rng.choice(candidates, int(rng.integers(1, 110)), replace=False)
        scores = rng.permutation(len(predicted)) - 50.0
        wanted = rng.choice(candidates, int(rng.integers(1, 30)), replace=False)
        filled = np.full(candidates.max() + 1, scores.min() - 1)
        filled[predicted] = scores
        is_answer = np.isin(candidates, wanted)[np.argsort(-filled[candidates], kind="stable")]
        values = {"mrr": 1 / (1 + int(np.argmax(is_answer)))}
        values |= {f"hit@{k}": float(is_answer[:k].any()) for k in (1, 3, 5, 10, 20, 50)}
        values |= {f"recall@{k}": is_answer[:k].sum() / len(wanted) for k in (5, 10, 20, 50, 100)}
        (places,) = np.nonzero(is_answer)
        values["map"] = np.mean(np.arange(1, len(places) + 1) / (places + 1))
        values["rprecision"] = is_answer[: len(wanted)].sum() / len(wanted)
        base = "https://w3id.org/hybridkg/stark/mag/"  # in the order of the numbers, as the ids themselves
        for name in ("", base):
            qrels = Qrels({"q": {f"{name}{x}": 1 for x in wanted}})
            run = as_run({f"{name}{x}": float(s) for x, s in zip(predicted, scores, strict=True)})
            found = evaluate(qrels, run, stark_measures([f"{name}{x}" for x in candidates], STARK_SET))
            assert {measure: found[measure]["q"] for measure in STARK_SET} == pytest.approx(values)


def test_equal_scores_stand_in_the_order_of_their_ids():
    run = Run("r", {"q": (("10", 1.0), ("9", 1.0))})
    assert stark_measures(["9", "10"], ("mrr",))[0].per_topic(Qrels({"q": {"10": 1}}), run) == {"q": 1 / 2}


def test_ids_that_are_no_numbers_are_ordered_as_text():
    assert list(AnswerCandidates(["b", "10", "9"]).place) == ["10", "9", "b"]


def test_they_are_measures_as_any_other():
    ours = stark_measures(range(5), STARK_SET)
    assert all(isinstance(m, Measure) for m in ours)
    qrels = Qrels({"q1": {"1": 1}, "q2": {"3": 1}})
    runs = {"a": Run("a", {"q1": (("0", 1.0),)}), "b": Run("b", {"q1": (("1", 1.0),), "q2": (("3", 1.0),)})}
    assert compare(qrels, runs, ours[-1:]).comparisons[0].wins == 2


def test_what_is_no_measure_and_what_is_no_set_of_candidates_is_refused():
    for name in ("hit@0", "map@10", "ndcg", "precision", "recall", "mrr@5", "rprec"):
        with pytest.raises(ParameterError, match=f"no measure '{name}' of STaRK; known: hit@k, recall@k, precision@k"):
            StarkMeasure(name, AnswerCandidates(["1"]))
    with pytest.raises(ParameterError, match="the candidate '7' appears twice"):
        AnswerCandidates(["7", "1", "7"])
    with pytest.raises(ParameterError, match="not a number"):
        stark_measures(["1"])[0].per_topic(Qrels({"q": {"1": 1}}), Run("r", {"q": (("1", float("nan")),)}))


def test_a_million_candidates_are_no_list_for_each_question():
    run = Run("r", {f"q{i}": tuple((str(j), -float(j)) for j in range(100)) for i in range(300)})
    qrels = Qrels({f"q{i}": {str(150_000 + i): 1} for i in range(300)})
    found = stark_measures(range(200_000), ("mrr",))[0].per_topic(qrels, run)
    assert found["q7"] == 1 / 150_008


def write(folder: Path, text: str, splits: dict[str, str]) -> Path:
    (folder / "stark_qa").mkdir()
    (folder / "split").mkdir()
    (folder / "stark_qa" / "stark_qa.csv").write_text(text, encoding="utf-8")
    for name, lines in splits.items():
        (folder / "split" / f"{name}.index").write_text(lines)
    return folder


def test_a_folder_is_read(tmp_path):
    text = 'id,query,answer_ids\n3,"a ""quoted"", text\nof two lines","[12, 7, 12]"\n1,plain,[5]\n0,last,"[1]"'
    found = read_stark(write(tmp_path, text, {"train": "3\n1", "val": "0\n", "test": "1\n"}))
    assert found.texts == {"3": 'a "quoted", text\nof two lines', "1": "plain", "0": "last"}
    assert found.answers == {"3": (12, 7), "1": (5,), "0": (1,)}
    assert found.qrels("train").grades == {"3": {"12": 1, "7": 1}, "1": {"5": 1}}
    assert list(found.topics("val").texts) == ["0"]
    with pytest.raises(ParameterError, match=r"no split 'tests'; known: train, val, test"):
        found.topics("tests")


def test_columns_are_read_by_name(tmp_path):
    path = tmp_path / "human.csv"
    path.write_text('id,query,answer_ids,answer_ids_source\n0,"a, b","[5, 7]",[7]\n1,c,[8],\n')
    assert read_stark_questions(path) == ({"0": "a, b", "1": "c"}, {"0": (5, 7), "1": (8,)})
    path.write_text('note,answer_ids,id,query\nx,"[5, 7]",0,a\n')
    assert read_stark_questions(path) == ({"0": "a"}, {"0": (5, 7)})
    for line, message in (("0,a,[5]", "3 columns instead of 4"), ("0,a,[5],[5],6", "5 columns instead of 4")):
        path.write_text(f"id,query,answer_ids,answer_ids_source\n{line}\n")
        with pytest.raises(LoadError, match=message) as e:
            read_stark_questions(path)
        assert e.value.hint == "id,query,answer_ids,answer_ids_source"
    for head in ("id,query,answer_ids_source", "id,query,answer_ids,id", ""):
        path.write_text(f"{head}\n0,a,[5],[5]\n")
        with pytest.raises(LoadError, match="not the questions of STaRK") as e:
            read_stark_questions(path)
        assert e.value.place == f"{path}:1"
        assert e.value.hint == "the first line names the columns id, query, answer_ids, each once"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('3,"x","[__import__(1)]"', "'[__import__(1)]' is not a list of answers"),
        ("3,x,[]", "'[]' is not a list of answers"),
        ("3,x,[1.5]", "'[1.5]' is not a list of answers"),
        ("3,x,[[1]]", "'[[1]]' is not a list of answers"),
        (f"3,x,[{'9' * 40}]", "is not a list of answers"),
        ("3,x", "2 columns instead of 3"),
        ("x,y,[1]", "'x' is not the id of a question"),
        ("2,y,[1]", "the question '2' is repeated"),
        ("3, ,[1]", "the question '3' has no text"),
        ('3,"x,[1]', "not a CSV file"),
        ("3," + "x" * 140_000 + ",[1]", "a line of more than"),
    ],
)
def test_a_wrong_line_is_told_by_its_number(tmp_path, line, message):
    path = tmp_path / "q.csv"
    path.write_text(f"id,query,answer_ids\n2,y,[1]\n{line}\n")
    with pytest.raises(LoadError) as e:
        read_stark_questions(path)
    assert message in e.value.message
    assert e.value.place == f"{path}:3"


def test_other_wrong_files_are_told(tmp_path):
    (tmp_path / "a.csv").write_text("id,question\n")
    with pytest.raises(LoadError, match="not the questions of STaRK"):
        read_stark_questions(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_bytes(b"id,query,answer_ids\n1,\xff,[1]\n")
    with pytest.raises(LoadError, match="not UTF-8"):
        read_stark_questions(tmp_path / "b.csv")
    (tmp_path / "s.index").write_text("4\n4\n")
    with pytest.raises(LoadError, match="the question '4' is repeated"):
        read_stark_split(tmp_path / "s.index")
    folder = write(tmp_path, "id,query,answer_ids\n1,y,[1]\n", {"train": "9\n", "val": "1\n", "test": "1\n"})
    with pytest.raises(LoadError, match="names a question '9' that is not there"):
        read_stark(folder)


@pytest.mark.needs_shared
@pytest.mark.parametrize(
    ("kb", "questions", "sizes"),
    [
        ("amazon", 9100, {"train": 5910, "val": 1548, "test": 1642, "test-0.1": 164}),
        ("mag", 13323, {"train": 7993, "val": 2665, "test": 2665, "test-0.1": 266}),
        ("primekg", 11204, {"train": 6162, "val": 2241, "test": 2801, "test-0.1": 280}),
    ],
)
def test_the_real_questions_are_read(shared_data, kb, questions, sizes):
    folder = shared_data / "stark-qa" / kb
    found = read_stark(folder)
    assert {name: len(ids) for name, ids in found.splits.items()} == sizes
    assert len(found) == questions == sum(sizes.values()) - sizes["test-0.1"]
    assert found.splits["test-0.1"] == found.splits["test"][: sizes["test-0.1"]]
    assert set().union(*found.splits.values()) == set(found.texts)  # no question is in two splits
    text = lzma.decompress((folder / "stark_qa" / "stark_qa.csv.xz").read_bytes()).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert all(set(found.answers[row["id"]]) == set(ast.literal_eval(row["answer_ids"])) for row in rows[::10])
    assert all(found.texts[row["id"]] == row["query"] for row in rows)
