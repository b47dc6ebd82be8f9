"""Projection, DISTINCT and slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from hybridkg.interfaces.meter import Work
from hybridkg.operators.base import OneChild, PhysicalOperator
from hybridkg.operators.blocks import blocks_over, whole_or_blocks
from hybridkg.operators.columns import InColumns
from hybridkg.operators.context import TOTAL, ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, cells
from hybridkg.operators.extend import Extend
from hybridkg.operators.first_values import for_growing_matches, growing_rows
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.join_size import combinations
from hybridkg.operators.multiplicity import repeated
from hybridkg.operators.sorted_on_disk import distinct_on_disk
from hybridkg.rdf.solutions import Row, Solutions, SolutionStream


@dataclass(frozen=True)
class Project(OneChild):
    """The named columns, then the hidden ones; with `distinct`, the first row of equal columns.

    The product of the columns `counts` says how often a row is repeated (algebra.nodes.Project).
    """

    columns: tuple[str, ...]
    distinct: bool = False
    hidden: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()

    def estimate(self, estimates: EstimationContext) -> float | None:
        rows = estimates.rows(self.child)
        if not self.distinct or rows is None:
            return rows
        distinct = combinations(self.child, self.columns, estimates)
        return rows if distinct is None else distinct

    def work(self, estimates: EstimationContext) -> Work | None:
        return cells(estimates.rows(self.child)) if self.distinct else {}

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return self.child.restrictable(variable) if variable in self.columns else ()

    def run(self, context: ExecutionContext) -> Solutions:
        if self.distinct and context.declines:
            rows = whole_or_blocks(self.child, context, self.columns)
            if not isinstance(rows, InColumns):
                return distinct_on_disk(rows, self.columns, self.hidden, context, self)
            solutions: Solutions = rows
        else:
            solutions = context.run(self.child)
        if self.counts:
            from hybridkg.operators.order_rows import wanted_first

            solutions = repeated(solutions, self.counts, context, wanted_first(context))
        solutions = solutions.select((*self.columns, *self.hidden))
        if not self.distinct:
            return solutions
        if isinstance(solutions, InColumns):
            first = solutions.first_rows(self.columns)
            return solutions if first is None else solutions.take(first)
        width = len(self.columns)
        distinct: dict[Row, Row] = {}
        for row in solutions.rows:
            distinct.setdefault(row[:width], row)
        return Solutions(solutions.variables, list(distinct.values()))

    def blocks(self, context: ExecutionContext, first: Sequence[str]) -> Iterator[InColumns]:
        return super().blocks(context, first) if self.distinct else blocks_over(self, self.child, context, first)

    def describe(self) -> str:
        return " ".join(["Distinct" if self.distinct else "Project", *(f"?{name}" for name in self.columns)])

    def at_work(self) -> str:
        return self.describe() if self.distinct else self.child.at_work()


@dataclass(frozen=True)
class Slice(OneChild):
    """OFFSET and LIMIT."""

    offset: int
    limit: int | None

    def estimate(self, estimates: EstimationContext) -> float | None:
        below = estimates.rows(self.child)
        if below is None:
            return None if self.limit is None else float(self.limit)
        below = max(0.0, below - self.offset)
        return below if self.limit is None else min(below, float(self.limit))

    def work(self, estimates: EstimationContext) -> Work | None:
        return cells(estimates.rows(self))

    def run(self, context: ExecutionContext) -> Solutions:
        end = self.takes_first
        solutions = self._of_some_rows(end, context) if end else None
        if solutions is not None:
            return solutions.take(range(solutions.size)[self.offset : end])
        solutions = context.run(self.child)
        above = context.running[:-1]
        if not above or not any(isinstance(one, Slice | Project) for one in above):  # no sub-select's
            context.record_count(TOTAL, solutions.size)
        if not self.offset and (end is None or end >= solutions.size):
            return solutions
        return solutions.take(range(solutions.size)[self.offset : end])

    @property
    def takes_first(self) -> int | None:
        return None if self.limit is None else self.offset + self.limit

    def _of_some_rows(self, end: int, context: ExecutionContext) -> Solutions | None:
        """Rows of the child for some values of a pattern or some matches, if they are enough; None otherwise."""
        pattern = self.child
        while isinstance(pattern, Project | Extend):
            pattern = pattern.child
        for _ in for_growing_matches(pattern, end, context):
            solutions = context.run(self.child)
            if solutions.size >= end:
                return solutions
        if not context.declines or not isinstance(pattern, GraphFragment):
            return None
        for block in growing_rows(pattern, None, end, context):
            with context.working_on(pattern, block):
                solutions = context.run(self.child)
            if solutions.size >= end:
                return solutions
        return None

    def stream(self, context: ExecutionContext) -> SolutionStream | InColumns | None:
        stream = self.child.stream(context)
        if stream is None:
            return None
        end = self.takes_first
        if isinstance(stream, InColumns):
            return stream.part(self.offset, end)
        return SolutionStream(stream.variables, islice(stream.rows, self.offset, end))

    def describe(self) -> str:
        limit = "" if self.limit is None else f" limit={self.limit}"
        return f"Slice offset={self.offset}{limit}"

    def at_work(self) -> str:
        return self.child.at_work()
