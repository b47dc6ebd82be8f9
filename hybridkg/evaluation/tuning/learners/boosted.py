"""LambdaMART: gradient-boosted regression trees for ranking, deterministic.

The loss of a pair of a better and a worse candidate is ln(1 + exp(-(s_better - s_worse))), times the change of
NDCG@FIRST if the two were swapped. Trees grow from the root by the split with the largest gain of a Newton step;
features are from 0 to 1 and are split at multiples of 1 / BINS.
Source: Burges, From RankNet to LambdaRank to LambdaMART: An Overview (2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.evaluation.tuning.judged_rows import JudgedRows
from hybridkg.evaluation.tuning.learners import DIGITS
from hybridkg.ranking.rerankers.feature_model import Split, Tree, Trees

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIRST = 10
"""Cut-off of NDCG in the loss."""

BINS = 32
"""Bins of a feature; a power of 2, so that bins and the limits of splits agree exactly."""

DEPTH = 3
"""Maximum splits between root and leaf."""

RATE = 0.1
"""Learning rate: the share of a Newton step."""

PENALTY = 1.0
"""Regularisation added to the second derivative of a leaf, so that few rows make small steps."""

MIN_ROWS = 20
"""Minimum rows of a leaf."""

MIN_GAIN = 1e-9
"""Minimum gain of a split; smaller ones are rounding."""


class BoostedTrees:
    """A Learner whose hyperparameter is the number of trees."""

    choice: ClassVar[str] = "trees"
    choices: ClassVar[Sequence[float]] = (25.0, 50.0, 100.0)

    def learn(self, names: Sequence[str], topics: Sequence[JudgedRows], choice: float) -> Trees:
        topics = [rows for rows in topics if len(rows.grades)]
        if not topics:
            return Trees((0.0,))
        pairs = _Pairs.of(topics)
        growth = _Growth(names, np.concatenate([rows.features for rows in topics]))
        scores = np.zeros(len(growth.bins))
        trees: list[Tree] = []
        for _ in range(int(choice)):
            tree = growth.tree(*pairs.slopes(scores), scores)
            if not isinstance(tree, Split):
                break
            trees.append(tree)
        return Trees(tuple(trees) or (0.0,))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """All pairs of rows of a topic with different grades, as indexes into the rows of all topics.

    Args:
        topic, place: int64[rows], topic of a row and its position there.
        better, worse: int64[pairs].
        gain: float64[pairs], difference of grades over the ideal DCG of the topic.
    """

    topic: Ints
    place: Ints
    better: Ints
    worse: Ints
    gain: Floats

    @classmethod
    def of(cls, topics: Sequence[JudgedRows]) -> _Pairs:
        better, worse, gain, start = [], [], [], 0
        for rows in topics:
            high, low = np.nonzero(rows.grades[:, None] > rows.grades[None, :])
            best = np.sort(rows.grades)[::-1]
            ideal = float(best @ _discounts(np.arange(len(best))))
            better.append(high + start)
            worse.append(low + start)
            gain.append((rows.grades[high] - rows.grades[low]) / (ideal or 1.0))
            start += len(rows.grades)
        sizes = [len(rows.grades) for rows in topics]
        return cls(
            np.repeat(np.arange(len(topics)), sizes),
            np.concatenate([np.arange(size) for size in sizes]),
            np.concatenate(better),
            np.concatenate(worse),
            np.concatenate(gain),
        )

    def slopes(self, scores: Floats) -> tuple[Floats, Floats]:
        """Negative first and second derivative of the loss by the score of each row: float64[rows] twice."""
        ranks = np.empty(len(scores), np.int64)
        # Sorted by topic, the positions 0, 1, ... of a topic's rows are also its ranks.
        ranks[np.lexsort((self.place, -scores, self.topic))] = self.place
        discounts = _discounts(ranks)
        weight = self.gain * np.abs(discounts[self.better] - discounts[self.worse])
        wrong = 1.0 / (1.0 + np.exp(np.clip(scores[self.better] - scores[self.worse], -50.0, 50.0)))
        pull, bend = weight * wrong, weight * wrong * (1.0 - wrong)

        def of_rows(values: Floats, sign: float) -> Floats:
            n = len(scores)
            sums: Floats = np.bincount(self.better, values, n) + sign * np.bincount(self.worse, values, n)
            return sums

        return of_rows(pull, -1.0), of_rows(bend, 1.0)


class _Growth:
    """Growth of trees over the same rows; features are float64[rows, names], each from 0 to 1."""

    def __init__(self, names: Sequence[str], features: Floats):
        from scipy.sparse import csr_matrix

        self.names = names
        self.bins = np.minimum((features * BINS).astype(np.int64), BINS - 1)
        cells = (self.bins + np.arange(len(names)) * BINS).ravel()
        starts = np.arange(len(features) + 1) * len(names)
        # One-hot bins of each feature, so that the transpose sums values by bin.
        self._cells = csr_matrix((np.ones(len(cells)), cells, starts), (len(features), len(names) * BINS))

    def tree(self, first: Floats, second: Floats, scores: Floats) -> Tree:
        """A tree; its outputs are added to `scores`."""
        values = np.stack([np.ones(len(scores)), first, second], axis=1)
        rows = np.arange(len(scores))
        return self._grown(values, scores, rows, self._in_bins(values, rows), DEPTH)

    def _grown(self, values: Floats, scores: Floats, rows: Ints, in_bins: Floats, deeper: int) -> Tree:
        """The subtree of some rows; `in_bins` has their sums by bin."""
        split = self._split(in_bins) if deeper else None
        if split is None:
            _, pull, bend = values[rows].sum(axis=0)
            value = round(RATE * float(pull / (bend + PENALTY)), DIGITS)
            scores[rows] += value
            return value
        feature, last = split
        is_below = self.bins[rows, feature] <= last
        below, above = rows[is_below], rows[~is_below]
        fewer = self._in_bins(values, min(below, above, key=len))
        of_below, of_above = (fewer, in_bins - fewer) if len(below) <= len(above) else (in_bins - fewer, fewer)
        return Split(
            self.names[feature],
            (last + 1) / BINS,
            self._grown(values, scores, below, of_below, deeper - 1),
            self._grown(values, scores, above, of_above, deeper - 1),
        )

    def _in_bins(self, values: Floats, rows: Ints) -> Floats:
        """Sums by bin of the rows' count and derivatives: float64[names, BINS, 3]."""
        sums: Floats = self._cells[rows].T @ values[rows]
        return sums.reshape(len(self.names), BINS, 3)

    @staticmethod
    def _split(in_bins: Floats) -> tuple[int, int] | None:
        """(feature, last bin below the limit) of the split with the largest gain; None without a gain."""
        number, total, bends = in_bins[0].sum(axis=0)
        count, pull, bend = np.moveaxis(in_bins.cumsum(axis=1)[:, :-1], 2, 0)
        gain = pull**2 / (bend + PENALTY) + (total - pull) ** 2 / (bends - bend + PENALTY)
        gain[(count < MIN_ROWS) | (number - count < MIN_ROWS)] = 0.0
        best = int(gain.argmax())
        if gain.flat[best] - total**2 / (bends + PENALTY) <= MIN_GAIN:
            return None
        feature, last = divmod(best, BINS - 1)
        return feature, last


def _discounts(ranks: Ints) -> Floats:
    return np.where(ranks < FIRST, 1.0 / np.log2(ranks + 2.0), 0.0)
