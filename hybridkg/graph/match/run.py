"""The context of one evaluation: the meter and the limit of intermediate results."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import QueryLimitError
from hybridkg.interfaces.graph_index import Ids
from hybridkg.interfaces.meter import ADJACENCY, ManyEntriesError, Meter


@dataclass(slots=True, eq=False)
class PatternRun:
    """The context of one call of `rows` or `candidates`.

    Args:
        meter: counts the work.
        max_rows: the maximum size of an intermediate result.
        decided: (ids, ascending and distinct; which pass) of the tests that have been decided value by value, by the
            identity of the test.
    """

    meter: Meter
    max_rows: int
    decided: dict[int, tuple[Ids, NDArray[np.bool_]]] = field(default_factory=dict)

    def read(self, entries: int) -> None:
        """Counts entries of the projection before they are read.

        Raises:
            QueryStoppedError: the time limit is exceeded, or the run was cancelled.
            ManyEntriesError: the run has to be brief, and reads too much.
        """
        meter = self.meter
        read = meter.counts[ADJACENCY] = meter.counts[ADJACENCY] + entries
        if read > meter.most_entries:
            raise ManyEntriesError
        meter.check()

    def room_for(self, rows: int) -> None:
        """Checks the size of an intermediate result before it is built.

        Raises:
            QueryLimitError: it has more than `max_rows` rows.
            ManyEntriesError: the run has to be brief, and these are too many.
        """
        if rows > self.meter.most_entries:
            raise ManyEntriesError
        if rows > self.max_rows:
            raise QueryLimitError(
                f"an intermediate result has more than {self.max_rows:,} rows",
                hint="join the parts of the pattern by a common variable, or add a condition",
            )
        self.meter.check()
