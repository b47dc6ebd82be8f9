"""Kinds of systems: what ranks the topics of an experiment. A new one is one file and one line here."""

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
"""(message, key) -> the error that points at the key."""


class SystemKind(Protocol):
    """A class of this form; made once for each system."""

    def __init__(self, spec: SystemSpec, collection: Collection):
        """Checks that the system fits the collection.

        Raises:
            HybridkgError: it does not.
        """

    @staticmethod
    def read(value: Any, refuse: Refuse) -> Any:
        """What stands behind the kind's name in TOML, checked; it becomes SystemSpec.value.

        Raises:
            ConfigError: it is none.
        """

    def depends_on(self) -> Any:
        """JSON values: all that the answers depend on, beside topics, depth and version."""

    def answer(self, jobs: int, answers: Answers, progress: Progress) -> None:
        """Adds an answer for each topic that has none yet.

        Raises:
            KeyboardInterrupt: what is finished has been added.
        """


SYSTEM_KINDS = Registry(
    "kind of system",
    "hybridkg.system_kinds",
    {
        "learn": "hybridkg.evaluation.experiment.kinds.learn:LearnedSystem",
        "query": "hybridkg.evaluation.experiment.kinds.query:QuerySystem",
        "run": "hybridkg.evaluation.experiment.kinds.run:RunSystem",
        "tune": "hybridkg.evaluation.experiment.kinds.tune:TunedSystem",
    },
)
"""Each is a SystemKind."""
