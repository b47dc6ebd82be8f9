"""Answers of a system, topic by topic, kept in a file while it works, so that an interrupted run goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from hybridkg.errors import StorageError
from hybridkg.evaluation.run import Run


@dataclass(frozen=True)
class Told:
    """What is known of an answer beside the ranking.

    Args:
        ms: milliseconds that it took; None where nobody measured.
        strategy: how the query was run; empty where no query was.
        plan: the operators that ran it, such as `Slice(FilteredTopK(Rank))`; empty where no query was.
        exact: whether the ranking is surely the right one.
    """

    ms: float | None = None
    strategy: str = ""
    plan: str = ""
    exact: bool = True


@dataclass(frozen=True)
class Answer:
    """The ranking of one topic, best first, and what is known of it."""

    topic: str
    ranking: tuple[tuple[str, float], ...]
    told: Told = field(default_factory=Told)


class Answers:
    """Answers by topic; as a context, it keeps them in a file.

    Args:
        path: of the file; None to keep nothing.
        key: of what the answers depend on; those of another key in the file are forgotten.

    Attributes:
        learned: by fold, what a system that learns has learned there; JSON values.
        found: the answers by topic.

    Raises:
        StorageError: the file cannot be read or written.
    """

    def __init__(self, path: Path | None, key: str):
        self._path, self._key = path, key
        self._file: TextIO | None = None
        self.learned: dict[str, Any] = {}
        self.found: dict[str, Answer] = {}
        if path is not None and path.exists():
            try:
                self.found = {answer.topic: answer for answer in _read(path, key)}
            except OSError as e:
                raise StorageError(f"cannot read {str(path)!r}: {e.strerror}") from e

    def __enter__(self) -> Self:
        if self._path is not None:
            try:
                # Written anew: the last line of an interrupted run may be half of one.
                self._file = self._path.open("w", encoding="utf-8")
                self._write({"key": self._key})
                for answer in self.found.values():
                    self._write(_line(answer))
            except OSError as e:
                raise StorageError(f"cannot write {str(self._path)!r}: {e.strerror}") from e
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def add(self, answer: Answer) -> None:
        """Keeps an answer."""
        self.found[answer.topic] = answer
        if self._file is not None:
            self._write(_line(answer))
            self._file.flush()

    def _write(self, line: Mapping[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def run(self, name: str, topics: Mapping[str, str]) -> Run:
        """The run of the answers, in the order of the topics."""
        return Run(name, {topic: self.found[topic].ranking for topic in topics if topic in self.found})

    def told(self) -> dict[str, Told]:
        """What is known of the answers, by topic."""
        return {topic: answer.told for topic, answer in self.found.items()}


def _line(answer: Answer) -> dict[str, Any]:
    return {"topic": answer.topic, "ranking": answer.ranking, **asdict(answer.told)}


def _read(path: Path, key: str) -> Iterator[Answer]:
    with path.open(encoding="utf-8") as file:
        try:
            if json.loads(next(file, "{}")).get("key") != key:
                return
            for line in file:
                values = json.loads(line)
                topic, ranking = values.pop("topic"), values.pop("ranking")
                yield Answer(topic, tuple((document, float(score)) for document, score in ranking), Told(**values))
        except (ValueError, TypeError, KeyError, AttributeError):
            return  # the rest was not written whole
