"""A text model tuned by cross-validation: `tune = { model = "bm25f" }`; test topics are never trained on."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from hybridkg.errors import ConfigError
from hybridkg.evaluation.experiment.answers import Answers, Told, TopicRanking
from hybridkg.evaluation.experiment.collection import Collection, content_of, file_hash
from hybridkg.evaluation.experiment.kinds import Refuse
from hybridkg.evaluation.experiment.spec import SystemSpec
from hybridkg.evaluation.tuning.folds import read_folds
from hybridkg.evaluation.tuning.plan import plan
from hybridkg.evaluation.tuning.training import Settings
from hybridkg.evaluation.tuning.tune import Tuning, check_settings
from hybridkg.interfaces.progress import Progress
from hybridkg.registry import did_you_mean

BY_CATEGORY = "by_category"
"""The setting for one model per category; the other settings are those of `Settings`."""

NUMBERS = {"restarts": (1, 1000), "seed": (0, 2**31), "depth": (1, 1_000_000)}


class TunedSystem:
    """A SystemKind over `hybridkg tune`."""

    def __init__(self, spec: SystemSpec, collection: Collection):
        if collection.folds is None:
            raise ConfigError(
                f"the system {spec.name!r} is tuned, so the experiment needs folds", hint='folds = "folds.json"'
            )
        own = dict(spec.value)
        self._collection, self._by_category = collection, own.pop(BY_CATEGORY, False)
        self._settings = Settings(**{"seed": collection.seed, "depth": collection.depth, **own})
        self._kb = collection.knowledge_base(collection.path_of(spec.kb, spec.name))
        self._name = spec.name
        check_settings(self._kb, collection.topics, collection.qrels, self._settings)
        plan(collection.judged, read_folds(collection.folds, collection.judged), self._categories())

    @staticmethod
    def read(value: Any, refuse: Refuse) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise refuse(f"'tune' must be a table such as {{ model = \"bm25f\" }}, not {value!r}", "tune")
        valid = [*(one.name for one in fields(Settings)), BY_CATEGORY]
        for key, own in value.items():
            if key not in valid:
                raise refuse(
                    f"no setting {key!r} of tune; known: {', '.join(valid)} {did_you_mean(key, valid)}".rstrip(), "tune"
                )
            if not _fits(key, own):
                raise refuse(f"the setting {key!r} of tune cannot be {own!r}", "tune")
        if "choose" in value:
            value = {**value, "choose": {name: tuple(words) for name, words in value["choose"].items()}}
        return {**value, "fields": tuple(value["fields"])} if "fields" in value else value

    def depends_on(self) -> Any:
        assert self._collection.folds is not None
        grades = {topic: dict(own) for topic, own in self._collection.qrels.grades.items()}
        folds = file_hash(self._collection.folds)
        return [content_of(self._kb), asdict(self._settings), folds, grades, self._categories()]

    def _categories(self) -> dict[str, str] | None:
        return dict(self._collection.categories) if self._by_category else None

    def answer(self, jobs: int, answers: Answers, progress: Progress) -> None:
        collection = self._collection
        assert collection.folds is not None
        tuning = Tuning(self._kb, collection.topics, collection.qrels, self._settings)
        report = tuning.run(
            read_folds(collection.folds, tuning.topics),
            self._categories(),
            jobs=jobs,
            keep=answers.aside,
            progress=progress,
        )
        model = {
            topic: outcome.learned.parameters.to_toml()
            for outcome in report.outcomes
            for topic in outcome.training.testing
        }
        for topic, ranking in tuning.ranked(report, self._name).rankings.items():
            answers.add(TopicRanking(topic, ranking, Told(plan=model[topic])))
        answers.learned = {outcome.training.name: outcome.to_json() for outcome in report.outcomes}


def _fits(key: str, value: Any) -> bool:
    if key in NUMBERS:
        low, high = NUMBERS[key]
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    if key == BY_CATEGORY:
        return isinstance(value, bool)
    if key == "fields":
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    if key == "fixed":
        return isinstance(value, dict) and all(
            isinstance(own, str | int | float) and not isinstance(own, bool) for own in value.values()
        )
    if key == "choose":
        return isinstance(value, dict) and all(
            isinstance(words, list) and all(isinstance(word, str) for word in words) for words in value.values()
        )
    return isinstance(value, str)
