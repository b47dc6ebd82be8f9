"""The template of a mixture's form: its part that does not depend on the words of the query, for words and pairs.

`mixture.form_of` is the reference with the same bits (tests/text/index/topk/test_bag_of_words.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.ranking_model import ScoringTask
from hybridkg.text.models.additive import AdditiveForm, Floats, FormCoefficients
from hybridkg.text.models.mixture import Mixture, form_of


@dataclass(frozen=True)
class MixtureTemplate:
    """The form of a task without terms, and the numbers that turn occurrences into a background.

    Args:
        bare: a form without terms.
        share: float64[kinds, fields], weights that sum to 1: of words; then, for a model that scores pairs, of phrases
            and of windows.
        factors: float64[kinds], of a query with pairs; without pairs the factor of words is 1.
        lambda_, mu: float64[fields].
        tokens: float64[fields]; 1 for a field without any.
        together: whether the fields are one text.
    """

    bare: AdditiveForm
    share: Floats
    factors: Floats
    lambda_: Floats
    mu: Floats
    tokens: Floats
    together: bool

    def form(self, counts: Sequence[float], df: Sequence[int], cf: NDArray[np.int64]) -> AdditiveForm:
        """The form of words, then pairs, with the bits of `form_of`; arguments as in FormTemplate."""
        bare, n, words = self.bare, len(cf), len(df)
        often, own_share = np.array(counts, np.float64), self.share[:1]
        if n > words:
            pairs = len(counts) - words
            kinds = np.repeat(np.arange(3), (words, pairs, pairs))
            own_share = self.share[kinds]
            often = self.factors[kinds] * np.concatenate((often, often[words:]))
        own = cf.sum(axis=1, keepdims=True) if self.together else cf
        weights = own_share * (own > 0)
        share = weights * own / self.tokens
        if self.smooth:
            constant = np.zeros(n)
            for i in range(own.shape[1]):
                constant += self.lambda_[i] * share[:, i]
            background = np.where(self.lambda_ > 0, 0.0, self.mu * share)
            coefficient = weights * (1 - self.lambda_)
        else:
            constant, background, coefficient = np.zeros(n), self.mu * share, weights
        if self.together:
            wide = np.zeros((n, len(bare.rows)))
            coefficient = wide + coefficient
            background, narrow = wide, background
            background[:, :1] = narrow
        gain = often * weights.any(axis=1)
        return AdditiveForm(
            bare.rows, bare.base, bare.slope, coefficient, gain, 0.0, background, constant, words, bare.lengths
        )

    def word_numbers(self, most: int) -> tuple[AdditiveForm, FormCoefficients]:
        return self.bare, FormCoefficients(np.ones(most + 1), self.share[0], self.lambda_, self.mu, self.tokens)

    @cached_property
    def smooth(self) -> bool:
        """Whether any field has Jelinek-Mercer smoothing."""
        return bool(self.lambda_.any())


def template_of(task: ScoringTask, m: Mixture, factors: Sequence[float] = (1.0,)) -> MixtureTemplate:
    """The template of a model that weights words and pairs by the ON clause; reads no terms of the task.

    `factors` are those of words, phrases and windows, or of words alone for a model without pairs.
    """
    bare = replace(m, terms=(), ordered=(), unordered=())
    weights = [[f.weight, f.ordered, f.unordered][: len(factors)] for f in m.fields]
    whole = [sum(kind) or 1.0 for kind in zip(*weights, strict=True)]
    return MixtureTemplate(
        form_of(task, bare, ()),
        np.array([[w / all_ for w, all_ in zip(own, whole, strict=True)] for own in weights]).T.copy(),
        np.array(factors, np.float64),
        np.array([f.lambda_ for f in m.fields]),
        np.array([f.mu for f in m.fields]),
        np.array([float(f.tokens or 1) for f in m.fields]),
        len(m.fields) < len(task.fields),
    )
