"""A system that learns from the scores of others: its minimum, and that no fold sees its own topics."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import ConfigError
from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.experiment.kinds.learn import features_of, rank_svm, ranked
from hybridkg.evaluation.experiment.spec import SystemSpec
from hybridkg.evaluation.run import Run

TOPICS = {f"q{i}": "words" for i in range(8)}
GOOD = Run("good", dict.fromkeys(TOPICS, (("d1", 3.0), ("d2", 2.0), ("d3", 1.0))))
BAD = Run("bad", dict.fromkeys(TOPICS, (("d3", 9.0), ("d2", 5.0), ("d1", 1.0))))
QRELS = {t: {"d1": 1} for t in TOPICS}


def folds(tmp_path):
    topics = list(TOPICS)
    path = tmp_path / "folds.json"
    path.write_text(
        json.dumps({"0": {"training": topics[:4], "testing": topics[4:]},
                    "1": {"training": topics[4:], "testing": topics[:4]}})
    )  # fmt: skip
    return path


def learned(tmp_path, qrels=QRELS, out=None, **more):
    systems = {"bad": BAD, "good": GOOD, "svm": SystemSpec("", "learn", {"features": ("bad", "good"), **more})}
    return Experiment(None, systems, TOPICS, qrels, measures=["mrr"], folds=folds(tmp_path)).run(out)


def test_it_finds_the_feature_that_helps(tmp_path):
    found = learned(tmp_path)
    assert found.means()["bad"]["mrr"] < 0.34
    assert found.means()["svm"]["mrr"] == 1.0
    weights = found.runs["svm"].learned["0"]
    assert weights["good"] > 0 > weights["bad"]


def test_a_fold_does_not_see_its_own_judgements(tmp_path):
    """What the test topics of a fold are judged to be moves the weights of the other fold only."""
    other = {t: ({"d3": 1} if int(t[1]) >= 4 else own) for t, own in QRELS.items()}
    first, second = learned(tmp_path).runs["svm"].learned, learned(tmp_path, other).runs["svm"].learned
    assert first["0"] == second["0"]
    assert first["1"] != second["1"]


def test_it_is_kept_and_asked_again_when_a_feature_changes(tmp_path):
    out = tmp_path / "out"
    first = learned(tmp_path, out=out)
    again = learned(tmp_path, out=out)
    assert again.runs["svm"].kept
    assert again.runs["svm"].learned == first.runs["svm"].learned
    assert not learned(tmp_path, out=out, cost=7.0).runs["svm"].kept


@settings(deadline=None, max_examples=examples(5, 100))
@given(seed=st.integers(0, 1000), features=st.integers(1, 5), cost=st.sampled_from([0.1, 1.0, 50.0]))
def test_the_minimum_is_one(seed, features, cost):
    """No step in any direction lowers the loss."""
    random = np.random.default_rng(seed)
    pairs = [random.normal(size=(random.integers(1, 6), features)) for _ in range(3)]
    weights = rank_svm(pairs, cost)

    def loss(w):
        return 0.5 * w @ w + cost * np.mean([np.mean(np.maximum(0, 1 - own @ w) ** 2) for own in pairs])

    for _ in range(20):
        assert loss(weights + random.normal(size=features) * 1e-2) >= loss(weights) - 1e-9


def test_topics_without_pairs_say_nothing(tmp_path):
    """As in a fold none of whose candidates is judged: all weights are 0, and the order is that of the first."""
    assert rank_svm([np.zeros((0, 2)), np.array([[1.0, 0.0]])]).tolist() == rank_svm([np.array([[1.0, 0.0]])]).tolist()
    assert rank_svm([np.zeros((0, 2))]).tolist() == [0.0, 0.0]
    nowhere = {topic: {"d9": 1} for topic in TOPICS}
    found = learned(tmp_path, nowhere)
    assert found.runs["svm"].learned["0"] == {"bad": 0.0, "good": 0.0}
    assert found.runs["svm"].run.documents("q1") == BAD.documents("q1")


def test_features_and_ties():
    assert features_of([GOOD, Run("none", {})], "q1").tolist() == [[1.0, 0.0], [0.5, 0.0], [0.0, 0.0]]
    assert features_of([GOOD], "unknown").shape == (0, 1)
    assert [d for d, _ in ranked(GOOD, "q1", np.array([1.0, 2.0, 1.0]))] == ["d2", "d1", "d3"]


def test_mistakes(tmp_path):
    with pytest.raises(ConfigError, match="not a system before it; those: bad"):
        Experiment(
            None, {"bad": BAD, "svm": SystemSpec("", "learn", {"features": ("god",)}), "good": GOOD}, TOPICS, QRELS,
            folds=folds(tmp_path),
        ).run()  # fmt: skip
    with pytest.raises(ConfigError, match="needs folds"):
        Experiment(None, {"bad": BAD, "svm": SystemSpec("", "learn", {"features": ("bad",)})}, TOPICS, QRELS).run()
    path = tmp_path / "e.toml"
    for value in ("{ feature = ['a'] }", "{ features = [] }", "{ features = ['a'], cost = 0 }", "3"):
        path.write_text(f"topics = 't'\nqrels = 'q'\n[systems.a]\nlearn = {value}\n")
        with pytest.raises(ConfigError, match=r"e\.toml:4"):
            Experiment.read(path)
