"""The linear learner: a weight for each feature, by a RankSVM (rank_svm.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hybridkg.evaluation.tuning.judged_rows import JudgedRows
from hybridkg.evaluation.tuning.learners import DIGITS
from hybridkg.evaluation.tuning.rank_svm import pairs_of, rank_svm
from hybridkg.ranking.rerankers.feature_model import Weights


class LinearLearner:
    """A Learner whose hyperparameter is the cost of violated pairs; a higher cost allows longer weights."""

    choice: ClassVar[str] = "cost"
    choices: ClassVar[Sequence[float]] = (1.0, 10.0, 100.0)

    def learn(self, names: Sequence[str], topics: Sequence[JudgedRows], choice: float) -> Weights:
        """The model without features of weight 0."""
        pairs = [pairs_of(rows.features, rows.grades) for rows in topics]
        weights = np.round(rank_svm(pairs, choice), DIGITS).tolist() if pairs else []
        nonzero = {name: weight for name, weight in zip(names, weights, strict=bool(weights)) if weight}
        return Weights(nonzero or {names[0]: 0.0})
