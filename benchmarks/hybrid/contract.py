"""What an engine has to do to take part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from benchmarks.hybrid.fresh import FreshText
from benchmarks.hybrid.workload import Question
from benchmarks.hybrid.writing import Data

Found = tuple[int, float, str]
"""A paper, its score, its DOI; "" where it has none, or the question does not ask for it."""

Ask = Callable[[], list[Found]]


class Engine(Protocol):
    """One that is open. Each spelling is a way to put the same question to it; the quickest counts."""

    spellings: tuple[str, ...]

    def asker(self, question: Question, spelling: str, fresh: FreshText | None = None) -> Ask:
        """A question, ready to be asked: what is the same for all questions of its shape has been done.

        With `fresh` nothing has been prepared: the text is this one, and no other text is equal.
        """

    def scores(self, words: str) -> dict[int, float]:
        """By paper, the engine's own score of every paper that matches a text."""

    def processes(self) -> list[int]:
        """Ids of the processes that work on a question; the engine runs on one core while it is timed."""

    def close(self) -> None:
        """Ends what was started."""


class Module(Protocol):
    """A module with an engine."""

    def load(self, data: Data) -> dict[str, Any]:
        """Loads the data into files of its own in `data.engines`; seconds by stage."""

    def open(self, data: Data) -> Engine:
        """Opens what `load` made."""
