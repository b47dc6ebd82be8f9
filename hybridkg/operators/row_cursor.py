"""Rows of a plan block by block, for a result that is written while it is read."""

from __future__ import annotations

from itertools import islice
from typing import Final

from hybridkg.errors import QueryStoppedError
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.columns import InColumns
from hybridkg.operators.context import ROWS_AT_ONCE, ExecutionContext
from hybridkg.rdf.solutions import Solutions, SolutionStream

ROWS_PER_BLOCK: Final = ROWS_AT_ONCE
"""Rows of a block: the time and the limits are checked once a block, about every millisecond."""


class RowCursor:
    """A position in the rows of a plan, of which it holds none, or only their columns of ids.

    All calls must come from one thread: an answer of Oxigraph belongs to the thread that asked for it.
    """

    def __init__(self, root: PhysicalOperator, context: ExecutionContext, *, size: int = ROWS_PER_BLOCK):
        self._root, self._context, self.size = root, context, size
        self._stream: SolutionStream | InColumns | None = None
        self._read = 0

    def open(self) -> tuple[str, ...] | None:
        """Starts the plan; returns the names of its columns, None if the plan can only return all rows at once."""
        self._context.running.append(self._root)  # names the operator at work
        stream = self._root.stream(self._context)
        if stream is None:
            self._context.running.pop()
            return None
        self._stream = stream
        return stream.variables

    def next_block(self) -> Solutions:
        """The next rows; fewer than the size of a block are the last.

        Raises:
            QueryLimitError: there are more rows than `max_rows`, or a block takes more memory than `max_bytes`.
            QueryStoppedError: the run is over its time limit or cancelled.
        """
        stream = self._stream
        assert stream is not None
        try:
            if isinstance(stream, InColumns):
                block: Solutions = stream.part(self._read, self._read + self.size)
                self._context.allow_memory(block.size, len(stream.variables))
            else:
                block = Solutions(stream.variables, self._context.collect(islice(stream.rows, self.size)))
            self._read += block.size
            self._context.allow(self._read)
            self._context.meter.check()
        except QueryStoppedError as e:
            e.doing = e.doing or self._root.at_work()
            raise
        return block

    def close(self) -> None:
        """Ends the plan; its remaining rows are not computed."""
        self._stream = None
