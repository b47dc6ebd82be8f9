"""The rows of a query that are computed while they are read: a RowSource (results/result_stream.py)."""

from __future__ import annotations

from collections.abc import Iterator

from hybridkg.errors import UserError
from hybridkg.kb.query_run import QueryRun
from hybridkg.kb.query_template import BoundQuery
from hybridkg.planner.choose import PhysicalPlan
from hybridkg.rdf.solutions import Solutions
from hybridkg.results.result import Result
from hybridkg.results.result_stream import ResultStream
from hybridkg.results.shortfall import shortfall


def opened(run: QueryRun, query: BoundQuery, plan: PhysicalPlan) -> Result:
    """The result of a plan: a ResultStream if its rows can be read one after another and are more than a block.

    The first block is read here, so most errors are raised before anything is written, and a short answer is a
    ResultSet in every respect.
    """
    if run.open(query, plan) is None:
        return run.execute(query, plan)
    first, is_last = run.next_block()
    known = run.result(query, plan, first, are_all=is_last)
    return known if is_last else ResultStream.of(known, RowStream(run, first, query.template.shape.offset))


class RowStream:
    """The rows of a run, of which one block is held at a time; `offset` is that of the query, which has no ranks."""

    def __init__(self, run: QueryRun, first: Solutions, offset: int):
        self._run, self._variables, self._offset = run, first.variables, offset
        self._first: Solutions | None = first
        self._returned: int | None = None

    @property
    def returned(self) -> int | None:
        """As RowSource has it."""
        return self._returned

    def shortfall(self) -> str:
        """As RowSource has it."""
        return shortfall(self._returned or 0, self._offset, (), (), self._run.context)

    def blocks(self) -> Iterator[Solutions]:
        """As RowSource has it."""
        block, self._first = self._first, None
        if block is None:
            raise UserError(
                "the rows of this result have been read, which is possible once",
                hint="kb.query(...) returns a result that holds them; kb.stream(...) asks again",
            )
        return self._rest(block)

    def _rest(self, block: Solutions) -> Iterator[Solutions]:
        count, is_last = block.size, False
        yield block
        while not is_last:
            del block  # before the next one is made
            with self._run.resumed():
                block, is_last = self._run.next_block()
            count += block.size
            yield block
        self._returned = count

    def held(self) -> Solutions:
        """As RowSource has it."""
        blocks = self.blocks()
        with self._run.resumed():
            return Solutions(self._variables, self._run.context.collect(row for block in blocks for row in block.rows))

    def close(self) -> None:
        """As RowSource has it."""
        self._run.close()
