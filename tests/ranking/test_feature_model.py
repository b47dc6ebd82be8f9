"""What a file of the reranker `features` may hold, and what its parts add up to."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reranked_films import FOUND, names

from hybridkg.errors import ConfigError, HybridkgError
from hybridkg.ranking.rerankers.feature_model import DEEPEST, Split, Trees, Weights, parse, to_json

NAMES = ("a", "b", "c")
numbers = st.floats(-5, 5, allow_nan=False)
trees = st.recursive(
    numbers,
    lambda below: st.builds(Split, st.sampled_from(NAMES), st.floats(0, 1), below, below),
    max_leaves=8,
)


def leaf(tree, row):
    """The value at the end of the way of one candidate."""
    while isinstance(tree, Split):
        tree = tree.above if row[tree.feature] >= tree.limit else tree.below
    return tree


def middle(tree):
    return (middle(tree.below) + middle(tree.above)) / 2 if isinstance(tree, Split) else tree


@given(st.lists(trees, min_size=1, max_size=4), st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=5))
def test_parts_add_up_to_the_leaves_less_what_is_the_same_for_all(own, rows):
    model = Trees(tuple(own))
    features = np.array([[row[NAMES.index(name)] for name in model.names] for row in rows]).reshape(len(rows), -1)
    found = model.parts(features)
    assert found.shape == (len(rows), len(model.names))
    for row, score in zip(rows, found.sum(axis=1), strict=True):
        expected = sum(leaf(tree, dict(zip(NAMES, row, strict=True))) - middle(tree) for tree in own)
        assert score == pytest.approx(expected, abs=1e-9)


def test_a_split_pays_its_own_feature():
    """Below 0.5 of a: -1. Else b decides between 0 and 4, so a is worth 2 - 0.5 and b 2 more or less."""
    model = Trees((Split("a", 0.5, -1.0, Split("b", 0.25, 0.0, 4.0)),))
    assert model.parts(np.array([[0.4, 0.9], [0.5, 0.25], [0.5, 0.24]])).tolist() == [[-1.5, 0], [1.5, 2], [1.5, -2]]


@given(st.lists(trees, min_size=1, max_size=4))
def test_what_is_written_is_read_again(own):
    model = Trees(tuple(own))
    assert parse(to_json(model), "x") == model
    weights = Weights({"a": 0.25})
    assert parse(to_json(weights), "x") == weights


def text(trees, **more):
    return json.dumps({"format": "hybridkg features", "version": 1, "trees": trees, **more})


def deep(splits):
    tree = 0.0
    for _ in range(splits):
        tree = {"feature": "a", "limit": 0.5, "below": tree, "above": 1}
    return tree


SPLIT = {"feature": "a", "limit": 0.5, "below": 0, "above": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (text([]), "list of some trees"),
        (text({"a": 1}), "list of some trees"),
        (text([0] * 10_001), "list of some trees"),
        (text([SPLIT], weights={"a": 1}), "both weights and trees"),
        (text([{**SPLIT, "limits": 3}]), "no 'limits'; it has: feature, limit, below, above"),
        (text([{"feature": "a", "limit": 0.5, "below": 0}]), "lacks 'above'"),
        (text([{**SPLIT, "feature": 3}]), "must be a name"),
        (text([{**SPLIT, "limit": "x" * 10_000}]), "limit of a split must be a number"),
        (text([{**SPLIT, "above": None}]), "leaf must be a number"),
        (text([{**SPLIT, "above": 1e300}]), "leaf must be a number"),
        (text([{**SPLIT, "above": [SPLIT] * 1000}]), "leaf must be a number"),
        (text([True]), "leaf must be a number"),
        (text([deep(DEEPEST + 1)]), "more than 16 splits"),
        ('{"format": "hybridkg features", "version": 1, "trees": ' + "[" * 100_000, "not JSON"),
        (text([float("inf")]), "leaf must be a number"),
    ],
)
def test_trees_that_are_none(content, message):
    with pytest.raises(ConfigError, match=message) as caught:
        parse(content, "w.json")
    assert len(str(caught.value)) < 500


def test_the_deepest_that_is_read():
    assert isinstance(parse(text([deep(DEEPEST)]), "x"), Trees)


def test_trees_rerank_and_tell_why(films):
    tree = {"feature": "score s", "limit": 0.5, "below": 1.0, "above": {**SPLIT, "feature": "earlier", "above": 0.5}}
    (films.folder / "models" / "t.json").write_text(text([tree, 0.5]))
    result = films.query(FOUND + "RERANK TOP 5 USING features(@t.json) AS ?r")
    before = films.query(FOUND)
    assert sorted(names(result)) == sorted(names(before))
    assert result.exact
    for row in result:
        parts = row.why().parts
        assert set(parts) == {"score s", "earlier"}
        assert row.scores["r"] == pytest.approx(sum(parts.values()))
    low, high = min(r.scores["s"] for r in before), max(r.scores["s"] for r in before)
    weak = {n for n, r in zip(names(before), before, strict=True) if (r.scores["s"] - low) / (high - low) < 0.5}
    assert weak
    assert weak == set(names(result)[: len(weak)])


def test_trees_for_another_query_are_told(films):
    (films.folder / "models" / "other.json").write_text(text([{**SPLIT, "feature": "score t"}]))
    with pytest.raises(HybridkgError, match="for a feature 'score t', which these rows do not have"):
        films.query(FOUND + "RERANK TOP 5 USING features(@other.json)")
