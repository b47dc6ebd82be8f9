"""A query without ranked predicates: the own answer of Oxigraph, or of the endpoint that has the graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hybridkg.algebra.nodes import GRAPH_COLUMNS
from hybridkg.algebra.to_pattern import DeclinedPattern, pattern_of
from hybridkg.interfaces.graph_index import Pattern
from hybridkg.interfaces.meter import Work
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Solutions


@dataclass(frozen=True)
class StoreQuery(PhysicalOperator):
    """The canonical text of the query, sent to the store."""

    query: ast.QueryForm

    @cached_property
    def sparql(self) -> str:
        """The exact text sent to the store."""
        return write(self.query)

    def estimate(self, known: EstimationContext) -> float | None:
        """The solutions of the pattern, at most the limit; of groups nothing is known."""
        form = self.query
        if isinstance(form, ast.AskQuery):
            return 1.0
        if not isinstance(form, ast.SelectQuery):
            return None
        modifiers = form.modifiers
        grouped = modifiers.group_by or modifiers.having or any(item.expression for item in form.projection or ())
        rows = None if grouped else known.size(self._pattern)
        if rows is None:
            return None if modifiers.limit is None else float(modifiers.limit)
        rows = max(0.0, rows - (modifiers.offset or 0))
        return rows if modifiers.limit is None else min(rows, float(modifiers.limit))

    def work(self, known: EstimationContext) -> Work | None:
        """Unknown: the store plans the query."""
        return None

    @cached_property
    def _pattern(self) -> Pattern | DeclinedPattern:
        """The pattern, for the projection."""
        return pattern_of(self.query.where or ast.Group(()), self.query.dataset)

    def run(self, context: ExecutionContext) -> Solutions:
        """Asks the store; ASK gives one row or none, CONSTRUCT and DESCRIBE one for each triple."""
        if isinstance(self.query, ast.AskQuery):
            return Solutions((), [()] if context.store.ask(self.sparql) else [])
        if isinstance(self.query, ast.ConstructQuery | ast.DescribeQuery):
            triples = context.collect(context.store.triples(self.sparql))
            return Solutions(GRAPH_COLUMNS, [(t.subject, t.predicate, t.object) for t in triples])
        stream = context.store.select(self.sparql)
        return Solutions(stream.variables, context.collect(stream.rows))

    def asks(self, known: EstimationContext) -> str:
        """The text sent to the store."""
        return self.sparql

    def details(self, known: EstimationContext) -> str:
        """Who is asked, where it is not Oxigraph in this process."""
        return "" if known.store == "Oxigraph" else f"sent to the {known.store}"

    def describe(self) -> str:
        """The text sent to the store is on a line of its own."""
        return "Oxigraph"
