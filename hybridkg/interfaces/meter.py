"""What one run has done so far, in units that no machine and no neighbour disturbs, and the limits that it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import monotonic, perf_counter_ns, thread_time_ns

from hybridkg.errors import QueryStoppedError

ADJACENCY = "adjacency"
"""Entries of the projection that were read: sources, targets, values."""

POSTINGS = "postings"
"""Postings of lists that were read for their best, most of which are skipped unread."""

SCORED_POSTINGS = "scored postings"
"""Entities of a complete relation, each with its score."""

PROBES = "probes"
"""Entities whose text was scored one by one."""

MASKED = "masked candidates"
"""Candidates of a set that the text index ranked."""

TEXT_QUESTIONS = "text questions"
"""Questions to the text index for its best."""

SCORINGS = "scorings"
"""Questions to the text index for all scores, or for those of given entities."""

HITS = "hits"
"""Entities that the text index gave as its best."""

GRAPH_QUESTIONS = "graph questions"
"""Questions to the projection."""

LOOKS = "looks"
"""Looks that a strategy took at the best of its ranked relations, each deeper than the one before."""

STORE_ROWS = "store rows"
"""Rows that the graph store gave."""

STORE_QUESTIONS = "store questions"
"""Queries that were sent to the graph store."""

ROWS = "rows"
"""Rows that were made of terms out of ids."""

OPERATORS = "operators"
"""Operators that were started."""

ROWS_PASSED = "rows passed"
"""Rows that operators gave to those above them."""

MICROSECONDS: Mapping[str, float] = {
    ADJACENCY: 0.02,
    POSTINGS: 0.012,
    SCORED_POSTINGS: 0.1,
    PROBES: 0.05,
    MASKED: 0.003,
    HITS: 0.4,
    TEXT_QUESTIONS: 50.0,
    SCORINGS: 330.0,
    GRAPH_QUESTIONS: 120.0,
    LOOKS: 120.0,
    STORE_ROWS: 8.0,
    STORE_QUESTIONS: 100.0,
    ROWS: 2.5,
    OPERATORS: 30.0,
    ROWS_PASSED: 1.0,
}
"""What a unit of each kind costs where nobody has measured: the defaults of planner/cost_model.py."""


def priced(counts: Mapping[str, int]) -> float:
    """Microseconds of some work, by MICROSECONDS.

    >>> round(priced({POSTINGS: 200, ROWS: 2}), 3)
    7.4
    """
    return sum(MICROSECONDS.get(kind, 0.0) * n for kind, n in counts.items())


MOST_LESSONS = 64
"""Pieces of work that one run measures; the first ones say enough."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A piece of work that was measured: what was counted meanwhile, by kind, and its microseconds."""

    work: Mapping[str, int]
    us: float


def _never() -> bool:
    return False


@dataclass
class Meter:
    """Counts work by kind, and stops a run that is over its time or has been cancelled.

    Args:
        deadline: a time of `time.monotonic` after which `check` raises; None for none.
        timeout: seconds that the deadline stands for, for the message.
        cancelled: asked at every check.
        lessons: where `timed` notes what it has measured; None where nobody wants to know.

    >>> meter = Meter()
    >>> meter.add(POSTINGS, 128)
    >>> meter.add(POSTINGS, 2)
    >>> meter.counts
    {'postings': 130}
    """

    deadline: float | None = None
    timeout: float | None = None
    cancelled: Callable[[], bool] = _never
    counts: dict[str, int] = field(default_factory=dict)
    lessons: list[Lesson] | None = None

    def add(self, kind: str, n: int) -> None:
        """Counts `n` units of work."""
        self.counts[kind] = self.counts.get(kind, 0) + n

    def timed(self, *, elsewhere: bool = False) -> AbstractContextManager[object]:
        """Measures the work of a `with` block that is counted in it, all of it and nothing else.

        Args:
            elsewhere: a server does the work, so the time on the wall counts, not that of this thread.

        >>> meter = Meter(lessons=[])
        >>> with meter.timed():
        ...     meter.add(POSTINGS, 5)
        >>> [lesson.work for lesson in meter.lessons]
        [{'postings': 5}]
        """
        if self.lessons is None or len(self.lessons) >= MOST_LESSONS:
            return _UNTIMED
        return _Timed(self.counts, self.lessons, perf_counter_ns if elsewhere else thread_time_ns)

    def check(self) -> None:
        """To be called about every millisecond of work.

        Raises:
            QueryStoppedError: the time is over, or somebody has cancelled the run.
        """
        if self.deadline is not None and monotonic() > self.deadline:
            raise QueryStoppedError(
                f"the query has taken longer than {self.timeout:g} s",
                hint="give it more time, or ask for less: a limit, another condition",
            )
        if self.cancelled():
            raise QueryStoppedError("the query was cancelled")


_UNTIMED = nullcontext()


class _Timed:
    """What `Meter.timed` gives; work that ends in an error teaches nothing."""

    __slots__ = ("_before", "_began", "_clock", "_counts", "_lessons")

    def __init__(self, counts: dict[str, int], lessons: list[Lesson], clock: Callable[[], int]):
        self._counts, self._lessons, self._clock = counts, lessons, clock

    def __enter__(self) -> None:
        self._before = dict(self._counts)
        self._began = self._clock()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        us = (self._clock() - self._began) / 1e3
        if kind is None:
            before = self._before
            work = {name: n - before.get(name, 0) for name, n in self._counts.items() if n != before.get(name)}
            self._lessons.append(Lesson(work, us))
