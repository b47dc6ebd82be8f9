"""Fielded sequential dependence model: words, and neighbouring words of the query as phrases and windows.

    score = terms     * sum_t        ln sum_f wT_f p(t|d_f)
          + ordered   * sum_(t,t+1)  ln sum_f wO_f p(#od1(t,t+1)|d_f)
          + unordered * sum_(t,t+1)  ln sum_f wU_f p(#uw8(t,t+1)|d_f)

#od1 is the two words as a phrase, #uw8 the two within 8 places in any order, counted as non-overlapping windows; a
pair's tf and cf are its own, |d_f| and |C_f| those of the field. The weights sum to 1 within each kind. A query without
a pair is ranked by its words alone, with factor 1. Source: Zhiltsov, Kotov and Nikolaev (2015); Metzler and Croft
(2005) for one field. tests/text/models/test_language_models.py repeats the formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hybridkg.interfaces.explanation import ORDERED, TERM, UNORDERED
from hybridkg.interfaces.ranking_model import ModelArgument, ModelTraits, ScoringTask
from hybridkg.interfaces.text_index import MAX_WEIGHT
from hybridkg.text.models.mixture import (
    ARGUMENTS,
    FIELD_ARGUMENTS,
    Mixture,
    MixtureModel,
    Part,
    by_field_weight,
    by_ordered_weight,
    by_unordered_weight,
)
from hybridkg.text.models.mixture_template import MixtureTemplate, template_of

FACTORS = {"terms": 0.8, "ordered": 0.1, "unordered": 0.1}

MAX_FACTOR = 1e6

PAIR_ARGUMENTS = (
    *(ModelArgument(name, 0, MAX_FACTOR) for name in FACTORS),
    ModelArgument("window", 2, 100, whole=True),
)

PAIR_WEIGHTS = tuple(ModelArgument(name, 0, MAX_WEIGHT) for name in ("ordered", "unordered"))


class FSDM(MixtureModel):
    """`fsdm(terms=0.8, ordered=0.1, unordered=0.1, window=8, mu=...)`.

    A field's weight is that of words; `ordered` and `unordered` after it are the weights of pairs, by default the same.
    """

    arguments: ClassVar = (*ARGUMENTS, *PAIR_ARGUMENTS)
    field_arguments: ClassVar = (*FIELD_ARGUMENTS, *PAIR_WEIGHTS)
    traits: ClassVar = ModelTraits(pairs=True)

    def frame(self, task: ScoringTask) -> MixtureTemplate:
        return template_of(task, self.outline(task), factors_of(task))

    def parts(self, task: ScoringTask, m: Mixture) -> Sequence[Part]:
        return dependence(task, m)


def dependence(task: ScoringTask, m: Mixture) -> Sequence[Part]:
    """The three sums of a sequential dependence model: words, phrases and windows."""
    if not m.ordered:
        return [Part(TERM, m.terms, by_field_weight)]
    terms, ordered, unordered = factors_of(task)
    return [
        Part(TERM, m.terms, by_field_weight, terms),
        Part(ORDERED, m.ordered, by_ordered_weight, ordered),
        Part(UNORDERED, m.unordered, by_unordered_weight, unordered),
    ]


def factors_of(task: ScoringTask) -> list[float]:
    """The factors of words, phrases and windows."""
    return [task.arguments.get(name, default) for name, default in FACTORS.items()]
