"""A learned combination of other systems' scores: `learn = { features = ["bm25", "lm"] }`.

The candidates are the documents of the first feature. Each feature is the score in another system's run, scaled to 0..1
in each topic (0 for a candidate that the run lacks). A RankSVM learns the weights in the training topics of each fold,
from pairs of candidates with different grades; they rank the fold's test topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ConfigError
from hybridkg.evaluation.experiment.answers import Answers, TopicRanking
from hybridkg.evaluation.experiment.collection import Collection, file_hash, run_hash
from hybridkg.evaluation.experiment.kinds import Refuse
from hybridkg.evaluation.experiment.spec import SystemSpec
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.tuning.folds import read_folds
from hybridkg.evaluation.tuning.rank_svm import COST, pairs_of, rank_svm
from hybridkg.interfaces.progress import Progress
from hybridkg.registry import did_you_mean

Floats = NDArray[np.float64]

DEPTH = 100
"""Number of candidates of a training topic that form pairs."""


class LearnedSystem:
    """A SystemKind over the runs of earlier systems of the experiment."""

    def __init__(self, spec: SystemSpec, collection: Collection):
        if collection.folds is None:
            raise ConfigError(
                f"the system {spec.name!r} is learned, so the experiment needs folds", hint='folds = "folds.json"'
            )
        self._collection, self._name = collection, spec.name
        self._features: Sequence[str] = spec.value["features"]
        self._depth: int = spec.value.get("depth", DEPTH)
        self._cost: float = spec.value.get("cost", COST)
        before = collection.systems[: collection.systems.index(spec.name)]
        if unknown := next((name for name in self._features if name not in before), ""):
            raise ConfigError(
                f"the system {spec.name!r} learns from {unknown!r}, which is not a system before it; "
                f"those: {', '.join(before) or 'none'}",
                hint=did_you_mean(unknown, list(before)),
            )
        read_folds(collection.folds, collection.judged)

    @staticmethod
    def read(value: Any, refuse: Refuse) -> dict[str, Any]:
        known = ("features", "depth", "cost")
        if not isinstance(value, dict) or "features" not in value:
            raise refuse('\'learn\' must be a table such as { features = ["bm25", "lm"] }', "learn")
        if unknown := next((key for key in value if key not in known), ""):
            raise refuse(f"no setting {unknown!r} of learn; known: {', '.join(known)}", "learn")
        features = value["features"]
        if not isinstance(features, list) or not all(isinstance(name, str) for name in features) or not features:
            raise refuse("'features' of learn must be a list of systems", "learn")
        depth, cost = value.get("depth", DEPTH), value.get("cost", COST)
        if isinstance(depth, bool) or not isinstance(depth, int) or not 2 <= depth <= 10_000:
            raise refuse(f"'depth' of learn must be a whole number from 2 to 10,000, not {depth!r}", "learn")
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 < cost <= 1e9:
            raise refuse(f"'cost' of learn must be a number above 0, not {cost!r}", "learn")
        return {"features": tuple(dict.fromkeys(features)), "depth": depth, "cost": float(cost)}

    def depends_on(self) -> Any:
        collection = self._collection
        assert collection.folds is not None
        grades = {topic: dict(own) for topic, own in collection.qrels.grades.items()}
        runs = [run_hash(collection.runs[name]) for name in self._features]
        return [list(self._features), runs, self._depth, self._cost, file_hash(collection.folds), grades]

    def answer(self, jobs: int, answers: Answers, progress: Progress) -> None:
        collection = self._collection
        assert collection.folds is not None
        runs = [collection.runs[name] for name in self._features]
        topics = collection.judged
        features = {topic: features_of(runs, topic) for topic in topics}
        pairs = {topic: self._pairs(features[topic], topic) for topic in topics}
        folds = read_folds(collection.folds, topics)
        progress.start("folds", len(folds))
        learned = {}
        for fold in folds:
            weights = rank_svm([pairs[topic] for topic in fold.training], self._cost)
            learned[fold.name] = dict(zip(self._features, np.round(weights, 6).tolist(), strict=True))
            for topic in fold.testing:
                answers.add(TopicRanking(topic, ranked(runs[0], topic, features[topic] @ weights)))
            progress.advance(1, len(fold.testing))
        progress.done(len(topics))
        answers.learned = learned

    def _pairs(self, features: Floats, topic: str) -> Floats:
        """Feature differences of better and worse candidates, float64[pairs, features]."""
        grades = self._collection.qrels.grades[topic]
        run = self._collection.runs[self._features[0]]
        own = np.array([max(0, grades.get(document, 0)) for document in run.documents(topic)[: self._depth]])
        return pairs_of(features[: len(own)], own)


def features_of(runs: Sequence[Run], topic: str) -> Floats:
    """Scaled scores of the first run's documents in all runs: float64[documents, runs], each column from 0 to 1.

    >>> first, second = Run("a", {"q": (("d1", 4.0), ("d2", 2.0))}), Run("b", {"q": (("d2", 7.0), ("d3", 5.0))})
    >>> features_of([first, second], "q").tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    documents = runs[0].documents(topic)
    columns = []
    for run in runs:
        scores: Mapping[str, float] = dict(run.rankings.get(topic, ()))
        low, high = (min(scores.values()), max(scores.values())) if scores else (0.0, 0.0)
        span = high - low or 1.0
        columns.append([(scores.get(document, low) - low) / span for document in documents])
    return np.array(columns, np.float64).reshape(len(runs), len(documents)).T


def ranked(run: Run, topic: str, scores: Floats) -> tuple[tuple[str, float], ...]:
    """The documents of a run, reordered by new scores; equal scores keep its order."""
    documents = run.documents(topic)
    order = np.argsort(-scores, kind="stable")
    return tuple((documents[at], float(scores[at])) for at in order.tolist())
