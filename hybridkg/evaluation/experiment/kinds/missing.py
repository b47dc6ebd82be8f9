"""A published system that is not implemented here: `missing = "the reason"`. It is never run; its figures are shown."""

from __future__ import annotations

from typing import Any

from hybridkg.errors import ConfigError
from hybridkg.evaluation.experiment.answers import Answers
from hybridkg.evaluation.experiment.collection import Collection
from hybridkg.evaluation.experiment.kinds import Refuse
from hybridkg.evaluation.experiment.spec import SystemSpec
from hybridkg.interfaces.progress import Progress


class MissingSystem:
    """A SystemKind that cannot be made. Raises ConfigError with the reason."""

    def __init__(self, spec: SystemSpec, collection: Collection):
        del collection
        raise ConfigError(str(spec.value))

    @staticmethod
    def read(value: Any, refuse: Refuse) -> str:
        if not isinstance(value, str) or not value.strip():
            raise refuse(f"'missing' must be the reason in words, not {value!r}", "missing")
        return value

    def depends_on(self) -> Any:
        raise NotImplementedError

    def answer(self, jobs: int, answers: Answers, progress: Progress) -> None:
        raise NotImplementedError
