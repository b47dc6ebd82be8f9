"""A system with an existing run file: `run = "bm25.run"`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybridkg.evaluation.experiment.answers import Answers, TopicRanking
from hybridkg.evaluation.experiment.collection import Collection, file_hash
from hybridkg.evaluation.experiment.kinds import Refuse
from hybridkg.evaluation.experiment.spec import SystemSpec
from hybridkg.evaluation.run import read_run
from hybridkg.interfaces.progress import Progress


class RunSystem:
    """A SystemKind that takes the order and depth of the file."""

    def __init__(self, spec: SystemSpec, collection: Collection):
        path = Path(spec.value)
        self._topics, self._hash = collection.topics, file_hash(path)
        self._run = collection.packed(read_run(path))

    @staticmethod
    def read(value: Any, refuse: Refuse) -> Path:
        if not isinstance(value, str) or not value:
            raise refuse(f"'run' must be a path, not {value!r}", "run")
        return Path(value)

    def depends_on(self) -> Any:
        return self._hash

    def answer(self, jobs: int, answers: Answers, progress: Progress) -> None:
        for topic in self._topics.texts:
            if topic in self._run.rankings:
                answers.add(TopicRanking(topic, self._run.rankings[topic]))
