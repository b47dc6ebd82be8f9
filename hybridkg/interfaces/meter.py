"""What one run has done so far, in units that no machine and no neighbour disturbs, and the limits that it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeAlias

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

STORE_PROBES = "store probes"
"""Values of VALUES blocks that are sent to the graph store. Only estimates have these; a run counts questions, rows."""

ROWS = "rows"
"""Rows that were made of terms out of ids."""

OPERATORS = "operators"
"""Operators that were started."""

ROWS_PASSED = "rows passed"
"""Rows that operators gave to those above them."""

Work: TypeAlias = Mapping[str, float]
"""Units of work by kind, counted or estimated. A cost model has their prices; nothing here has."""

Price: TypeAlias = Callable[[Work], float]
"""Microseconds of some work."""


def _never() -> bool:
    return False


@dataclass
class Meter:
    """Counts work by kind, and stops a run that is over its time or has been cancelled.

    Args:
        deadline: a time of `time.monotonic` after which `check` raises; None for none.
        timeout: seconds that the deadline stands for, for the message.
        cancelled: asked at every check.

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

    def add(self, kind: str, n: int) -> None:
        """Counts `n` units of work."""
        self.counts[kind] = self.counts.get(kind, 0) + n

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
