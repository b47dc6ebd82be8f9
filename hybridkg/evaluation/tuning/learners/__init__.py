"""What learns a model of features from judged rows. A new learner is one file and one line here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from hybridkg.evaluation.tuning.judged_rows import JudgedRows
from hybridkg.ranking.rerankers.feature_model import FeatureModel
from hybridkg.registry import Registry

DIGITS = 6
"""Of a number in a file."""


class Learner(Protocol):
    """A class of this form. The same rows give the same model."""

    choice: ClassVar[str]
    """What the training topics choose, in a word."""

    choices: ClassVar[Sequence[float]]
    """The values that they choose from; of equally good ones the first."""

    def learn(self, names: Sequence[str], topics: Sequence[JudgedRows], choice: float) -> FeatureModel:
        """A model.

        Args:
            names: of the features, one at least.
            topics: rows; those without two grades say nothing.
            choice: one of `choices`.
        """


LEARNERS = Registry(
    "learner",
    "hybridkg.learners",
    {
        "boosted": "hybridkg.evaluation.tuning.learners.boosted:BoostedTrees",
        "linear": "hybridkg.evaluation.tuning.learners.linear:LinearLearner",
    },
)
"""Each is a Learner."""

DEFAULT = "linear"
