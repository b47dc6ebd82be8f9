"""A query without ranked predicates: Oxigraph's own answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hybridkg.algebra.nodes import GRAPH_COLUMNS
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.batch import Solutions


@dataclass(frozen=True)
class WholeQuery(PhysicalOperator):
    """The canonical text of the query, sent to the store."""

    query: ast.QueryForm

    @cached_property
    def sparql(self) -> str:
        """The exact text sent to the store."""
        return write(self.query)

    def run(self, context: ExecutionContext) -> Solutions:
        """Asks the store; ASK gives one row or none, CONSTRUCT and DESCRIBE one for each triple."""
        if isinstance(self.query, ast.AskQuery):
            return Solutions((), [()] if context.store.ask(self.sparql) else [])
        if isinstance(self.query, ast.ConstructQuery | ast.DescribeQuery):
            triples = context.collect(context.store.triples(self.sparql))
            return Solutions(GRAPH_COLUMNS, [(t.subject, t.predicate, t.object) for t in triples])
        stream = context.store.select(self.sparql)
        return Solutions(stream.variables, context.collect(stream.rows))

    def describe(self) -> str:
        """The text sent to the store is on a line of its own."""
        return "Oxigraph"
