"""SPARQL fragment: one query to the graph store."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hybridkg.algebra.guarded_order import guarded
from hybridkg.algebra.small_joins import in_small_joins
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
"""Solution of the empty group: one row without columns."""


@dataclass(frozen=True)
class SparqlFragment(PhysicalOperator):
    """Rows of a rank-free group, read completely in one query."""

    group: ast.Group
    columns: tuple[str, ...]
    dataset: tuple[ast.DatasetClause, ...] = ()

    @cached_property
    def sparql(self) -> str:
        projection = tuple(ast.SelectItem(ast.Var(name)) for name in self.columns) or None
        return write(ast.SelectQuery(projection, in_small_joins(guarded(self.group)), dataset=self.dataset))

    @cached_property
    def pattern(self) -> Pattern | DeclinedPattern:
        return pattern_of(self.group, self.dataset)

    def estimate(self, estimates: EstimationContext) -> float | None:
        return estimates.size(self.pattern) if self.group.elements else 1.0

    def work(self, estimates: EstimationContext) -> Work | None:
        return work_of({STORE_QUESTIONS: 1, STORE_ROWS: estimates.rows(self)}) if self.group.elements else {}

    def run(self, context: ExecutionContext) -> Solutions:
        if not self.group.elements:
            return UNIT
        stream = context.store.select(self.sparql, joined=True)
        return Solutions(self.columns, context.collect(stream.rows))

    def asks(self, estimates: EstimationContext) -> str:
        return self.sparql

    def describe(self) -> str:
        return " ".join(["SparqlFragment", *(f"?{name}" for name in self.columns)])
