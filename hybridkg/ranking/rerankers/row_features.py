"""Row features of a learned reranker: numbers from 0 to 1 by name, from a row's scores, its texts and the graph.

Each is scaled to 0..1 among the candidates of one question: the minimum to 0, the maximum to 1, an absent one to 0. So
a weight that was learned over many questions means the same in each.

    score NAME       a score that the row has: of MATCH, NEAR or RANK BY
    earlier          1 / (10 + rank) in the order before
    similarity       of the vectors of entity and question
    like the first   mean similarity of its vector to those of the first entities (relevance feedback)
    text MODEL       the score of a ranking model over all fields
    field NAME       bm25 over this field alone
    covered NAME     the share of the question's words, by idf, that the field has
    share NAME       the share of the field's words that are the question's
    length NAME      ln(1 + words of the field)
    triples from     ln(1 + triples with it as subject), counted up to MAX_TRIPLES
    triples to       the same as object
    linked           sum of 1 / (10 + rank) of the candidates that a triple links it with
    types            ranks of the candidates of its classes: sums of 1 / (10 + rank), the mean over its classes
    constraints      the confidence of the constraints of the question that it satisfies (asking/satisfied.py)
    paths N          routes of N steps to it from the nodes that the question names
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.ranked_index import RankedIndex
from hybridkg.interfaces.reranker import QUESTION_FEATURES, RerankCandidates, Surroundings
from hybridkg.interfaces.text_index import FieldChoice, Ids, Scores, TextQuery
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.ranking.rerankers.candidate_triples import TO, CandidateTriples
from hybridkg.rdf.terms import Node, Term

MODELS = ("bm25f", "lm", "mlm", "prms", "sdm")

FIRST = 5
"""Number of entities for `like the first`."""

SMOOTHING = 10
"""Added to ranks: the first counts 1/11, the tenth 1/20, the hundredth 1/110."""


def names_of(index: RankedIndex | None, scores: Sequence[str], *, with_question: bool = False) -> tuple[str, ...]:
    """Names of all features, for the scores of a row; those that read the query as a question only if asked for."""
    plain = [*(f"score {name}" for name in scores), "earlier", "triples from", "triples to", "linked", "types"]
    if index is not None:
        plain += [f"text {model}" for model in MODELS]
        plain += [f"{kind} {name}" for kind in ("field", "covered", "share", "length") for name in index.fields]
        if index.vectors is not None:
            plain += ["similarity", "like the first"]
    if with_question:
        plain += QUESTION_FEATURES
    return tuple(plain)


@dataclass(frozen=True, eq=False)
class RowFeatures:
    """Features of candidates that share one question, in their earlier order."""

    candidates: RerankCandidates
    around: Surroundings

    def matrix(self, names: Sequence[str]) -> NDArray[np.float64]:
        """float64[candidates, names], each from 0 to 1; raises KeyError for an unknown feature."""
        columns = [self.column(name) for name in names]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.candidates), 0))

    def column(self, name: str) -> Scores:
        """float64[candidates]: one feature."""
        kind, _, rest = name.partition(" ")
        if kind == "score":
            return unit(self.candidates.scores[rest])
        if name in QUESTION_FEATURES and self.around.question is not None:
            return unit(self._asked[:, QUESTION_FEATURES.index(name)])
        if name in self._by_name:
            return unit(self._by_name[name]())
        if kind in self._by_field and rest in self._fields:
            return unit(self._by_field[kind](rest))
        if kind == "text" and rest in MODELS:
            return unit(self._scored(TextQuery(self._question, syntax=False, model=rest)))
        raise KeyError(name)

    @property
    def _by_name(self) -> Mapping[str, Callable[[], Scores]]:
        return {
            "earlier": lambda: self._places,
            "similarity": lambda: self._scored(VectorQuery(text=self._question)),
            "like the first": self._like_the_first,
            "triples from": lambda: self._triples(self._graph.from_counts),
            "triples to": lambda: self._triples(self._graph.counts(TO)),
            "linked": self._linked,
            "types": self._types,
        }

    @property
    def _by_field(self) -> Mapping[str, Callable[[str], Scores]]:
        return {
            "field": lambda name: self._scored(
                TextQuery(self._question, syntax=False, fields=(FieldChoice(name),), model="bm25")
            ),
            "covered": lambda name: self._words(name)[0],
            "share": lambda name: self._words(name)[1],
            "length": lambda name: np.log1p(self._words(name)[2]),
        }

    @property
    def _question(self) -> str:
        return self.candidates.queries[0]

    @property
    def _fields(self) -> tuple[str, ...]:
        return () if self.around.text is None else self.around.text.fields

    @cached_property
    def _places(self) -> Scores:
        return 1.0 / (SMOOTHING + np.arange(1, len(self.candidates) + 1))

    @cached_property
    def _with_ids(self) -> tuple[NDArray[np.bool_], Ids]:
        """Whether each candidate has an id, and the ids."""
        has = self.candidates.ids >= 0
        return has, self.candidates.ids[has].astype(np.uint32)

    def _scored(self, query: TextQuery | VectorQuery) -> Scores:
        index, (has, ids) = self.around.text, self._with_ids
        scores = np.full(len(self.candidates), np.nan)
        if index is not None and len(ids) and (isinstance(query, TextQuery) or index.vectors is not None):
            scores[has] = index.score(query, ids)
        self.around.check()
        return scores

    def _like_the_first(self) -> Scores:
        """Mean similarity to the first entities, except itself."""
        first = [node for node, id_ in zip(self.candidates.nodes, self.candidates.ids, strict=True) if id_ >= 0]
        columns = [self._scored(VectorQuery(entity=node)) for node in first[:FIRST]]
        if not columns:
            return np.full(len(self.candidates), np.nan)
        together = np.stack(columns)
        count = (~np.isnan(together)).sum(axis=0)
        return np.where(count > 0, np.nansum(together, axis=0) / np.maximum(count, 1), np.nan)

    def _words(self, field: str) -> tuple[Scores, Scores, Scores]:
        """Coverage, share and length (see above) of one field."""
        index, (has, ids) = self.around.text, self._with_ids
        n = len(self.candidates)
        covered, share, length = (np.zeros(n) for _ in range(3))
        if index is None or not len(ids):
            return covered, share, length
        order = np.argsort(ids)
        query = TextQuery(self._question, syntax=False, fields=(FieldChoice(field),), model="bm25f")
        task = index.task(query, ids[order])
        lengths = task.lengths[task.fields[0].row][ids[order]].astype(np.float64)
        total, matched, words = 0.0, np.zeros(len(ids)), np.zeros(len(ids))
        for term in task.terms:
            idf = float(np.log1p((task.n_entities - term.df + 0.5) / (term.df + 0.5))) if term.df else 0.0
            total += idf
            at = np.searchsorted(ids[order], term.postings[0].ids)
            matched[at] += idf
            words[at] += term.postings[0].tf
        places = np.flatnonzero(has)[order]
        covered[places] = matched / total if total else 0.0
        share[places] = np.where(lengths > 0, np.minimum(1.0, words / np.maximum(lengths, 1)), 0.0)
        length[places] = lengths
        self.around.check()
        return covered, share, length

    @cached_property
    def _asked(self) -> NDArray[np.float64]:
        """float64[candidates, QUESTION_FEATURES]."""
        assert self.around.question is not None
        return self.around.question(self._question, self.candidates.ids)

    @cached_property
    def _graph(self) -> CandidateTriples:
        return CandidateTriples(self.candidates.nodes, self.around.store, self.around.check)

    def _triples(self, counts: Sequence[int]) -> Scores:
        return np.log1p(np.array(counts, np.float64))

    def _linked(self) -> Scores:
        sums = np.zeros(len(self.candidates))
        places = {node: place for place, node in enumerate(self.candidates.nodes)}
        for place, at in sorted((places[subject], places[target]) for subject, target in self._graph.linked()):
            if at != place:
                sums[place] += self._places[at]
                sums[at] += self._places[place]
        return sums

    def _types(self) -> Scores:
        classes = self._graph.classes()
        weights: dict[Term, float] = {}
        for place, own in enumerate(classes):
            for one in own:
                weights[one] = weights.get(one, 0.0) + float(self._places[place])
        means = [sum(weights[one] for one in own) / len(own) if own else 0.0 for own in classes]
        return np.array(means)


def unit(values: Scores) -> Scores:
    """Scales to 0..1: the minimum to 0, the maximum to 1, absent values to 0; all to 0 where they are equal.

    >>> unit(np.array([2.0, 4.0, np.nan, 3.0])).tolist()
    [0.0, 1.0, 0.0, 0.5]
    """
    present = np.isfinite(values)
    if not present.any():
        return np.zeros(len(values))
    low, high = values[present].min(), values[present].max()
    if high <= low:
        return np.zeros(len(values))
    return np.where(present, (np.where(present, values, low) - low) / (high - low), 0.0)


def by_question(candidates: RerankCandidates) -> list[tuple[NDArray[np.int64], RerankCandidates]]:
    """Candidates of each question, with their places among all."""
    by_query: dict[str, list[int]] = {}
    for place, query in enumerate(candidates.queries):
        by_query.setdefault(query, []).append(place)
    groups = []
    for query, places in by_query.items():
        at = np.array(places)
        nodes: tuple[Node, ...] = tuple(candidates.nodes[place] for place in places)
        scores = {name: own[at] for name, own in candidates.scores.items()}
        groups.append((at, RerankCandidates(nodes, (query,) * len(places), scores, candidates.ids[at])))
    return groups
