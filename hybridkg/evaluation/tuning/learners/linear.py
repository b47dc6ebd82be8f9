"""A weight for each feature, by a RankSVM (rank_svm.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hybridkg.evaluation.tuning.judged_rows import JudgedRows
from hybridkg.evaluation.tuning.learners import DIGITS
from hybridkg.evaluation.tuning.rank_svm import pairs_of, rank_svm
from hybridkg.ranking.rerankers.feature_model import Weights


class LinearLearner:
    """The Learner. What violated pairs cost is chosen: the more, the longer the weights may be."""

    choice: ClassVar[str] = "cost"
    choices: ClassVar[Sequence[float]] = (1.0, 10.0, 100.0)

    def learn(self, names: Sequence[str], topics: Sequence[JudgedRows], choice: float) -> Weights:
        """As Learner has it; features of weight 0 are left out."""
        pairs = [pairs_of(rows.features, rows.grades) for rows in topics]
        found = np.round(rank_svm(pairs, choice), DIGITS).tolist() if pairs else []
        kept = {name: weight for name, weight in zip(names, found, strict=bool(found)) if weight}
        return Weights(kept or {names[0]: 0.0})
