"""Kinds of systems that rank the topics of an experiment; a new kind is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hybridkg.errors import ConfigError
from hybridkg.evaluation.experiment.answers import Answers
from hybridkg.evaluation.experiment.collection import Collection
from hybridkg.evaluation.experiment.spec import SystemSpec
from hybridkg.interfaces.progress import Progress
from hybridkg.registry import Registry

Refuse = Callable[[str, str], ConfigError]
"""(message, key) -> an error at the line of the key."""


class SystemKind(Protocol):
    """The protocol of a kind; one instance for each system."""

    def __init__(self, spec: SystemSpec, collection: Collection):
        """Checks that the system fits the collection; HybridkgError if not."""

    @staticmethod
    def read(value: Any, refuse: Refuse) -> Any:
        """SystemSpec.value from the TOML value of the kind's key; raises `refuse(...)` if it is invalid."""

    def depends_on(self) -> Any:
        """JSON values of everything that the answers depend on, apart from topics, depth and version."""

    def answer(self, jobs: int, answers: Answers, progress: Progress) -> None:
        """Adds an answer for each topic that has none; after KeyboardInterrupt, the finished ones are added."""


SYSTEM_KINDS = Registry(
    "kind of system",
    "hybridkg.system_kinds",
    {
        "ask": "hybridkg.evaluation.experiment.kinds.ask:AskSystem",
        "learn": "hybridkg.evaluation.experiment.kinds.learn:LearnedSystem",
        "missing": "hybridkg.evaluation.experiment.kinds.missing:MissingSystem",
        "query": "hybridkg.evaluation.experiment.kinds.query:QuerySystem",
        "run": "hybridkg.evaluation.experiment.kinds.run:RunSystem",
        "tune": "hybridkg.evaluation.experiment.kinds.tune:TunedSystem",
        "within": "hybridkg.evaluation.experiment.kinds.within:WithinSystem",
    },
)
"""SystemKind classes by name."""
