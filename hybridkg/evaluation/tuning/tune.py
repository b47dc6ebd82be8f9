"""Tuning with cross-validation: all trainings of a plan in threads, and the measures on held-out topics."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hybridkg.config.model_parameters import ModelParameters
from hybridkg.errors import IndexMissingError
from hybridkg.evaluation.measures import mean
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.ranking import query_of, rank
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.topics import Topics
from hybridkg.evaluation.tuning.collection import node_of
from hybridkg.evaluation.tuning.folds import Fold
from hybridkg.evaluation.tuning.kept import Kept, content_key
from hybridkg.evaluation.tuning.plan import Training, plan
from hybridkg.evaluation.tuning.training import Learned, Settings, Trainer
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.snapshot import snapshot_of


@dataclass(frozen=True)
class TuningOutcome:
    """The outcome of a training.

    Args:
        default: measure of the default parameters on each test topic.
        testing: measure of the learned parameters on each test topic.
        kept: whether an earlier run finished it.
    """

    training: Training
    learned: Learned
    default: Mapping[str, float]
    testing: Mapping[str, float]
    kept: bool = False

    def to_json(self) -> dict[str, Any]:
        learned, training = self.learned, self.training
        return {
            "name": training.name,
            "category": training.category,
            "fold": training.fold,
            "training": {"topics": len(training.training), "default": learned.default, "tuned": learned.value},
            "test": {"topics": len(training.testing), "default": mean(self.default), "tuned": mean(self.testing)}
            if training.testing
            else None,
            "evaluations": learned.evaluations,
            "seconds": round(learned.seconds, 3),
            "cpu_seconds": round(learned.cpu, 3),
            "arguments": dict(learned.parameters.arguments),
            "fields": {name: dict(own) for name, own in learned.parameters.fields.items()},
        }


@dataclass(frozen=True)
class TuneReport:
    """All outcomes, in the order of the plan.

    Args:
        defaults: the parameters before training.
        unjudged: number of topics without a judgement, which are ignored.
        unasked: number of judged topics without a text.
    """

    settings: Settings
    defaults: ModelParameters
    outcomes: tuple[TuningOutcome, ...]
    unjudged: int
    unasked: int

    def tested(self) -> tuple[dict[str, float], dict[str, float]]:
        """(defaults, learned): the measure of each test topic."""
        default = {topic: value for outcome in self.outcomes for topic, value in outcome.default.items()}
        return default, {topic: value for outcome in self.outcomes for topic, value in outcome.testing.items()}

    def to_json(self) -> dict[str, Any]:
        default, tested = self.tested()
        settings = self.settings
        return {
            "model": settings.model,
            "fixed": dict(settings.fixed),
            "choose": {name: list(words) for name, words in settings.choose.items()},
            "measure": settings.measure,
            "restarts": settings.restarts,
            "seed": settings.seed,
            "trainings": [outcome.to_json() for outcome in self.outcomes],
            "test": {"topics": len(tested), "default": mean(default), "tuned": mean(tested)} if tested else None,
        }


class Tuning:
    """Tuning of a model on a collection.

    Raises:
        IndexMissingError, ParameterError, UnknownNameError, TextQueryError: the arguments contradict each other.
    """

    def __init__(self, kb: KnowledgeBase, topics: Topics, qrels: Qrels, settings: Settings):
        if snapshot_of(kb).text is None:
            raise IndexMissingError("the knowledge base has no text index", hint="build it: hybridkg index KB")
        self._kb, self._all, self._qrels, self._settings = kb, topics, qrels, settings
        self._trainers = [Trainer(snapshot_of(kb), topics, qrels, own) for own in settings.variants()]

    @property
    def topics(self) -> tuple[str, ...]:
        """The judged topics, in the order of their file."""
        return self._trainers[0].topics

    def run(
        self,
        folds: Sequence[Fold] | None = None,
        categories: Mapping[str, str] | None = None,
        *,
        jobs: int = 1,
        keep: Path | None = None,
        progress: Progress = SILENT,
    ) -> TuneReport:
        """Runs all trainings.

        Args:
            folds: None trains one model on all topics.
            categories: by topic; each category then has its own models.
            jobs: parallel trainings; the results do not depend on it.
            keep: folder that stores finished trainings, which are reused.
            progress: counts climbs; its items are evaluated points.

        Raises:
            ParameterError: a model has no training topic.
            KeyboardInterrupt: after the running trainings have stopped; finished ones are stored.
        """
        trainings = plan(self.topics, folds, categories)
        stored = Kept(keep) if keep is not None else None
        learned = _Work(self._trainers, progress, stored).all(
            [(training, self._key(training)) for training in trainings], jobs
        )
        outcomes = tuple(self._outcome(t, *result) for t, result in zip(trainings, learned, strict=True))
        return TuneReport(
            self._settings,
            self._trainers[0].default,
            outcomes,
            sum(topic not in self._qrels.grades for topic in self._all.texts),
            sum(topic not in self._all.texts for topic in self._qrels.grades),
        )

    def ranked(self, report: TuneReport, name: str) -> Run:
        """The run of the test topics, each by the model of its fold; without folds, of the training topics."""
        queries = {
            topic: query_of(outcome.learned.parameters)
            for outcome in report.outcomes
            for topic in outcome.training.testing or outcome.training.training
        }
        return rank(self._kb, self._all, queries, k=self._settings.depth, name=name)

    def _key(self, training: Training) -> str:
        linked = [node for trainer in self._trainers for node in trainer.linked(training.training)]
        return content_key(snapshot_of(self._kb), self._all, self._qrels, self._settings, training.training, linked)

    def _outcome(self, training: Training, learned: Learned, kept: bool) -> TuningOutcome:
        first, own = self._trainers[0], learned.parameters.arguments.items()
        default = first.measure(first.default, training.testing)
        # A chosen word may change the links of a topic, which are part of its task.
        trainer = next(trainer for trainer in self._trainers if trainer.settings.fixed.items() <= own)
        return TuningOutcome(training, learned, default, trainer.measure(learned.parameters, training.testing), kept)


def check_settings(kb: KnowledgeBase, topics: Topics, qrels: Qrels, settings: Settings) -> None:
    """Checks the arguments of `Tuning` on one topic, before the statistics of all are read; raises the same errors."""
    judged = [topic for topic in topics.texts if topic in qrels.grades]
    nodes = snapshot_of(kb).nodes

    def has_entity(topic: str) -> bool:
        return nodes is not None and bool((nodes.find_many(list(map(node_of, qrels.grades[topic]))) >= 0).any())

    one = next((topic for topic in judged if has_entity(topic)), None)
    # If no topic has an entity of the knowledge base, Tuning of all topics raises the error.
    Tuning(kb, topics if one is None else Topics({one: topics.texts[one]}), qrels, settings)


class _Stopped(Exception):  # noqa: N818 - a signal to stop, not an error
    pass


class _Work:
    """The trainings in threads; the kernels release the interpreter's lock."""

    def __init__(self, trainers: Sequence[Trainer], progress: Progress, stored: Kept | None):
        self._trainers, self._progress, self._stored = trainers, progress, stored
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._evaluations = 0

    def all(self, trainings: Sequence[tuple[Training, str]], jobs: int) -> list[tuple[Learned, bool]]:
        """(result, whether it was stored) of each training."""
        results: dict[str, tuple[Learned, bool]] = {}
        for _, key in trainings:
            if self._stored is not None and (before := self._stored.get(key)) is not None:
                results[key] = before, True
        missing = {key: training for training, key in trainings if key not in results}
        if missing:
            models = f"{len(missing)} model{'' if len(missing) == 1 else 's'}"
            self._progress.start(f"learning {models}", len(missing) * sum(trainer.climbs for trainer in self._trainers))
            with ThreadPoolExecutor(max_workers=jobs) as pool:
                futures = {pool.submit(self._one, training): key for key, training in missing.items()}
                try:
                    self._collect(futures, results)
                except BaseException:
                    self._stop.set()
                    pool.shutdown(cancel_futures=True)
                    for future, key in futures.items():  # trainings that finished before the failure
                        if key not in results and not future.cancelled() and future.exception() is None:
                            self._store(key, future.result(), results)
                    raise
                finally:
                    self._progress.done(self._evaluations)
        return [results[key] for _, key in trainings]

    def _collect(self, futures: dict[Future[Learned], str], results: dict[str, tuple[Learned, bool]]) -> None:
        waiting = set(futures)
        while waiting:
            # The timeout lets Ctrl-C through on every system.
            done, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in done:
                self._store(futures[future], future.result(), results)

    def _store(self, key: str, learned: Learned, results: dict[str, tuple[Learned, bool]]) -> None:
        results[key] = learned, False
        if self._stored is not None:
            self._stored.put(key, learned)

    def _one(self, training: Training) -> Learned:
        results = [trainer.train(training.training, progress=self._advance) for trainer in self._trainers]
        best = max(results, key=lambda learned: learned.value)
        return replace(
            best,
            default=results[0].default,
            evaluations=sum(learned.evaluations for learned in results),
            seconds=sum(learned.seconds for learned in results),
            cpu=sum(learned.cpu for learned in results),
            climbs=tuple(climb for learned in results for climb in learned.climbs),
        )

    def _advance(self, climbs: int, evaluations: int) -> None:
        if self._stop.is_set():
            raise _Stopped
        with self._lock:
            self._evaluations += evaluations
            self._progress.advance(climbs, evaluations)
