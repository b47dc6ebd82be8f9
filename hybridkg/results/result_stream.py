"""A result whose rows are read once and not held."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Protocol

from hybridkg.rdf.solutions import Row as Cells
from hybridkg.rdf.solutions import Solutions
from hybridkg.results.result import Result, Row
from hybridkg.results.result_set import ResultSet


class RowSource(Protocol):
    """The rows of a run in progress, block by block (kb/row_stream.py)."""

    @property
    def returned(self) -> int | None:
        """Number of rows; None until the last one has been read."""

    def shortfall(self) -> str:
        """The reason for no more rows, after the last one."""

    def blocks(self) -> Iterator[Solutions]:
        """All rows, once, a block in memory at a time.

        Raises:
            UserError: they have been read, or the run has been ended.
            HybridkgError: as for `KnowledgeBase.query`.
        """

    def held(self) -> Solutions:
        """The rows of `blocks`, within the run's limit on memory; raises as `blocks`, and QueryLimitError."""

    def close(self) -> None:
        """Ends the run; rows that have not been read are not computed."""


@dataclass(frozen=True, repr=False)
class ResultStream(Result):
    """The result of a query without ranks whose rows are computed while they are read, which is possible once.

    `returned` and `shortfall` are None until the last row has been read.
    """

    _source: RowSource

    @classmethod
    def of(cls, known: Result, source: RowSource) -> ResultStream:
        """The stream of a source; `known` has everything but the rows and their number."""
        return cls(**_properties(known), _source=source)

    def blocks(self) -> Iterator[Solutions]:
        """As Result has it; raises UserError for a second time."""
        return self._source.blocks()

    def rows(self) -> Iterator[Cells]:
        """As Result has it; raises UserError for a second time."""
        return rows_of(map(self._projected, self.blocks()))

    def __iter__(self) -> Iterator[Row]:
        """As Result has it; raises UserError for a second time."""
        return (Row(self, cells) for cells in rows_of(self.blocks()))

    def _projected(self, block: Solutions) -> Solutions:
        return block.select(block.variables[: len(self.columns)])

    @property
    def returned(self) -> int | None:
        """Number of rows; None until the last one has been read."""
        return self._source.returned

    @property
    def shortfall(self) -> str | None:
        """The reason for fewer rows than requested, else empty; None until the last row has been read."""
        returned = self.returned
        if returned is None:
            return None
        is_short = self.requested is not None and returned < self.requested and not self.is_graph
        return self._source.shortfall() if is_short else ""

    def held(self) -> ResultSet:
        """As Result has it; reads the rows, within the limit of the query on memory."""
        solutions, shortfall = self._source.held(), self.shortfall or ""
        return ResultSet(**_properties(self), _solutions=solutions, _shortfall=lambda: shortfall)

    def close(self) -> None:
        """Ends the query; `KnowledgeBase.stream` calls it."""
        self._source.close()

    def __repr__(self) -> str:
        state = "not read to the end" if self.returned is None else self._row_count()
        return f"ResultStream({' '.join(f'?{name}' for name in self.columns)}; {state})"


def rows_of(blocks: Iterator[Solutions]) -> Iterator[Cells]:
    """The rows of blocks, one of which is in memory at a time."""
    for block in blocks:
        rows = block.rows
        del block
        yield from rows
        del rows  # before the next block is made


def _properties(result: Result) -> dict[str, Any]:
    return {each.name: getattr(result, each.name) for each in fields(Result)}
