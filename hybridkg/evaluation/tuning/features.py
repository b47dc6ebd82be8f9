"""Training of the reranker `features` from judged topics, with cross-validation.

The reranker reorders the first `top` rows of a user's query. A learner (learners/) makes a model from the row features.
Its hyperparameter is chosen by threefold cross-validation within the training topics.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hybridkg.errors import ParameterError
from hybridkg.evaluation.measures import evaluate, mean, parse_measure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.topics import Topics
from hybridkg.evaluation.tuning.folds import Fold
from hybridkg.evaluation.tuning.judged_rows import JudgedRows, read_rows, rows_query
from hybridkg.evaluation.tuning.learners import DEFAULT, LEARNERS, Learner
from hybridkg.evaluation.tuning.plan import Training, plan
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb import KnowledgeBase
from hybridkg.ranking.rerankers.feature_model import FeatureModel

PARTS = 3
"""Parts of the training topics in the cross-validation of the hyperparameter."""


@dataclass(frozen=True)
class FeatureOutcome:
    """The outcome of a training.

    Args:
        choice: the chosen hyperparameter: cost of the linear learner, number of trees of the boosted one.
        before: measure of the query's order on each test topic; without test topics, on the training topics.
        after: measure of the model's order on the same topics.
    """

    training: Training
    model: FeatureModel
    choice: float
    before: Mapping[str, float]
    after: Mapping[str, float]


class FeatureTuning:
    """The shared state of trainings on the same rows.

    Args:
        kb: an indexed knowledge base.
        topics: texts; topics without a judgement are ignored.
        qrels: judgements.
        query: with `$text` and RANK BY; the first column with an entity is judged.
        top: number of reordered rows.
        measure: selects the hyperparameter.
        depth: maximum rows of a ranking.
        learner: a name of LEARNERS.
        with_question: whether the query text is read as a question, for QUESTION_FEATURES.
        progress: counts topics.

    Raises:
        ParameterError: no topic is judged, or the rows have no relevant entity.
        UnknownNameError: no such learner.
        HybridkgError: the query is invalid, or has a RERANK already.
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
        with_question: bool = False,
        progress: Progress = SILENT,
    ):
        LEARNERS.get(learner)
        prepared = rows_query(kb, query)
        judged = [topic for topic in topics.texts if topic in qrels.grades]
        progress.start("reading the rows of topics", len(judged))
        read: dict[str, JudgedRows] = {}
        names: tuple[str, ...] | None = None
        for topic in judged:
            names, rows = read_rows(
                kb, prepared, topics.texts[topic], qrels.grades[topic], top, depth, names, with_question=with_question
            )
            read[topic] = rows
            progress.advance(1, 1)
        progress.done(len(judged))
        self._take(names or (), read, qrels, measure, learner)

    @classmethod
    def of_rows(
        cls,
        names: Sequence[str],
        rows: Mapping[str, JudgedRows],
        qrels: Qrels,
        *,
        measure: str = "ndcg@10",
        learner: str = DEFAULT,
    ) -> FeatureTuning:
        """Rows of topics that were read elsewhere, such as those of a query of their own for each.

        Raises:
            ParameterError: the rows have no relevant entity.
            UnknownNameError: no such learner.
        """
        tuning = cls.__new__(cls)
        tuning._take(names, rows, qrels, measure, learner)
        return tuning

    def _take(
        self, names: Sequence[str], rows: Mapping[str, JudgedRows], qrels: Qrels, measure: str, learner: str
    ) -> None:
        self.learner: Learner = LEARNERS.get(learner)()
        self._qrels, self._measure = qrels, parse_measure(measure)
        self.names, self.rows, self.topics = tuple(names), dict(rows), tuple(rows)
        if not any(rows.grades.any() for rows in self.rows.values()):
            raise ParameterError(
                "nothing that is judged relevant is among the rows of the query",
                hint="documents are IRIs of its first column; are topics and judgements those of this knowledge base?",
            )
        self.before = self._values({topic: rows.documents for topic, rows in self.rows.items()})

    def only(self, names: Sequence[str]) -> FeatureTuning:
        """The same rows with a subset of the features, for ablation."""
        places = [self.names.index(name) for name in names]
        tuning = copy.copy(self)
        tuning.names = tuple(names)
        tuning.rows = {topic: replace(rows, features=rows.features[:, places]) for topic, rows in self.rows.items()}
        return tuning

    def by(self, learner: str) -> FeatureTuning:
        """The same rows with another learner; UnknownNameError if there is none."""
        tuning = copy.copy(self)
        tuning.learner = LEARNERS.get(learner)()
        return tuning

    def run(
        self,
        folds: Sequence[Fold] | None = None,
        categories: Mapping[str, str] | None = None,
        progress: Progress = SILENT,
    ) -> tuple[FeatureOutcome, ...]:
        """One training, or one for each category and fold.

        Raises:
            ParameterError: a topic has no category, or a fold has no training topic.
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
        """The run of the test topics, each by the model of its fold; without folds, of the training topics."""
        rankings: dict[str, tuple[tuple[str, float], ...]] = {}
        for outcome in outcomes:
            rankings |= self._ranked(outcome.model, outcome.training.testing or outcome.training.training)
        return Run(name, {topic: rankings[topic] for topic in self.topics if topic in rankings})

    def _outcome(self, training: Training) -> FeatureOutcome:
        topics = training.training
        values = [(self._within(topics, choice), choice) for choice in self.learner.choices]
        choice = max(values, key=lambda one: one[0])[1]
        model = self._learned(topics, choice)
        tested = training.testing or topics
        after = self._values(self._ranked(model, tested))
        return FeatureOutcome(training, model, choice, {topic: self.before[topic] for topic in tested}, after)

    def _within(self, topics: Sequence[str], choice: float) -> float:
        """The cross-validated mean over the topics, rounded so that equal choices tie."""
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
    """The outcomes as JSON values; `choice` is the key of the hyperparameter."""
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
