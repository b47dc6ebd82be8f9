"""Learns the model of the reranker `features` from judged topics, inside folds.

The rows that are reordered are those of a query of the user's: its first `top` rows for each topic. A learner
(learners/) makes a model of what row_features sees of them. What it leaves to choose is chosen by the training topics
of a fold alone: each third of them is ranked by what the other two give.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hybridkg.errors import ParameterError, UnsupportedQueryError
from hybridkg.evaluation.measures import evaluate, mean, parse_measure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.topics import Topics
from hybridkg.evaluation.tuning.folds import Fold
from hybridkg.evaluation.tuning.judged_rows import JudgedRows, read_rows
from hybridkg.evaluation.tuning.learners import DEFAULT, LEARNERS, Learner
from hybridkg.evaluation.tuning.plan import Training, plan
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb import KnowledgeBase
from hybridkg.ranking.rerankers.feature_model import FeatureModel

PARTS = 3
"""Of the training topics, each of which tells how good a model of the others is."""


@dataclass(frozen=True)
class FeatureOutcome:
    """A training and what came of it.

    Args:
        training: its topics.
        model: what has been learned.
        choice: what the training topics have chosen: of the linear learner the cost, of the boosted one how many trees.
        before: the measure of the query's own order, of each test topic; of the training topics where none is tested.
        after: that of the order by the model.
    """

    training: Training
    model: FeatureModel
    choice: float
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
        learner: of LEARNERS.
        progress: told of topics that are read.

    Raises:
        ParameterError: no topic is judged, or no judged entity is among the rows.
        UnknownNameError: no such learner.
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
        learner: str = DEFAULT,
        progress: Progress = SILENT,
    ):
        self.learner: Learner = LEARNERS.get(learner)()
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
            names, rows = read_rows(kb, prepared, topics.texts[topic], qrels.grades[topic], top, depth, names)
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

    def by(self, learner: str) -> FeatureTuning:
        """The same rows for another learner.

        Raises:
            UnknownNameError: no such learner.
        """
        found = copy.copy(self)
        found.learner = LEARNERS.get(learner)()
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
        progress.start("learning", len(trainings))
        outcomes = []
        for training in trainings:
            outcomes.append(self._outcome(training))
            progress.advance(1, 1)
        progress.done(len(outcomes))
        return tuple(outcomes)

    def ranked(self, outcomes: Sequence[FeatureOutcome], name: str) -> Run:
        """Each topic by the model that has not seen it; by that which has where none is tested."""
        found: dict[str, tuple[tuple[str, float], ...]] = {}
        for outcome in outcomes:
            found |= self._ranked(outcome.model, outcome.training.testing or outcome.training.training)
        return Run(name, {topic: found[topic] for topic in self.topics if topic in found})

    def _outcome(self, training: Training) -> FeatureOutcome:
        topics = training.training
        values = [(self._within(topics, choice), choice) for choice in self.learner.choices]
        choice = max(values, key=lambda one: one[0])[1]
        model = self._learned(topics, choice)
        tested = training.testing or topics
        after = self._values(self._ranked(model, tested))
        return FeatureOutcome(training, model, choice, {topic: self.before[topic] for topic in tested}, after)

    def _within(self, topics: Sequence[str], choice: float) -> float:
        """The measure over the topics, each by a model that has not seen it; rounded, so that equals are equal."""
        values: dict[str, float] = {}
        for part in range(min(PARTS, len(topics))):
            tested = topics[part::PARTS]
            others = [topic for topic in topics if topic not in set(tested)]
            values |= self._values(self._ranked(self._learned(others, choice), tested))
        return round(math.fsum(values.values()) / len(values), 12)

    def _learned(self, topics: Sequence[str], choice: float) -> FeatureModel:
        return self.learner.learn(self.names, [self.rows[topic] for topic in topics], choice)

    def _ranked(self, model: FeatureModel, topics: Sequence[str]) -> dict[str, tuple[tuple[str, float], ...]]:
        places = [self.names.index(name) for name in model.names]
        return {
            topic: self.rows[topic].ranked(model.parts(self.rows[topic].features[:, places]).sum(axis=1))
            for topic in topics
        }

    def _values(self, rankings: Mapping[str, tuple[tuple[str, float], ...]]) -> dict[str, float]:
        qrels = Qrels({topic: self._qrels.grades[topic] for topic in rankings})
        (values,) = evaluate(qrels, Run("rows", rankings), [self._measure]).values()
        return dict(values)


def to_json(outcomes: Sequence[FeatureOutcome], choice: str, measure: str, top: int) -> dict[str, Any]:
    """Everything, for a file; `choice` is the word of the learner."""
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
                choice: one.choice,
                **one.model.content(),
                "before": mean(one.before),
                "after": mean(one.after),
            }
            for one in outcomes
        ],
        "before": before,
        "after": after,
        "mean": {"before": mean(before), "after": mean(after)},
    }
