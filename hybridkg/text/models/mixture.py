"""Language models of entities with fields: the common part of `lm`, `mlm`, `prms`, `sdm`, `fsdm` and `elr`.

A term's probability is a mixture of the fields' own, p(t|d) = sum_f w_f p(t|d_f), each smoothed by the field of the
whole collection:

    Dirichlet       p(t|d_f) = (tf + mu * cf / |C_f|) / (|d_f| + mu)
    Jelinek-Mercer  p(t|d_f) = (1 - lambda) * tf / |d_f| + lambda * cf / |C_f|

with tf and |d_f| of the entity's field, cf and |C_f| of the field in the whole index. An entity without the field has
tf = |d_f| = 0. Sources: Zhai and Lafferty (2004) for the smoothing; Ogilvie and Callan (2003) for the mixture. A term
that no entity has, or only fields of weight 0 have, would give every entity log 0; it is left out, as in Nordlys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.explanation import ORDERED, TERM, UNORDERED, FieldShare, TermShare, shares
from hybridkg.interfaces.ranking_model import ModelArgument, ModelTraits, Postings, ScoredTerm, ScoringTask
from hybridkg.interfaces.text_index import Ids
from hybridkg.text.id_sets import NONE, merged, union
from hybridkg.text.models.additive import SMALLEST, AdditiveForm, AdditiveModel

DEFAULT_LAMBDA = 0.1

DEFAULT_MU = 1500.0
"""The mu of fields read as one text: that of Galago, and of the SDM of DBpedia-Entity v2. The mean length, the default
of single fields, is too small where half of the entities lack their long field: MAP .198 against .34 on CACM
(docs/models.md)."""

MU = ModelArgument("mu", 1e-6, 1e9)
LAMBDA = ModelArgument("lambda", 1e-6, 1)
SMOOTHING = ModelArgument("smoothing", words=("dirichlet", "jm"))

ARGUMENTS = (MU, LAMBDA, SMOOTHING)
FIELD_ARGUMENTS = (MU, LAMBDA)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MixedField:
    """A field of a mixture.

    Args:
        name: its name; several names where fields are read as one text.
        weight: of the ON clause.
        entities: entities of the index that have it.
        tokens: |C_f|, sum of their lengths.
        mu: strength of Dirichlet smoothing, in tokens, above 0.
        lambda_: of Jelinek-Mercer smoothing, 0..1, above 0; 0 for Dirichlet.
        ordered: weight of phrases.
        unordered: weight of windows.
    """

    name: str
    weight: float
    entities: int
    tokens: int
    mu: float
    lambda_: float
    ordered: float
    unordered: float


@dataclass(frozen=True)
class Mixture:
    """A task, restricted to the scored entities.

    Args:
        ids: uint32[m], ascending.
        lengths: float64[fields, m], tokens.
        terms: the terms; the ids in their postings are places in `ids`.
        ordered: neighbouring words as phrases.
        unordered: neighbouring words as windows.
    """

    ids: Ids
    fields: tuple[MixedField, ...]
    lengths: Floats
    terms: tuple[ScoredTerm, ...]
    ordered: tuple[ScoredTerm, ...]
    unordered: tuple[ScoredTerm, ...]


Weights = Callable[[Sequence[MixedField], ScoredTerm], Sequence[float]]
"""The weight of each field for a term, at least 0, before they are normalised to sum 1."""


def outline(task: ScoringTask) -> Mixture:
    """The fields and terms of a task, without entities: lengths are float64[fields, 0], postings those of the task.

    The default mu of a field is its mean length; that of whole entities is too large for short fields.
    """
    fields = []
    for f in task.fields:
        mean = f.tokens / f.entities if f.entities else 1.0
        fields.append(
            MixedField(
                name=f.name,
                weight=f.weight,
                entities=f.entities,
                tokens=f.tokens,
                mu=f.arguments.get("mu", task.arguments.get("mu", mean)),
                lambda_=_lambda(task, f.arguments.get("lambda")),
                ordered=f.arguments.get("ordered", f.weight),
                unordered=f.arguments.get("unordered", f.weight),
            )
        )
    return Mixture(NONE, tuple(fields), np.zeros((len(fields), 0)), task.terms, task.ordered, task.unordered)


def one_text(whole: Mixture, task: ScoringTask) -> Mixture:
    """A mixture with its fields read as one text: occurrences and lengths are summed; pairs stay inside the fields."""
    field = MixedField(
        name=" ".join(f.name for f in whole.fields),
        weight=1.0,
        entities=task.n_entities,
        tokens=sum(f.tokens for f in whole.fields),
        mu=task.arguments.get("mu", DEFAULT_MU),
        lambda_=_lambda(task, None),
        ordered=1.0,
        unordered=1.0,
    )
    together = [tuple(_together(term) for term in terms) for terms in (whole.terms, whole.ordered, whole.unordered)]
    return Mixture(whole.ids, (field,), whole.lengths.sum(axis=0, keepdims=True), *together)


def narrowed(m: Mixture, task: ScoringTask) -> Mixture:
    """An outline with the entities of the task's postings."""
    ids = union([postings.ids for term in task.terms for postings in term.postings])
    lengths = np.stack([task.lengths[f.row, ids].astype(np.float64) for f in task.fields])
    placed = [tuple(_placed(term, ids) for term in terms) for terms in (m.terms, m.ordered, m.unordered)]
    return Mixture(ids, m.fields, lengths, *placed)


