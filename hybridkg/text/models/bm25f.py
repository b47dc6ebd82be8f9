"""BM25F: BM25 over several weighted fields.

Combines the fields into one pseudo term frequency before the saturation, so a term that occurs in two fields is not
counted as two pieces of evidence. Source: Zaragoza et al., "Microsoft Cambridge at TREC 13" (2004); restated in
Robertson and Zaragoza, "BM25 and Beyond" (2009). The idf is the non-negative one, ln(1 + x), as in Lucene;
`form=galago` has that of the BM25F-CA of DBpedia-Entity v2. tests/text/models/test_bm25f.py repeats the formula.

This module makes the numbers of the formula, as an additive form; `additive.score_numpy` computes the scores from it,
and the kernels of text/index/topk/ give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.explanation import TERM, FieldShare, TermShare, shares
from hybridkg.interfaces.ranking_model import ModelArgument, ModelTraits, ScoringTask
from hybridkg.text.models.additive import AdditiveForm, AdditiveModel, Floats, FormCoefficients

DEFAULT_K1 = 1.2


def idf(df: int, n_entities: int) -> float:
    """ln(1 + (N - df + 0.5) / (df + 0.5)), at least 0.

    >>> round(idf(1, 10), 4)
    1.9924
    """
    return math.log(1 + (n_entities - df + 0.5) / (df + 0.5))


def galago_idf(df: int, n_entities: int) -> float:
    """ln(N / (df + 0.5)), below 0 where every entity has the term: the idf of BM25F-CA.

    >>> round(galago_idf(1, 10), 4)
    1.8971
    """
    return math.log(max(n_entities, 1) / (df + 0.5))


IDF = {"lucene": idf, "galago": galago_idf}


@dataclass(frozen=True)
class Bm25fNumbers:
    """The numbers of a task, without its postings.

    Args:
        rows: int64[fields], row of each field in the lengths.
        weight: float64[fields].
        b: float64[fields], in 0..1.
        mean: float64[fields], mean length over the entities that have the field.
        gain: float64[terms], idf times the number of times the query has the term.
        k1: saturation, above 0.
    """

    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    b: NDArray[np.float64]
    mean: NDArray[np.float64]
    gain: NDArray[np.float64]
    k1: float


@dataclass(frozen=True)
class Bm25fTemplate:
    """The template of BM25F forms: the fields and the idf."""

    numbers: Bm25fNumbers
    idf: Callable[[int, int], float]
    n_entities: int
    lengths: NDArray[np.uint32]
    _constants_of: dict[int, tuple[Floats, Floats, Floats]] = field(default_factory=dict, compare=False)

    @cached_property
    def base(self) -> Floats:
        """float64[fields]: 1 - b."""
        return 1.0 - self.numbers.b

    @cached_property
    def slope(self) -> Floats:
        """float64[fields]: b / mean."""
        return self.numbers.b / self.numbers.mean

    def form(self, counts: Sequence[float], df: Sequence[int], cf: NDArray[np.int64] | None = None) -> AdditiveForm:
        del cf
        q, n, k = self.numbers, len(counts), self.n_entities
        coefficient, background, zeros = self._constants(n)
        return AdditiveForm(
            rows=q.rows,
            base=self.base,
            slope=self.slope,
            coefficient=coefficient,
            gain=np.array([c * self.idf(d, k) for c, d in zip(counts, df, strict=True)], np.float64),
            k1=q.k1,
            background=background,
            constant=zeros,
            words=n,
            lengths=self.lengths,
        )

    def word_numbers(self, most: int) -> tuple[AdditiveForm, FormCoefficients]:
        """The weights, and the idf of each df up to `most`."""
        zeros = np.zeros(len(self.numbers.rows))
        gain = np.array([self.idf(df, self.n_entities) for df in range(most + 1)])
        return self.form((), ()), FormCoefficients(gain, self.numbers.weight, zeros, zeros, zeros)

    def _constants(self, n: int) -> tuple[Floats, Floats, Floats]:
        """The arrays shared by forms of n words."""
        constants = self._constants_of.get(n)
        if constants is None:
            background = np.zeros((n, len(self.numbers.rows)))
            constants = self._constants_of[n] = (background + self.numbers.weight, background, np.zeros(n))
        return constants


class BM25F(AdditiveModel):
    """`bm25f(k1=1.2, b=..., form=lucene)`; b may also follow a field, where it overrides the model's."""

    arguments: ClassVar = (
        ModelArgument("k1", 0, above_low=True),
        ModelArgument("b", 0, 1),
        ModelArgument("form", words=tuple(IDF)),
    )
    field_arguments: ClassVar = (ModelArgument("b", 0, 1),)
    traits: ClassVar = ModelTraits(least_score=0.0)

    def frame(self, task: ScoringTask) -> Bm25fTemplate:
        return Bm25fTemplate(as_numbers(replace(task, terms=())), idf_of(task), task.n_entities, task.lengths)

    def form(self, task: ScoringTask) -> AdditiveForm:
        """The numbers of tf / ((1 - b) + b * length / mean), weights and idf, from which `additive` computes scores."""
        return self.frame(task).form([term.count for term in task.terms], [term.df for term in task.terms])

    def explain(self, task: ScoringTask) -> list[TermShare]:
        q = as_numbers(task)
        entity = int(next(p.ids[0] for term in task.terms for p in term.postings if len(p.ids)))
        explained = []
        for t, term in enumerate(task.terms):
            fields = []
            for i, (f, postings) in enumerate(zip(task.fields, term.postings, strict=True)):
                tf = int(postings.tf[0]) if len(postings.ids) else 0
                length = int(task.lengths[f.row, entity])
                relative = (1.0 - q.b[i]) + q.b[i] * length / q.mean[i]
                values = {"b": float(q.b[i]), "mean_length": float(q.mean[i])}
                fields.append(FieldShare(f.name, tf, length, f.weight, float(f.weight * tf / relative), values))
            x = sum(f.contribution for f in fields)
            contribution = float(q.gain[t] * x / (q.k1 + x))
            own = shares(contribution, [f.contribution for f in fields])
            divided = tuple(replace(f, contribution=part) for f, part in zip(fields, own, strict=True))
            values = {"idf": float(q.gain[t]) / term.count, "x": x, "k1": q.k1}
            explained.append(TermShare(term.shown, TERM, term.count, term.df, contribution, values, divided))
        return explained


def idf_of(task: ScoringTask) -> Callable[[int, int], float]:
    return IDF[task.choices.get("form", "lucene")]


def as_numbers(task: ScoringTask) -> Bm25fNumbers:
    """The numbers of a task; a field that no entity has gets mean 1, which is never read."""
    model_b = task.arguments.get("b")
    idf = idf_of(task)
    return Bm25fNumbers(
        rows=np.array([f.row for f in task.fields], np.int64),
        weight=np.array([f.weight for f in task.fields], np.float64),
        b=np.array([f.arguments.get("b", f.b if model_b is None else model_b) for f in task.fields], np.float64),
        mean=np.array([f.tokens / f.entities if f.entities else 1.0 for f in task.fields], np.float64),
        gain=np.array([term.count * idf(term.df, task.n_entities) for term in task.terms], np.float64),
        k1=task.arguments.get("k1", DEFAULT_K1),
    )
