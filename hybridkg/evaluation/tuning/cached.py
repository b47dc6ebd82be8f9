"""Ranks of judged entities under changing parameters, from postings that are gathered once.

A step of the search needs only the ranks of the judged entities: how many others score higher. Compiled kernels compute
them from the postings of a topic as contiguous arrays. Without numba, and for models without a kernel, `AnyModel` runs
the model itself, which is the reference implementation (tests/evaluation/test_tuning.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.config.model_parameters import ModelParameters
from hybridkg.evaluation.tuning.collection import JudgedTopic, with_parameters
from hybridkg.interfaces.ranking_model import RankingModel, ScoredTerm, ScoringTask
from hybridkg.interfaces.text_index import Ids
from hybridkg.text.id_sets import union
from hybridkg.text.models.bm25f import BM25F, IDF, as_numbers
from hybridkg.text.models.mixture import Mixture, MixtureModel

KERNELS = LazyKernel("hybridkg.evaluation.tuning.kernels")

MAX_CACHED = 300_000_000
"""Maximum postings in memory for the kernels, 8 bytes each; `AnyModel` serves larger collections, slowly."""

Ranks = NDArray[np.int64]


class Scorer(Protocol):
    """Ranks of judged entities; thread-safe."""

    def ranks(self, parameters: ModelParameters, topics: Sequence[int]) -> list[Ranks]:
        """For each topic int64[judged]: ranks from 0, at most the cap; -1 for entities that do not match."""


def scorer(model: RankingModel, topics: Sequence[JudgedTopic], order: Callable[[Ids], Ids], cap: int) -> Scorer:
    """The fastest scorer for a model; `order` breaks ties, and ranks from `cap` on are equal."""
    postings = sum(
        len(p.ids) for t in topics for terms in (t.task.terms, t.task.ordered, t.task.unordered)
        for term in terms for p in term.postings
    )  # fmt: skip
    kernels = KERNELS.load() if postings <= MAX_CACHED else None
    # A subclass with another `form` has no kernel.
    form: Any = getattr(type(model), "form", None)
    if kernels is not None and form is BM25F.form:
        return FastBm25f(kernels, topics, order, cap)
    if kernels is not None and isinstance(model, MixtureModel) and form is MixtureModel.form:
        return FastMixture(kernels, model, topics, order, cap)
    return AnyModel(model, topics, order, cap)


class AnyModel:
    """The reference implementation: ranks by the model itself."""

    def __init__(self, model: RankingModel, topics: Sequence[JudgedTopic], order: Callable[[Ids], Ids], cap: int):
        self._model, self._topics, self._order, self._cap = model, topics, order, cap

    def ranks(self, parameters: ModelParameters, topics: Sequence[int]) -> list[Ranks]:
        return [self._of(self._topics[i], parameters) for i in topics]

    def _of(self, topic: JudgedTopic, parameters: ModelParameters) -> Ranks:
        ids, scores = self._model.score(with_parameters(topic.task, parameters))
        ranks = np.full(len(topic.ids), -1, np.int64)
        places = np.searchsorted(ids, topic.ids)
        for j, (place, id, order) in enumerate(zip(places, topic.ids, topic.order, strict=True)):
            if place < len(ids) and ids[place] == id:
                before = int(np.count_nonzero(scores > scores[place]))
                same = ids[scores == scores[place]]
                before += int(np.count_nonzero(self._order(same).astype(np.int64) < order)) if len(same) > 1 else 0
                ranks[j] = min(before, self._cap)
        return ranks


@dataclass(frozen=True)
class TopicEntities:
    """The matching entities of all topics, concatenated; a row is a match of a topic.

    Args:
        entities: uint32[e], ascending, the matches of any topic.
        ids: for each topic, its matches, ascending.
        first: int64[topics + 1], the first row of each topic.
        entity: int32[rows], indexes into `entities`.
        order: int64[rows], breaks ties.
        judged: int64[all judged], row in its topic, -1 for an entity that does not match.
        first_judged: int64[topics + 1].
    """

    entities: Ids
    ids: tuple[Ids, ...]
    first: NDArray[np.int64]
    entity: NDArray[np.int32]
    order: NDArray[np.int64]
    judged: NDArray[np.int64]
    first_judged: NDArray[np.int64]

    def split(self, out: Ranks, topics: Sequence[int]) -> list[Ranks]:
        return [out[self.first_judged[i] : self.first_judged[i + 1]] for i in topics]


def rows_of(topics: Sequence[JudgedTopic], order: Callable[[Ids], Ids]) -> TopicEntities:
    ids = tuple(union([p.ids for term in topic.task.terms for p in term.postings]) for topic in topics)
    entities = union(ids)
    judged = [_places(topic.ids, one) for topic, one in zip(topics, ids, strict=True)]
    return TopicEntities(
        entities=entities,
        ids=ids,
        first=_starts(map(len, ids)),
        entity=np.concatenate([np.searchsorted(entities, one).astype(np.int32) for one in ids]),
        order=np.concatenate([order(one).astype(np.int64) for one in ids]),
        judged=np.concatenate(judged),
        first_judged=_starts(map(len, judged)),
    )


@dataclass(frozen=True)
class TopicPostings:
    """The postings of all topics, ordered by topic, then by row or by term.

    Args:
        starts: int64, the first posting of each row (or term), and the end of the last.
        row: int32[postings], row in its topic.
        term: uint16[postings], number of the term in its topic.
        field: uint16[postings].
        tf: uint32[postings].
    """

    starts: NDArray[np.int64]
    row: NDArray[np.int32]
    term: NDArray[np.uint16]
    field: NDArray[np.uint16]
    tf: NDArray[np.uint32]


def occurrences(rows: TopicEntities, terms: Sequence[Sequence[ScoredTerm]], *, by_row: bool) -> TopicPostings:
    """The postings of each topic's terms: (row, term, field) ascending, or (term, row, field)."""
    parts = [_flat(*one) for one in zip(rows.ids, terms, strict=True)]
    sizes = []
    for i, (ids, own, (row, term, field, tf)) in enumerate(zip(rows.ids, terms, parts, strict=True)):
        first = row if by_row else term
        sizes.append(np.bincount(first, minlength=len(ids) if by_row else len(own)))
        place = np.argsort(row, kind="stable") if by_row else np.lexsort((field, row, term))
        parts[i] = row[place], term[place], field[place], tf[place]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return TopicPostings(_starts(np.concatenate(sizes).tolist()), *columns)