def by_field_weight(fields: Sequence[MixedField], term: ScoredTerm) -> Sequence[float]:
    """The weights of the ON clause."""
    del term
    return [f.weight for f in fields]


def by_ordered_weight(fields: Sequence[MixedField], term: ScoredTerm) -> Sequence[float]:
    """The fields' weights for phrases."""
    del term
    return [f.ordered for f in fields]


def by_unordered_weight(fields: Sequence[MixedField], term: ScoredTerm) -> Sequence[float]:
    """The fields' weights for windows."""
    del term
    return [f.unordered for f in fields]


@dataclass(frozen=True)
class Part:
    """A sum of a model's score: factor * sum over the terms of count * ln p(t|d).

    Args:
        kind: `term`, `ordered` or `unordered`.
        factor: at least 0.
    """

    kind: str
    terms: tuple[ScoredTerm, ...]
    weights: Weights
    factor: float = 1.0


class MixtureModel(AdditiveModel):
    """A model whose score is a sum of logarithms; a subclass defines its parts."""

    traits: ClassVar = ModelTraits()

    def mixture(self, task: ScoringTask) -> Mixture:
        """The task restricted to its entities, with the fields as the model reads them."""
        m = narrowed(outline(task), task)
        return one_text(m, task) if self.traits.one_text else m

    def outline(self, task: ScoringTask) -> Mixture:
        """The same without the entities; reads no postings."""
        if not self.traits.one_text:
            return outline(task)
        bare = [tuple(replace(t, postings=()) for t in terms) for terms in (task.terms, task.ordered, task.unordered)]
        return one_text(outline(replace(task, terms=bare[0], ordered=bare[1], unordered=bare[2])), task)

    def parts(self, task: ScoringTask, m: Mixture) -> Sequence[Part]:
        """The sums of its score."""
        raise NotImplementedError

    def form(self, task: ScoringTask) -> AdditiveForm:
        m = self.outline(task)
        return form_of(task, m, self.parts(task, m))

    def explain(self, task: ScoringTask) -> list[TermShare]:
        m = self.mixture(task)
        return explained(m, self.parts(task, m))


def form_of(task: ScoringTask, m: Mixture, parts: Sequence[Part]) -> AdditiveForm:
    """The additive form of sums over the terms of an outline, of all fields or of one text."""
    n_fields, together = len(task.fields), len(m.fields) < len(task.fields)
    first = {TERM: 0, ORDERED: len(m.terms), UNORDERED: len(m.terms) + len(m.ordered)}
    n_terms = first[UNORDERED] + len(m.unordered)
    coefficient, background = np.zeros((n_terms, n_fields)), np.zeros((n_terms, n_fields))
    gain, constant = np.zeros(n_terms), np.zeros(n_terms)
    for part in parts:
        for t, term in enumerate(part.terms, first[part.kind]):
            weights = part.weights(m.fields, term)
            whole = sum(weights) or 1.0
            own = [w / whole if cf else 0.0 for w, cf in zip(weights, term.cf, strict=True)]
            if not any(own):
                continue
            gain[t] = part.factor * term.count
            for i, (f, w) in enumerate(zip(m.fields, own, strict=True)):
                share = w * term.cf[i] / f.tokens if w else 0.0
                coefficient[t, slice(None) if together else i] = w * (1 - f.lambda_)
                if f.lambda_:
                    constant[t] += f.lambda_ * share
                else:
                    background[t, i] = f.mu * share
    fields = m.fields * n_fields if together else m.fields
    if together:
        whole_lengths = task.text_lengths
        if whole_lengths is None:
            whole_lengths = task.lengths[[f.row for f in task.fields]].sum(axis=0, dtype=np.uint32)
        lengths, rows = whole_lengths[None, :], np.zeros(n_fields, np.int64)
    else:
        lengths, rows = task.lengths, np.array([f.row for f in task.fields], np.int64)
    return AdditiveForm(
        rows=rows,
        base=np.array([0.0 if f.lambda_ else f.mu for f in fields]),
        slope=np.ones(n_fields),
        coefficient=coefficient,
        gain=gain,
        k1=0.0,
        background=background,
        constant=constant,
        words=len(m.terms),
        lengths=lengths,
    )


