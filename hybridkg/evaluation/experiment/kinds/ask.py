"""Questions in plain words: `ask = "soft"`, or `ask = { mode = "strict", gold = "gold.jsonl", learn = true }`.

Each topic is a question, and its ranking is that of the query that `hybridkg ask` makes of it; with `strict`, a
question without a strict query has no answer. With `gold`, the readings are graded (hybridkg.evaluation.gold_queries).
With `learn`, weights are learned from the questions of its split train that are no topics of the experiment.
"""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event
from typing import Any

from hybridkg.asking.interpretation import Interpretation
from hybridkg.asking.learning import learn
from hybridkg.asking.weights import QuestionWeights
from hybridkg.errors import ConfigError, HybridkgError
from hybridkg.evaluation.experiment.answers import Answers, Told, TopicRanking
from hybridkg.evaluation.experiment.asked import shape
from hybridkg.evaluation.experiment.collection import Collection, content_of, file_hash
from hybridkg.evaluation.experiment.kinds import Refuse
from hybridkg.evaluation.experiment.spec import SystemSpec
from hybridkg.evaluation.gold_queries import GoldQuestion, ReadingGrader, read_gold
from hybridkg.interfaces.progress import Progress
from hybridkg.kb.asking import MAX_LIMIT, PARSERS, answered, interpreted, question_time
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.registry import did_you_mean
from hybridkg.results.formats.trec import ranking

MODES = ("soft", "strict")
SETTINGS = ("mode", "gold", "learn", "weights", "parser", "model")
TRAIN = "train"


class AskSystem:
    """A SystemKind over `kb.interpret`; it answers in this process, whatever the number of jobs."""

    def __init__(self, spec: SystemSpec, collection: Collection):
        if spec.params or spec.strategy:
            raise ConfigError(f"the system {spec.name!r} asks in plain words, so it has no params and no strategy")
        value = dict(spec.value)
        self._name, self._value, self._topics = spec.name, value, collection.topics.texts
        self._limit = min(collection.depth, MAX_LIMIT)
        self._kb = collection.knowledge_base(collection.path_of(spec.kb, spec.name))
        base = snapshot_of(self._kb).asked
        gold = read_gold(Path(value["gold"])) if "gold" in value else {}
        self._gold = {topic: gold[topic] for topic in self._topics if topic in gold}
        self._examples: list[GoldQuestion] = []
        if gold and not self._gold:
            raise ConfigError(f"{value['gold']!r} has no topic's id", hint="topics and gold of one folder")
        if value.get("learn"):
            self._examples = [
                one for one in gold.values()
                if one.split == TRAIN and one.id not in self._topics and one.text not in self._topics.values()
            ]  # fmt: skip
            if not self._examples:
                raise ConfigError(
                    f"{value['gold']!r} has no question of the split {TRAIN!r} that is no topic",
                    hint="topics-test.tsv has the topics of the split test alone",
                )
        self._grader = ReadingGrader(self._kb, base)
        self._weights = QuestionWeights.read(Path(value["weights"])) if "weights" in value else None

    @staticmethod
    def read(given: Any, refuse: Refuse) -> dict[str, Any]:
        value = {"mode": given} if isinstance(given, str) else given
        if not isinstance(value, dict):
            raise refuse('\'ask\' must be "soft", "strict", or a table such as { mode = "soft" }', "ask")
        for key, own in value.items():
            if key not in SETTINGS:
                hint = did_you_mean(key, list(SETTINGS))
                raise refuse(f"no setting {key!r} of ask; known: {', '.join(SETTINGS)} {hint}".rstrip(), "ask")
            if not isinstance(own, bool if key == "learn" else str) or own == "":
                raise refuse(f"the setting {key!r} of ask cannot be {own!r}", "ask")
        value = {"mode": "soft", **value}
        for key, known in (("mode", MODES), ("parser", PARSERS)):
            if value.get(key, known[0]) not in known:
                raise refuse(f"the {key} of ask is one of {', '.join(known)}, not {value[key]!r}", "ask")
        if value.get("learn") and "gold" not in value:
            raise refuse('ask learns from the questions of a file: gold = "gold.jsonl"', "ask")
        if sum((bool(value.get("learn")), "weights" in value, value.get("parser") == "llm")) > 1:
            raise refuse('ask has one of learn, weights, and parser = "llm"', "ask")
        if (value.get("parser") == "llm") != ("model" in value):
            raise refuse('ask needs a model for parser = "llm", and for no other parser', "ask")
        return value

    def depends_on(self) -> Any:
        files = {key: file_hash(Path(self._value[key])) for key in ("gold", "weights") if key in self._value}
        settings = {key: value for key, value in self._value.items() if key not in files}
        return [content_of(self._kb), settings, files]

    def answer(self, jobs: int, answers: Answers, progress: Progress) -> None:
        del jobs
        weights = self._weights
        if self._examples:
            progress.start(f"learning from {len(self._examples):,} questions", None)
            weights = learn(map(self._grader.example, self._examples), snapshot_of(self._kb).asked)
            progress.done(len(self._examples))
        todo = {topic: text for topic, text in self._topics.items() if topic not in answers.found}
        progress.start(f"{len(self._topics)} topics", len(self._topics))
        progress.advance(len(self._topics) - len(todo), 0)
        for number, (topic, text) in enumerate(todo.items()):
            if not number:  # reads schema, tables and kernels, which is not part of a topic's time
                self._answered(topic, text, weights)
            answers.add(self._answered(topic, text, weights))
            progress.advance(1, 1)
        progress.done(len(self._topics))

    def _answered(self, topic: str, text: str, weights: QuestionWeights | None) -> TopicRanking:
        """The ranking of a topic; HybridkgError, with the names of system and topic, if it fails."""
        started = time.perf_counter()
        try:
            reading = self._reading(text, weights)
            query = reading.query if self._value["mode"] == "soft" else reading.strict
            if query is None:
                return TopicRanking(topic, (), Told(_ms(started), parts=self._parts(topic, reading)))
            # An event, even if never set, makes Ctrl-C stop a query at any point.
            result = answered(self._kb, query, question_time(self._kb, cancel=Event()))
            ranked = tuple(ranking(result))
            ms = _ms(started)
            plan = shape(self._kb.explain(query).to_json()["operator"])
        except HybridkgError as e:
            e.message += f" (system {self._name}, topic {topic})"
            raise
        return TopicRanking(
            topic, ranked, Told(ms, result.strategy, plan, result.exact, parts=self._parts(topic, reading))
        )

    def _reading(self, text: str, weights: QuestionWeights | None) -> Interpretation:
        parser, model = self._value.get("parser", PARSERS[0]), self._value.get("model", "")
        return interpreted(self._kb, text, limit=self._limit, weights=weights, parser=parser, model=model)

    def _parts(self, topic: str, reading: Interpretation) -> dict[str, float]:
        return self._grader.parts(self._gold[topic], reading) if topic in self._gold else {}


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1e3, 3)
