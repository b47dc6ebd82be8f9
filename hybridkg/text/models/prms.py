"""Probabilistic retrieval model for semistructured data: `mlm` with weights that depend on the term.

    score  = sum_t count(t) * ln sum_f p(f|t) p(t|d_f)
    p(f|t) = p(t|C_f) P(f) / sum_f' p(t|C_f') P(f'),   p(t|C_f) = cf(t,f) / |C_f|,   P(f) = entities with f / their sum

Source: Kim, Xue and Croft (2009), P(f) as in Nordlys. tests/text/models/test_language_models.py repeats the formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hybridkg.interfaces.explanation import TERM
from hybridkg.interfaces.ranking_model import ModelTraits, ScoredTerm, ScoringTask
from hybridkg.text.models.mixture import ARGUMENTS, FIELD_ARGUMENTS, MixedField, Mixture, MixtureModel, Part


class PRMS(MixtureModel):
    """`prms(mu=...)`; computes the weights of the fields, so they have none in ON."""

    arguments: ClassVar = ARGUMENTS
    field_arguments: ClassVar = FIELD_ARGUMENTS
    traits: ClassVar = ModelTraits(weights=False)

    def parts(self, task: ScoringTask, m: Mixture) -> Sequence[Part]:
        return [Part(TERM, m.terms, by_mapping_probability)]


def by_mapping_probability(fields: Sequence[MixedField], term: ScoredTerm) -> Sequence[float]:
    """p(f|t) up to the factors that all fields share: the denominator, and the sum in P(f)."""
    return [cf / f.tokens * f.entities if cf else 0.0 for f, cf in zip(fields, term.cf, strict=True)]