def _flat(ids: Ids, terms: Sequence[ScoredTerm]) -> tuple[NDArray[Any], ...]:
    """(row, term, field, tf) of the postings of one topic."""
    lists = [(t, f, p) for t, term in enumerate(terms) for f, p in enumerate(term.postings) if len(p.ids)]
    if not lists:
        return np.zeros(0, np.int32), np.zeros(0, np.uint16), np.zeros(0, np.uint16), np.zeros(0, np.uint32)
    sizes = [len(p.ids) for _, _, p in lists]
    return (
        np.concatenate([np.searchsorted(ids, p.ids).astype(np.int32) for _, _, p in lists]),
        np.repeat(np.array([t for t, _, _ in lists], np.uint16), sizes),
        np.repeat(np.array([f for _, f, _ in lists], np.uint16), sizes),
        np.concatenate([p.tf for _, _, p in lists], dtype=np.uint32),
    )


def _places(wanted: Ids, ids: Ids) -> NDArray[np.int64]:
    places = np.searchsorted(ids, wanted).astype(np.int64)
    if len(ids):
        places[ids[np.minimum(places, len(ids) - 1)] != wanted] = -1
    else:
        places[:] = -1
    return places


def _starts(sizes: Any) -> NDArray[np.int64]:
    return np.cumsum([0, *sizes], dtype=np.int64)


class FastBm25f:
    """BM25F by a kernel; ranks equal those of the model."""

    def __init__(self, kernels: Any, topics: Sequence[JudgedTopic], order: Callable[[Ids], Ids], cap: int):
        self._kernels, self._cap = kernels, cap
        terms = [topic.task.terms for topic in topics]
        self._rows = rows_of(topics, order)
        self._postings = occurrences(self._rows, terms, by_row=True)
        self._first_term = _starts(map(len, terms))
        self._task = replace(topics[0].task, terms=(), ordered=(), unordered=())
        lengths = [topics[0].task.lengths[f.row, self._rows.entities] for f in self._task.fields]
        self._lengths = np.ascontiguousarray(np.stack(lengths, axis=1), np.float64)
        counted = [(term, topic.task.n_entities) for topic in topics for term in topic.task.terms]
        self._gain = {
            form: np.array([term.count * idf(term.df, n) for term, n in counted], np.float64)
            for form, idf in IDF.items()
        }

    def ranks(self, parameters: ModelParameters, topics: Sequence[int]) -> list[Ranks]:
        task = with_parameters(self._task, parameters)
        q, rows, postings = as_numbers(task), self._rows, self._postings
        out = np.full(len(rows.judged), -1, np.int64)
        self._kernels.bm25f_ranks(
            np.array(topics, np.int64), rows.first, rows.entity, postings.starts, postings.tf, postings.term,
            postings.field,
            self._first_term, self._gain[task.choices.get("form", "lucene")], self._lengths,
            q.weight, q.b, q.mean, float(q.k1), rows.order, rows.judged, rows.first_judged, self._cap, out,
        )  # fmt: skip
        return rows.split(out, topics)


