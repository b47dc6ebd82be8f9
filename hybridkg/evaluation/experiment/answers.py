"""Answers of a system, topic by topic, kept in a file while it works, so that an interrupted run goes on."""

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
    """What is known of an answer beside the ranking.

    Args:
        ms: milliseconds that it took; None where nobody measured.
        strategy: how the query was run; empty where no query was.
        plan: the operators that ran it, such as `Slice(FilteredTopK(Rank))`; of a model that was learned, its
            parameters; empty for neither.
        exact: whether the ranking is surely the right one.
        jobs: topics that were asked at once, which share the machine.
    """

    ms: float | None = None
    strategy: str = ""
    plan: str = ""
    exact: bool = True
    jobs: int = 1

    def __post_init__(self) -> None:
        kinds = {"ms": int | float | None, "strategy": str, "plan": str, "exact": bool, "jobs": int}
        if bad := next((name for name, kind in kinds.items() if not isinstance(getattr(self, name), kind)), ""):
            raise TypeError(f"{bad} cannot be {getattr(self, bad)!r}")


@dataclass(frozen=True)
class Took:
    """What the work on a system took, with all that it has learned and opened; of several processes together.

    Args:
        seconds: by the clock.
        cpu_seconds: of processors, which other work on the machine changes less.
    """

    seconds: float
    cpu_seconds: float

    def __add__(self, other: Took) -> Took:
        return Took(round(self.seconds + other.seconds, 3), round(self.cpu_seconds + other.cpu_seconds, 3))

    @classmethod
    def now(cls) -> Took:
        """Since some moment in the past; to be subtracted from a later one."""
        return cls(time.perf_counter(), sum(os.times()[:4]))

    def __sub__(self, other: Took) -> Took:
        return self + Took(-other.seconds, -other.cpu_seconds)


@dataclass(frozen=True)
class TopicRanking:
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
        took: the work that they took, that of interrupted runs included; complete when the context is left.

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
        """A folder for what a system keeps of unfinished work beside its answers; None to keep nothing."""
        return None if self._path is None else self._path.with_suffix(".unfinished")

    def __enter__(self) -> Self:
        if self._path is not None:
            with self._refusing("writing"):
                self._file = self._path.open("r+b" if self._whole else "wb")
                # The last line of an interrupted run may be half of one.
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
        """Keeps an answer.

        Raises:
            StorageError: the file cannot be written.
        """
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
        """The run of the answers, in the order of the topics."""
        return Run(name, {topic: self.found[topic].ranking for topic in topics if topic in self.found})

    def told(self) -> dict[str, Told]:
        """What is known of the answers, by topic."""
        return {topic: answer.told for topic, answer in self.found.items()}

    def _read(self, file: BinaryIO) -> Iterator[TopicRanking | Took]:
        """Those up to the first line that was not written whole."""
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
