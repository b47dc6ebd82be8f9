"""Learners of feature models from judged rows; a new learner is one file and one line here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from hybridkg.evaluation.tuning.judged_rows import JudgedRows
from hybridkg.ranking.rerankers.feature_model import FeatureModel
from hybridkg.registry import Registry

DIGITS = 6
"""Decimals of a number in a model file."""


class Learner(Protocol):
    """The protocol of a learner; equal rows give equal models."""

    choice: ClassVar[str]
    """Name of the hyperparameter."""

    choices: ClassVar[Sequence[float]]
    """Values of the hyperparameter; among equally good ones the first is chosen."""

    def learn(self, names: Sequence[str], topics: Sequence[JudgedRows], choice: float) -> FeatureModel:
        """A model over at least one feature; topics with a single grade have no effect."""


LEARNERS = Registry(
    "learner",
    "hybridkg.learners",
    {
        "boosted": "hybridkg.evaluation.tuning.learners.boosted:BoostedTrees",
        "linear": "hybridkg.evaluation.tuning.learners.linear:LinearLearner",
    },
)
"""Learner classes by name."""

DEFAULT = "linear"