class FastMixture:
    """A mixture of language models by a kernel; terms, weights and factors come from the model."""

    def __init__(
        self, kernels: Any, model: MixtureModel, topics: Sequence[JudgedTopic], order: Callable[[Ids], Ids], cap: int
    ):
        self._kernels, self._model, self._cap = kernels, model, cap
        mixtures = [model.mixture(topic.task) for topic in topics]
        # Fields and the number of entities belong to the index, so one task without terms serves all topics.
        self._task = replace(topics[0].task, terms=(), ordered=(), unordered=())
        self._terms = [(*m.terms, *m.ordered, *m.unordered) for m in mixtures]
        self._number = [{id(term): i for i, term in enumerate(terms)} for terms in self._terms]
        self._kinds = [(m.terms, m.ordered, m.unordered) for m in mixtures]
        # The postings of a mixture have indexes into the topic's matches in place of entity ids.
        named = [[_renamed(term, m) for term in terms] for m, terms in zip(mixtures, self._terms, strict=True)]
        self._rows = rows_of(topics, order)
        self._postings = occurrences(self._rows, named, by_row=False)
        self._first_term = _starts(map(len, named))
        self._lengths = self._lengths_of(mixtures)
        share = [[cf / f.tokens if cf else 0.0 for f, cf in zip(m.fields, term.cf, strict=True)]
                 for m, terms in zip(mixtures, self._terms, strict=True) for term in terms]  # fmt: skip
        self._share = np.array(share, np.float64).reshape(len(share), self._lengths.shape[1])

    def _lengths_of(self, mixtures: Sequence[Mixture]) -> NDArray[np.float64]:
        lengths = np.zeros((len(self._rows.entities), len(mixtures[0].fields)))
        for m in mixtures:
            lengths[np.searchsorted(self._rows.entities, m.ids)] = m.lengths.T
        return lengths

    def ranks(self, parameters: ModelParameters, topics: Sequence[int]) -> list[Ranks]:
        rows, postings, lengths = self._rows, self._postings, self._lengths
        task = with_parameters(self._task, parameters)
        fields = self._model.mixture(task).fields
        factor, weights = self._weighed(task, topics)
        mu = np.array([f.mu for f in fields])
        smooth = np.array([f.lambda_ for f in fields])
        dirichlet = not smooth.any()
        inverse = 1.0 / (lengths + mu) if dirichlet else 1.0 / np.maximum(lengths, 1.0)
        background = weights * (mu if dirichlet else smooth) * self._share
        out = np.full(len(rows.judged), -1, np.int64)
        self._kernels.mixture_ranks(
            np.array(topics, np.int64), rows.first, rows.entity, postings.starts, postings.row, postings.tf,
            postings.field, self._first_term, factor, background, weights * (1 - smooth),
            np.ascontiguousarray(inverse), dirichlet, rows.order, rows.judged, rows.first_judged, self._cap, out,
        )  # fmt: skip
        return rows.split(out, topics)

    def _weighed(self, task: ScoringTask, topics: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(factor of each term, float64[terms, fields] of its field weights) for some topics."""
        whole = self._model.mixture(task)
        places, factors, weights = [], [], []
        for topic in topics:
            terms, ordered, unordered = self._kinds[topic]
            m = replace(whole, terms=terms, ordered=ordered, unordered=unordered)
            number, first = self._number[topic], int(self._first_term[topic])
            for part in self._model.parts(task, m):
                for term in part.terms if part.factor else ():
                    places.append(first + number[id(term)])
                    factors.append(part.factor * term.count)
                    weights.append(part.weights(m.fields, term))
        factor, shares = np.zeros(len(self._share)), np.zeros(self._share.shape)
        own = np.array(weights, np.float64).reshape(len(places), self._share.shape[1])
        # The score omits a term that occurs in no field with a weight, as mixture.probabilities does.
        counts = (own * self._share[places]).any(axis=1)
        scored = np.array(places, np.int64)[counts]
        factor[scored] = np.array(factors)[counts]
        shares[scored] = own[counts] / own[counts].sum(axis=1, keepdims=True)
        return factor, shares


def _renamed(term: ScoredTerm, m: Mixture) -> ScoredTerm:
    return replace(term, postings=tuple(replace(p, ids=m.ids[p.ids]) for p in term.postings))