def probabilities(m: Mixture, term: ScoredTerm, weights: Sequence[float], inverse: Sequence[Floats]) -> Floats | None:
    """float64[m]: p(t|d), above 0; None where it would be 0 for every entity."""
    whole = sum(weights) or 1.0
    own = [w / whole for w in weights]
    if not any(w and cf for w, cf in zip(own, term.cf, strict=True)):
        return None
    p = np.zeros(len(m.ids))
    for i, (f, w) in enumerate(zip(m.fields, own, strict=True)):
        if not w or not term.cf[i]:
            continue
        background = term.cf[i] / f.tokens
        p += w * f.lambda_ * background if f.lambda_ else (w * f.mu * background) * inverse[i]
        places, tf = term.postings[i].ids, term.postings[i].tf
        p[places] += (w * (1 - f.lambda_)) * tf * inverse[i][places]
    return np.maximum(p, SMALLEST)


def explained(m: Mixture, parts: Sequence[Part]) -> list[TermShare]:
    """The parts of the score of a mixture's only entity, term by term."""
    inverse = _inverse_lengths(m)
    shares_of_terms = []
    for part in parts:
        for term in part.terms if part.factor else ():
            weights = part.weights(m.fields, term)
            p = probabilities(m, term, weights, inverse)
            contribution = 0.0 if p is None else part.factor * term.count * float(np.log(p[0]))
            tf = [int(postings.tf[0]) if len(postings.ids) else 0 for postings in term.postings]
            inside = [
                w * (1 - f.lambda_) * n * float(i[0]) for w, f, n, i in zip(weights, m.fields, tf, inverse, strict=True)
            ]
            own = shares(contribution, inside)
            whole = sum(weights) or 1.0
            fields = tuple(
                FieldShare(f.name, tf[i], int(m.lengths[i, 0]), weights[i] / whole, own[i], {"cf": float(term.cf[i])})
                for i, f in enumerate(m.fields)
            )
            values = {"p": 0.0 if p is None else float(p[0])}
            if part.factor != 1:
                values["factor"] = part.factor
            shares_of_terms.append(TermShare(term.shown, part.kind, term.count, term.df, contribution, values, fields))
    return shares_of_terms


def _lambda(task: ScoringTask, own: float | None) -> float:
    named = "lambda" in task.arguments or any("lambda" in f.arguments for f in task.fields)
    if task.choices.get("smoothing", "jm" if named else "dirichlet") == "dirichlet":
        return 0.0
    return task.arguments.get("lambda", DEFAULT_LAMBDA) if own is None else own


def _inverse_lengths(m: Mixture) -> list[Floats]:
    """For each field 1 / (|d_f| + mu), or 1 / |d_f| for Jelinek-Mercer (unused where the entity lacks the field)."""
    return [
        1.0 / (np.maximum(lengths, 1.0) if f.lambda_ else lengths + f.mu)
        for f, lengths in zip(m.fields, m.lengths, strict=True)
    ]


def _placed(term: ScoredTerm, ids: Ids) -> ScoredTerm:
    postings = tuple(
        Postings(np.searchsorted(ids, p.ids).astype(np.uint32), p.tf) if len(p.ids) else p for p in term.postings
    )
    return replace(term, postings=postings)


def _together(term: ScoredTerm) -> ScoredTerm:
    return replace(term, cf=(sum(term.cf),), field_df=(term.df,), allowed=(True,), postings=(merged(term.postings),))
