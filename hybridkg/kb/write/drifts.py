"""The warning that a column of a table has other types of values than in earlier loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybridkg.errors import DriftWarning
from hybridkg.store.loading import Source
from hybridkg.tables.table_source import TableSource


def drifts(sources: Sequence[Source]) -> Iterator[DriftWarning]:
    """A warning for each such column."""
    for source in sources:
        for drift in source.map.drifts if isinstance(source, TableSource) else ():
            yield DriftWarning(
                drift,
                hint="correct the cell and load the table again with --replace-rows, or choose the type of the column "
                "by --mapping; --replace default with all files guesses all types anew",
            )
