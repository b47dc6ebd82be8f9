"""Sequential dependence model: `fsdm` over the ON fields read as one text.

Pairs of words are matched inside each field, never across two. Source: Metzler and Croft (2005).
tests/text/models/test_language_models.py repeats the formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hybridkg.interfaces.ranking_model import ModelArgument, ModelTraits, ScoringTask
from hybridkg.text.models.fsdm import PAIR_ARGUMENTS, dependence, factors_of
from hybridkg.text.models.mixture import ARGUMENTS, Mixture, MixtureModel, Part
from hybridkg.text.models.mixture_template import MixtureTemplate, template_of


class SDM(MixtureModel):
    """`sdm(terms=0.8, ordered=0.1, unordered=0.1, window=8, mu=1500)`."""

    arguments: ClassVar = (*ARGUMENTS, *PAIR_ARGUMENTS)
    field_arguments: ClassVar[tuple[ModelArgument, ...]] = ()
    traits: ClassVar = ModelTraits(weights=False, one_text=True, pairs=True)

    def frame(self, task: ScoringTask) -> MixtureTemplate:
        return template_of(task, self.outline(task), factors_of(task))

    def parts(self, task: ScoringTask, m: Mixture) -> Sequence[Part]:
        return dependence(task, m)
