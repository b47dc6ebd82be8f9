"""Learns the weights of the reranker `features` from judged topics, inside folds.

The rows that are reordered are those of a query of the user's: its first `top` rows for each topic. A RankSVM
(rank_svm.py) weighs what row_features sees of them. How much violated pairs cost is chosen by the training topics of a
fold alone: each third of them is ranked by what the other two give.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ParameterError, UnsupportedQueryError
from hybridkg.evaluation.measures import evaluate, mean, parse_measure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.topics import Topics
from hybridkg.evaluation.tuning.folds import Fold
from hybridkg.evaluation.tuning.plan import Training, plan
from hybridkg.evaluation.tuning.rank_svm import pairs_of, rank_svm
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.reranker import Candidates, Surroundings
from hybridkg.kb import KnowledgeBase
from hybridkg.prepared import PreparedQuery
from hybridkg.ranking.rerankers.features import FeatureModel
from hybridkg.ranking.rerankers.row_features import RowFeatures, names_of
from hybridkg.rdf.terms import BlankNode, NamedNode, Node
from hybridkg.results.trec import ranking

COSTS = (1.0, 10.0, 100.0)
"""What training chooses from: the more, the longer the weights may be."""

PARTS = 3
"""Of the training topics, each of which tells how good weights of the others are."""

DIGITS = 6
"""Of a weight in a file."""


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """A topic with its first rows.

    Args:
        documents: their entities, in the order of the query, with its scores; further ones behind them.
        features: float64[first rows, features].
        grades: int64[first rows], at least 0.
    """

    documents: tuple[tuple[str, float], ...]
    features: NDArray[np.float64]
    grades: NDArray[np.int64]

    def ranked(self, weights: NDArray[np.float64]) -> tuple[tuple[str, float], ...]:
        """The first rows by weights, ties in their earlier order, the others behind them."""
        scores = self.features @ weights
        order = np.argsort(-scores, kind="stable").tolist()
        first = tuple((self.documents[i][0], float(scores[i])) for i in order)
        return (*first, *self.documents[len(order) :])


@dataclass(frozen=True)
class FeatureOutcome:
    """A training and what came of it.

    Args:
        training: its topics.
        model: the weights.
        cost: that the training topics have chosen.
        before: the measure of the query's own order, of each test topic; of the training topics where none is tested.
        after: that of the order by the weights.
    """

    training: Training
    model: FeatureModel
    cost: float
    before: Mapping[str, float]
    after: Mapping[str, float]


class FeatureTuning:
    """Everything that trainings on the same rows share.

    Args:
        kb: an indexed knowledge base.
        topics: texts; those without a judgement play no part.
        qrels: judgements.
        query: with `$text`, and RANK BY or ORDER BY; its first column with an entity is what is judged.
        top: rows that are reordered.
        measure: what training maximises where it has a choice.
        depth: rows of a ranking.
        progress: told of topics that are read.

    Raises:
        ParameterError: no topic is judged, or no judged entity is among the rows.
        HybridkgError: the query is none, or has a RERANK already.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        topics: Topics,
        qrels: Qrels,
        query: str,
        *,
        top: int = 50,
        measure: str = "ndcg@10",
        depth: int = 1000,
        progress: Progress = SILENT,
    ):
        prepared = kb.prepare(query, name="the query to rerank")
        if not prepared.ranks or prepared.parameters != ("text",):
            raise UnsupportedQueryError(
                "the rows to be reranked come from a query that ranks, and has $text for the words of a topic",
                hint="SELECT ?e ?s { ?e MATCH $text AS ?s } RANK BY ?s",
            )
        if prepared.reranks:
            raise UnsupportedQueryError("the query has a RERANK already", hint="give it without: training adds its own")
        self._qrels, self._measure = qrels, parse_measure(measure)
        judged = [topic for topic in topics.texts if topic in qrels.grades]
        progress.start("reading the rows of topics", len(judged))
        self.rows: dict[str, JudgedRows] = {}
        names: tuple[str, ...] | None = None
        for topic in judged:
            names, rows = _read(kb, prepared, topics.texts[topic], qrels.grades[topic], top, depth, names)
            self.rows[topic] = rows
            progress.advance(1, 1)
        progress.done(len(judged))
        if not any(rows.grades.any() for rows in self.rows.values()):
            raise ParameterError(
                "nothing that is judged relevant is among the rows of the query",
                hint="documents are IRIs of its first column; are topics and judgements those of this knowledge base?",
            )
        self.names = names or ()
        self.topics = tuple(judged)
        self.before = self._values({topic: rows.documents for topic, rows in self.rows.items()})

    def only(self, names: Sequence[str]) -> FeatureTuning:
        """The same with some of the features: what the others are worth."""
        places = [self.names.index(name) for name in names]
        found = copy.copy(self)
        found.names = tuple(names)
        found.rows = {topic: replace(rows, features=rows.features[:, places]) for topic, rows in self.rows.items()}
        return found

    def run(
        self,
        folds: Sequence[Fold] | None = None,
        categories: Mapping[str, str] | None = None,
        progress: Progress = SILENT,
    ) -> tuple[FeatureOutcome, ...]:
        """Every training: one, or one for each category and fold.

        Raises:
            ParameterError: a topic has no category, or a fold nothing to train on.
        """
        trainings = plan(self.topics, folds, categories)
        progress.start("learning weights", len(trainings))
        outcomes = []
        for training in trainings:
            outcomes.append(self._outcome(training))
            progress.advance(1, 1)
        progress.done(len(outcomes))
        return tuple(outcomes)

    def ranked(self, outcomes: Sequence[FeatureOutcome], name: str) -> Run:
        """Each topic by the weights that have not seen it; by those that have where none is tested."""
        found: dict[str, tuple[tuple[str, float], ...]] = {}
        for outcome in outcomes:
            weights = np.array([outcome.model.weights.get(name, 0.0) for name in self.names])
            for topic in outcome.training.testing or outcome.training.training:
                found[topic] = self.rows[topic].ranked(weights)
        return Run(name, {topic: found[topic] for topic in self.topics if topic in found})

    def _outcome(self, training: Training) -> FeatureOutcome:
        topics = training.training
        values = [(self._within(topics, cost), cost) for cost in COSTS]
        cost = max(values, key=lambda one: one[0])[1]
        weights = np.round(self._learned(topics, cost), DIGITS)
        tested = training.testing or topics
        after = self._values({topic: self.rows[topic].ranked(weights) for topic in tested})
        kept = {name: weight for name, weight in zip(self.names, weights.tolist(), strict=True) if weight}
        model = FeatureModel(kept or {self.names[0]: 0.0})
        return FeatureOutcome(training, model, cost, {topic: self.before[topic] for topic in tested}, after)

    def _within(self, topics: Sequence[str], cost: float) -> float:
        """The measure over the topics, each by weights that have not seen it; rounded, so that equals are equal."""
        values: dict[str, float] = {}
        for part in range(min(PARTS, len(topics))):
            tested = topics[part::PARTS]
            others = [topic for topic in topics if topic not in set(tested)]
            weights = self._learned(others, cost)
            values |= self._values({topic: self.rows[topic].ranked(weights) for topic in tested})
        return round(math.fsum(values.values()) / len(values), 12)

    def _learned(self, topics: Sequence[str], cost: float) -> NDArray[np.float64]:
        pairs = [pairs_of(self.rows[topic].features, self.rows[topic].grades) for topic in topics]
        return rank_svm(pairs, cost) if pairs else np.zeros(len(self.names))

    def _values(self, rankings: Mapping[str, tuple[tuple[str, float], ...]]) -> dict[str, float]:
        qrels = Qrels({topic: self._qrels.grades[topic] for topic in rankings})
        (values,) = evaluate(qrels, Run("rows", rankings), [self._measure]).values()
        return dict(values)


