"""Work counters of a run, in units that are the same on every machine, and its limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TypeAlias

from hybridkg.errors import QueryStoppedError

ADJACENCY = "adjacency"
"""Entries of the projection that were read: sources, targets, values."""

POSTINGS = "postings"
"""Postings of lists that were read for a top-k, most of which are skipped."""

SCORED_POSTINGS = "scored postings"
"""Entities of a complete relation, each with its score."""

PROBES = "probes"
"""Entities whose text was scored one by one."""

MASKED = "masked candidates"
"""Candidates of a set that the text index ranked."""

TEXT_QUESTIONS = "text questions"
"""Top-k requests to the text index."""

SCORINGS = "scorings"
"""Requests to the text index for all scores, or for those of given entities."""

HITS = "hits"
"""Entities in the top-k results of the text index."""

GRAPH_QUESTIONS = "graph questions"
"""Requests to the projection."""

LOOKS = "looks"
"""Prefixes of the ranked relations that a strategy read, each deeper than the one before."""

STORE_ROWS = "store rows"
"""Rows from the graph store."""

STORE_QUESTIONS = "store questions"
"""Queries to the graph store."""

STORE_PROBES = "store probes"
"""Values of VALUES blocks sent to the graph store. Only estimates have these; a run counts queries and rows."""

ROWS = "rows"
"""Rows whose ids were turned into terms."""

OPERATORS = "operators"
"""Operators that were started."""

ROWS_PASSED = "rows passed"
"""Rows that operators passed to their parents one by one, as terms."""

COLUMN_CELLS = "column cells"
"""Rows that operators over columns handle; a run counts the rows that they make."""

Work: TypeAlias = Mapping[str, float]
"""Units of work by kind, counted or estimated; a cost model has the unit costs."""

Price: TypeAlias = Callable[[Work], float]
"""Microseconds of some work."""


class NotBriefError(Exception):
    """A run that has to be brief is not."""


class ManyEntriesError(NotBriefError):
    """A run that has to be brief would read or make more than `Meter.most_entries`."""


@dataclass
class Meter:
    """Counts work by kind, and stops a run at its deadline or when it is cancelled.

    Args:
        deadline: a time of `time.monotonic` after which `check` raises; None for none.
        timeout: the limit in seconds, for the message.
        cancelled: called by every check; None for a run that nothing cancels.
        most_entries: the entries of the projection, and the rows of an intermediate result, of a run that has to be
            brief; inf for any other run.

    >>> meter = Meter()
    >>> meter.add(POSTINGS, 128)
    >>> meter.add(POSTINGS, 2)
    >>> dict(meter.counts)
    {'postings': 130}
    """

    deadline: float | None = None
    timeout: float | None = None
    cancelled: Callable[[], bool] | None = None
    most_entries: float = inf
    counts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, kind: str, n: int) -> None:
        """Counts `n` units of work."""
        self.counts[kind] += n

    def check(self) -> None:
        """Stops the run; called about every millisecond of work.

        Raises:
            QueryStoppedError: the deadline has passed, or the run was cancelled.
        """
        if self.deadline is not None and monotonic() > self.deadline:
            raise QueryStoppedError(
                f"the query has taken longer than {self.timeout:g} s",
                hint="give it more time, or ask for less: a limit, another condition",
            )
        if self.cancelled is not None and self.cancelled():
            raise QueryStoppedError("the query was cancelled")
