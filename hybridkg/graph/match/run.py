"""What one evaluation carries along: the meter and the limit of intermediate results."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.errors import QueryLimitError
from hybridkg.interfaces.meter import ADJACENCY, Meter


@dataclass(frozen=True)
class PatternRun:
    """One call of `rows` or `candidates`.

    Args:
        meter: counts, and may stop the run.
        max_rows: the most rows of an intermediate result.
    """

    meter: Meter
    max_rows: int

    def read(self, entries: int) -> None:
        """Counts entries of the projection that are about to be read.

        Raises:
            QueryLimitError: the run is over its time or was cancelled.
        """
        self.meter.add(ADJACENCY, entries)
        self.meter.check()

    def room_for(self, rows: int) -> None:
        """To be called before rows are made.

        Raises:
            QueryLimitError: there are too many.
        """
        if rows > self.max_rows:
            raise QueryLimitError(
                f"an intermediate result has more than {self.max_rows:,} rows",
                hint="join the parts of the pattern by a common variable, or add a condition",
            )
        self.meter.check()