def to_json(outcomes: Sequence[FeatureOutcome], measure: str, top: int) -> dict[str, Any]:
    """Everything, for a file."""
    before = {topic: value for one in outcomes for topic, value in one.before.items()}
    after = {topic: value for one in outcomes for topic, value in one.after.items()}
    return {
        "model": "features",
        "measure": measure,
        "top": top,
        "trainings": [
            {
                "name": one.training.name,
                "training": list(one.training.training),
                "testing": list(one.training.testing),
                "cost": one.cost,
                "weights": dict(one.model.weights),
                "before": mean(one.before),
                "after": mean(one.after),
            }
            for one in outcomes
        ],
        "before": before,
        "after": after,
        "mean": {"before": mean(before), "after": mean(after)},
    }


def _read(
    kb: KnowledgeBase,
    prepared: PreparedQuery,
    text: str,
    grades: Mapping[str, int],
    top: int,
    depth: int,
    names: tuple[str, ...] | None,
) -> tuple[tuple[str, ...], JudgedRows]:
    """The names of the features, those given where some are, and the rows of a topic."""
    result = prepared.query({"text": text}, limit=max(top, depth))
    documents = tuple(ranking(result)) if len(result) else ()
    first: dict[str, tuple[Node, Mapping[str, float]]] = {}
    for row in result:
        term = next((t for name in result.columns if isinstance(t := row.term(name), NamedNode | BlankNode)), None)
        if term is not None:
            first.setdefault(term.value if isinstance(term, NamedNode) else f"_:{term.value}", (term, row.scores))
    chosen = [document for document, _ in documents[:top]]
    nodes = tuple(first[document][0] for document in chosen)
    labels = sorted({label for _, label in result.scores})
    scores = {
        label: np.array([first[document][1].get(label, math.nan) for document in chosen], np.float64)
        for label in labels
    }
    state = kb.snapshot
    ids = np.full(len(nodes), -1) if state.nodes is None else state.nodes.find_many(nodes)
    candidates = Candidates(nodes, (text,) * len(nodes), scores, ids)
    names = names_of(state.ranked, labels) if names is None else names
    if not nodes:
        return names, JudgedRows(documents, np.zeros((0, len(names))), np.zeros(0, np.int64))
    around = Surroundings(state.store, state.ranked, state.texts, _nothing)
    features = RowFeatures(candidates, around).matrix(names)
    own = np.array([max(0, grades.get(document, 0)) for document in chosen], np.int64)
    return names, JudgedRows(documents, features, own)


_nothing: Callable[[], None] = lambda: None
