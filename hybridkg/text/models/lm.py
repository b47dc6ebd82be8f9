"""Query likelihood: a language model of the ON fields read as one text.

    score = sum_t count(t) * ln p(t|d)

Source: Ponte and Croft (1998), Zhai and Lafferty (2004). tests/text/models/test_language_models.py repeats the formula.
The `LM` row of DBpedia-Entity v2 is this model over the catchall with mu 2000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hybridkg.interfaces.explanation import TERM
from hybridkg.interfaces.ranking_model import ModelArgument, ModelTraits, ScoringTask
from hybridkg.text.models.mixture import ARGUMENTS, Mixture, MixtureModel, Part, by_field_weight
from hybridkg.text.models.mixture_template import MixtureTemplate, template_of


class LM(MixtureModel):
    """`lm(mu=1500, smoothing=dirichlet)` or `lm(lambda=0.1, smoothing=jm)`."""

    arguments: ClassVar = ARGUMENTS
    field_arguments: ClassVar[tuple[ModelArgument, ...]] = ()
    traits: ClassVar = ModelTraits(weights=False, one_text=True)

    def frame(self, task: ScoringTask) -> MixtureTemplate:
        return template_of(task, self.outline(task))

    def parts(self, task: ScoringTask, m: Mixture) -> Sequence[Part]:
        return [Part(TERM, m.terms, by_field_weight)]
