"""Mixture of language models: one model per field, mixed by the fields' weights.

    score = sum_t count(t) * ln sum_f w_f p(t|d_f),   weights normalised to sum 1

Source: Ogilvie and Callan (2003). tests/text/models/test_language_models.py repeats the formula. `MLM-all` of
DBpedia-Entity v2 has equal weights, `MLM-CA` learned ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hybridkg.interfaces.explanation import TERM
from hybridkg.interfaces.ranking_model import ModelTraits, ScoringTask
from hybridkg.text.models.mixture import ARGUMENTS, FIELD_ARGUMENTS, Mixture, MixtureModel, Part, by_field_weight
from hybridkg.text.models.mixture_template import MixtureTemplate, template_of


class MLM(MixtureModel):
    """`mlm(mu=...)`; mu and lambda may also follow a field, where they override; mu defaults to the mean length."""

    arguments: ClassVar = ARGUMENTS
    field_arguments: ClassVar = FIELD_ARGUMENTS
    traits: ClassVar = ModelTraits()

    def frame(self, task: ScoringTask) -> MixtureTemplate:
        return template_of(task, self.outline(task))

    def parts(self, task: ScoringTask, m: Mixture) -> Sequence[Part]:
        return [Part(TERM, m.terms, by_field_weight)]
