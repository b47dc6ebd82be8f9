"""A system whose run has been made elsewhere: `run = "bm25.run"`."""

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
    """A SystemKind; the order of the file counts, as deep as it goes."""

    def __init__(self, spec: SystemSpec, collection: Collection):
        path = Path(spec.value)
        self._topics, self._hash = collection.topics, file_hash(path)
        self._run = collection.packed(read_run(path))

    @staticmethod
    def read(value: Any, refuse: Refuse) -> Path:
        """As SystemKind has it."""
        if not isinstance(value, str) or not value:
            raise refuse(f"'run' must be a path, not {value!r}", "run")
        return Path(value)

    def depends_on(self) -> Any:
        """As SystemKind has it."""
        return self._hash

    def answer(self, jobs: int, answers: Answers, progress: Progress) -> None:
        """As SystemKind has it."""
        for topic in self._topics.texts:
            if topic in self._run.rankings:
                answers.add(TopicRanking(topic, self._run.rankings[topic]))
