"""Answers of a system by topic, appended to a file as they arrive, so that an interrupted run can resume."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from hybridkg.evaluation.run import Run
from hybridkg.storage.durable import storage_error


@dataclass(frozen=True)
class Told:
    """Details of an answer, apart from its ranking.

    Args:
        ms: milliseconds; None if not measured.
        strategy: empty without a query.
        plan: the operators, such as `Slice(FilteredTopK(Rank))`; the parameters of a learned model; or empty.
        exact: whether the ranking is exact.
        jobs: topics that ran in parallel and shared the machine.
        parts: grades 0..1 of the reading of a question; empty for systems that read none, or without gold queries.
    """

    ms: float | None = None
    strategy: str = ""
    plan: str = ""
    exact: bool = True
    jobs: int = 1
    parts: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = {"ms": int | float | None, "strategy": str, "plan": str, "exact": bool, "jobs": int, "parts": dict}
        if bad := next((name for name, kind in kinds.items() if not isinstance(getattr(self, name), kind)), ""):
            raise TypeError(f"{bad} cannot be {getattr(self, bad)!r}")


@dataclass(frozen=True)
class Took:
    """Wall-clock and CPU seconds of a system, summed over processes, with training and opening."""

    seconds: float
    cpu_seconds: float

    def __add__(self, other: Took) -> Took:
        return Took(round(self.seconds + other.seconds, 3), round(self.cpu_seconds + other.cpu_seconds, 3))

    @classmethod
    def now(cls) -> Took:
        """The current reading of both clocks, to be subtracted from a later one."""
        return cls(time.perf_counter(), sum(os.times()[:4]))

    def __sub__(self, other: Took) -> Took:
        return self + Took(-other.seconds, -other.cpu_seconds)


@dataclass(frozen=True)
class TopicRanking:
    """The ranking of one topic, best first, with its details."""

    topic: str
    ranking: tuple[tuple[str, float], ...]
    told: Told = field(default_factory=Told)


class Answers:
    """Answers by topic; the context manager appends them to a file.

    Args:
        path: file; None stores nothing.
        key: hash of everything that the answers depend on; a file with another key is discarded.

    Attributes:
        learned: by fold, the learned model as JSON values.
        found: the answers by topic.
        took: total time, interrupted runs included; complete after the context.

    Raises:
        StorageError: the file cannot be read or written.
    """

    def __init__(self, path: Path | None, key: str):
        self._path, self._key = path, key
        self._file: BinaryIO | None = None
        self._whole = 0
        self.learned: dict[str, Any] = {}
        self.found: dict[str, TopicRanking] = {}
        self.took = Took(0.0, 0.0)
        if path is not None and path.exists():
            with self._refusing("reading"), path.open("rb") as file:
                for line in self._read(file):
                    if isinstance(line, Took):
                        self.took += line
                    else:
                        self.found[line.topic] = line

    @property
    def aside(self) -> Path | None:
        """A folder for other unfinished work of the system; None stores nothing."""
        return None if self._path is None else self._path.with_suffix(".unfinished")

    def __enter__(self) -> Self:
        if self._path is not None:
            with self._refusing("writing"):
                self._file = self._path.open("r+b" if self._whole else "wb")
                # An interrupted run may have left half a line.
                self._file.seek(self._file.truncate(self._whole))
                if not self._whole:
                    self._write({"key": self._key})
        self._started = Took.now()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        took = Took.now() - self._started
        self.took += took
        if self._file is not None:
            with self._refusing("writing"):
                try:
                    self._write({"took": asdict(took)})
                finally:
                    file, self._file = self._file, None
                    file.close()

    def add(self, answer: TopicRanking) -> None:
        self.found[answer.topic] = answer
        if self._file is not None:
            line = {"topic": answer.topic, "ranking": answer.ranking, **asdict(answer.told)}
            with self._refusing("writing"):
                self._write(line)

    def _write(self, line: Mapping[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()

    def run(self, name: str, topics: Mapping[str, str]) -> Run:
        return Run(name, {topic: self.found[topic].ranking for topic in topics if topic in self.found})

    def told(self, topics: Mapping[str, str]) -> dict[str, Told]:
        """Details of each answer, in the order of the topics, like the rankings of `run`."""
        return {topic: self.found[topic].told for topic in topics if topic in self.found}

    def _read(self, file: BinaryIO) -> Iterator[TopicRanking | Took]:
        """The entries before the first incomplete line."""
        try:
            for number, line in enumerate(file):
                values = json.loads(line)
                if not line.endswith(b"\n") or (number == 0 and values["key"] != self._key):
                    return
                if number and "took" in values:
                    yield Took(**{name: float(value) for name, value in values["took"].items()})
                elif number:
                    topic, ranking = values.pop("topic"), values.pop("ranking")
                    pairs = tuple((str(document), float(score)) for document, score in ranking)
                    yield TopicRanking(topic, pairs, Told(**values))
                self._whole += len(line)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return

    @contextmanager
    def _refusing(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as e:
            raise storage_error(e, f"{doing} {str(self._path)!r}") from e
