"""Folds and the trainings they make."""

from __future__ import annotations

import json

import pytest

from hybridkg.errors import LoadError, ParameterError
from hybridkg.evaluation.tuning.folds import Fold, folds_of, read_folds
from hybridkg.evaluation.tuning.plan import plan

TWO = {"0": {"training": ["a", "b"], "testing": ["c"]}, "1": {"training": ["c"], "testing": ["a", "b"]}}


def test_a_file_of_folds_is_read_in_its_order(tmp_path):
    (tmp_path / "folds.json").write_text(json.dumps(TWO))
    assert read_folds(tmp_path / "folds.json", "abc") == (Fold("0", ("a", "b"), ("c",)), Fold("1", ("c",), ("a", "b")))


def test_topics_that_are_not_asked_are_left_out():
    assert folds_of(TWO, "ac", "f")[1] == Fold("1", ("c",), ("a",))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "folds must be a table"),
        ({}, "folds must be a table"),
        ({"0": []}, "fold '0' has no list of topics 'training'"),
        ({"0": {"training": ["a"]}}, "fold '0' has no list of topics 'testing'"),
        ({"0": {"training": [1], "testing": []}}, "fold '0' has no list of topics 'training'"),
        ({"0": {"training": ["a", "a"], "testing": []}}, "fold '0' has a topic twice"),
        ({"0": {"training": ["a"], "testing": ["a", "b", "c"]}}, "fold '0' trains and tests the topic 'a'"),
        ({**TWO, "2": {"training": [], "testing": ["a"]}}, "folds '1' and '2' both test the topic 'a'"),
        ({"0": TWO["0"]}, "no fold tests the topic 'a', nor 1 others"),
    ],
)
def test_folds_that_could_deceive_are_refused(data, message):
    with pytest.raises(LoadError, match=message):
        folds_of(data, "abc", "folds.json")


@pytest.mark.parametrize("text", ["", "[", "\x00", '{"a": 1, "a": 2}', "[" * 100_000, "\ud800"])
def test_what_is_no_json_is_told_with_the_file(tmp_path, text):
    path = tmp_path / "folds.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(LoadError) as e:
        read_folds(path, "abc")
    assert str(path) in e.value.render()


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(LoadError, match="cannot read"):
        read_folds(tmp_path / "none.json", "abc")


FOLDS = (Fold("0", ("a", "b"), ("c", "d")), Fold("1", ("c", "d"), ("a", "b")))


def test_without_folds_and_categories_there_is_one_training_on_everything():
    (one,) = plan("abcd", None, None)
    assert (one.name, one.training, one.testing) == ("", ("a", "b", "c", "d"), ())


def test_each_category_and_fold_trains_on_its_own_topics_only():
    categories = {"a": "x y", "b": "z", "c": "x y", "d": "z"}
    found = {t.name: (t.training, t.testing) for t in plan("abcd", FOLDS, categories)}
    assert found == {
        "x_y-0": (("a",), ("c",)),
        "x_y-1": (("c",), ("a",)),
        "z-0": (("b",), ("d",)),
        "z-1": (("d",), ("b",)),
    }


def test_every_topic_is_tested_once_and_never_by_a_model_that_has_seen_it():
    trainings = plan("abcd", FOLDS, None)
    assert sorted(topic for t in trainings for topic in t.testing) == list("abcd")
    assert not any(set(t.training) & set(t.testing) for t in trainings)


def test_categories_whose_names_make_the_same_file_get_different_ones():
    assert [t.name for t in plan("ab", None, {"a": "x y", "b": "x:y"})] == ["x_y", "x_y_"]


def test_a_fold_without_training_topics_of_a_category_is_refused():
    with pytest.raises(ParameterError, match="nothing to train on for 'y' fold '1'"):
        plan("abcd", FOLDS, {"a": "y", "b": "y", "c": "x", "d": "x"})


def test_a_topic_without_a_category_is_refused():
    with pytest.raises(ParameterError, match="the topic 'd' has no category"):
        plan("abcd", FOLDS, dict.fromkeys("abc", "x"))
