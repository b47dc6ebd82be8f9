"""One question to the graph store."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hybridkg.algebra.to_pattern import DeclinedPattern, pattern_of
from hybridkg.interfaces.graph_index import Pattern
from hybridkg.interfaces.meter import STORE_QUESTIONS, STORE_ROWS, Work
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, work_of
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Solutions

UNIT = Solutions((), [()])
"""The solution of the empty group: one row without columns."""


@dataclass(frozen=True)
class SparqlFragment(PhysicalOperator):
    """The rows of a rank-free group, asked once, all of them."""

    group: ast.Group
    columns: tuple[str, ...]
    dataset: tuple[ast.DatasetClause, ...] = ()

    @cached_property
    def sparql(self) -> str:
        """The exact text sent to the store."""
        projection = tuple(ast.SelectItem(ast.Var(name)) for name in self.columns) or None
        return write(ast.SelectQuery(projection, self.group, dataset=self.dataset))

    @cached_property
    def pattern(self) -> Pattern | DeclinedPattern:
        """The same question to the projection."""
        return pattern_of(self.group, self.dataset)

    def estimate(self, known: EstimationContext) -> float | None:
        """The projection knows, also where the store is asked."""
        return known.size(self.pattern) if self.group.elements else 1.0

    def work(self, known: EstimationContext) -> Work | None:
        """One question to the store, and its rows."""
        return work_of({STORE_QUESTIONS: 1, STORE_ROWS: known.rows(self)}) if self.group.elements else {}

    def run(self, context: ExecutionContext) -> Solutions:
        """Asks the store."""
        if not self.group.elements:
            return UNIT
        stream = context.store.select(self.sparql, joined=True)
        return Solutions(self.columns, context.collect(stream.rows))

    def asks(self, known: EstimationContext) -> str:
        """The text sent to the store."""
        return self.sparql

    def describe(self) -> str:
        """The variables it binds; the text sent to the store is on a line of its own."""
        return " ".join(["SparqlFragment", *(f"?{name}" for name in self.columns)])
