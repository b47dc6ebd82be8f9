"""Boosted trees: the loss that they descend, the split that they choose, and what they learn that weights cannot."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hybridkg.evaluation.tuning.judged_rows import JudgedRows
from hybridkg.evaluation.tuning.learners import LEARNERS, boosted
from hybridkg.evaluation.tuning.learners.boosted import BINS, MIN_ROWS, PENALTY, RATE, BoostedTrees
from hybridkg.ranking.rerankers.feature_model import Split, Trees


def topic(features, grades):
    documents = tuple((f"d{i}", -float(i)) for i in range(len(grades)))
    return JudgedRows(documents, np.asarray(features, float), np.asarray(grades))


def random_topics(seed, topics=12, rows=15, features=3):
    random = np.random.default_rng(seed)
    return [topic(random.random((rows, features)), random.integers(0, 3, rows)) for _ in range(topics)]


def scores(model, names, rows):
    return model.parts(rows.features[:, [names.index(name) for name in model.names]]).sum(axis=1)


def right(model, names, rows):
    """The share of pairs in the right order."""
    own = scores(model, names, rows)
    better, worse = np.nonzero(rows.grades[:, None] > rows.grades[None, :])
    return float((own[better] > own[worse]).mean())


def derivatives(topics, own):
    """The formula, pair by pair: the weight of a pair is held while the derivatives are taken."""
    first, second, start = [0.0] * len(own), [0.0] * len(own), 0
    for rows in topics:
        n = len(rows.grades)
        order = sorted(range(n), key=lambda i: (-own[start + i], i))
        rank = {i: place for place, i in enumerate(order)}
        discount = {i: 1 / math.log2(rank[i] + 2) if rank[i] < 10 else 0.0 for i in range(n)}
        best = sorted(rows.grades.tolist(), reverse=True)[:10]
        ideal = sum(grade / math.log2(place + 2) for place, grade in enumerate(best))
        for i in range(n):
            for j in range(n):
                if rows.grades[i] > rows.grades[j]:
                    change = (rows.grades[i] - rows.grades[j]) * abs(discount[i] - discount[j]) / ideal
                    wrong = 1 / (1 + math.exp(own[start + i] - own[start + j]))
                    for k, sign in ((i, 1), (j, -1)):
                        first[start + k] += sign * change * wrong
                        second[start + k] += change * wrong * (1 - wrong)
        start += n
    return first, second


@pytest.mark.parametrize("seed", range(3))
def test_the_derivatives_are_those_of_the_loss(seed):
    topics = random_topics(seed)
    own = np.random.default_rng(seed).normal(size=sum(len(rows.grades) for rows in topics)).round(1)  # with ties
    first, second = boosted._Pairs.of(topics).slopes(own)
    expected = derivatives(topics, own)
    assert first == pytest.approx(expected[0], abs=1e-12)
    assert second == pytest.approx(expected[1], abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_first_split_is_the_best_of_all(seed):
    topics = random_topics(seed)
    features = np.concatenate([rows.features for rows in topics])
    first, second = (np.array(own) for own in derivatives(topics, np.zeros(len(features))))

    def gain(chosen):
        return first[chosen].sum() ** 2 / (second[chosen].sum() + PENALTY)

    found = {}
    for feature in range(3):
        for bin_ in range(1, BINS):
            below = features[:, feature] < bin_ / BINS
            if MIN_ROWS <= below.sum() <= len(below) - MIN_ROWS:
                found[f"{feature}", bin_ / BINS] = gain(below) + gain(~below)
    tree = BoostedTrees().learn(["0", "1", "2"], topics, 1).trees[0]
    assert isinstance(tree, Split)
    assert found[tree.feature, tree.limit] == pytest.approx(max(found.values()))


def test_one_leaf_is_a_step_of_newton():
    """Forty topics of two rows, the better with feature 1: both have derivative +-g, and 2nd derivative g / 2."""
    topics = [topic([[0.0], [1.0]], [0, 1])] * 40
    (tree,) = BoostedTrees().learn(["f"], topics, 1).trees
    change = 1 - 1 / math.log2(3)  # of NDCG, when the two change places
    step = RATE * 40 * change * 0.5 / (40 * change * 0.25 + PENALTY)
    assert tree == Split("f", 1 / BINS, round(-step, 6), round(step, 6))


def test_the_scores_while_learning_are_those_of_the_model():
    """Bins and limits say the same of every row, at the limits as well."""
    topics = [topic(np.round(rows.features * BINS) / BINS, rows.grades) for rows in random_topics(5)]
    growth = boosted._Growth(["0", "1", "2"], np.concatenate([rows.features for rows in topics]))
    own = np.zeros(len(growth.bins))
    tree = growth.tree(*boosted._Pairs.of(topics).slopes(own), own)
    model = Trees((tree,))
    shown = np.concatenate([scores(model, ["0", "1", "2"], rows) for rows in topics])
    assert own - tree.middle == pytest.approx(shown, abs=1e-12)


def test_it_learns_what_no_weights_say():
    """Good is who has the one feature or the other, and not both."""
    random = np.random.default_rng(1)
    names, topics = ["x", "y"], []
    for _ in range(60):
        features = random.random((20, 2))
        topics.append(topic(features, ((features > 0.5).sum(axis=1) == 1).astype(int)))
    learned = {name: LEARNERS.get(name)().learn(names, topics[:40], 50) for name in ("linear", "boosted")}
    of_new = {name: np.mean([right(model, names, rows) for rows in topics[40:]]) for name, model in learned.items()}
    assert of_new["boosted"] > 0.9
    assert of_new["linear"] < 0.65


def test_the_same_rows_give_the_same_trees():
    topics = random_topics(3)
    assert BoostedTrees().learn(["0", "1", "2"], topics, 5) == BoostedTrees().learn(["0", "1", "2"], topics, 5)


@pytest.mark.parametrize(
    "topics",
    [
        [],
        [topic(np.zeros((0, 1)), np.zeros(0, int))],
        [topic([[0.5]] * 50, [0] * 50)],
        [topic([[0.1], [0.9]], [0, 1])],
    ],
    ids=["none", "without rows", "without grades", "fewer rows than two leaves have"],
)
def test_nothing_to_learn_leaves_the_order(topics):
    model = BoostedTrees().learn(["f"], topics, 25)
    assert model == Trees((0.0,))
    assert scores(model, ["f"], topic([[0.1], [0.9]], [0, 1])).tolist() == [0.0, 0.0]
