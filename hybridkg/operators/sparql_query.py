"""Delegation of a query without ranked predicates to Oxigraph, or to the endpoint that has the graph."""

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
from hybridkg.operators.ordered_store_query import OrderedStoreQuery
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Solutions, SolutionStream


@dataclass(frozen=True)
class StoreQuery(PhysicalOperator):
    """Canonical text of the query, sent to the store."""

    query: ast.QueryForm
    declined: str = ""
    """Why columns do not answer it, for EXPLAIN; empty if they could."""

    @cached_property
    def sparql(self) -> str:
        """Exact text sent to an endpoint; Oxigraph does not order rows."""
        return write(self.query)

    @cached_property
    def _ordered(self) -> OrderedStoreQuery | None:
        return OrderedStoreQuery.of(self.query)

    def estimate(self, estimates: EstimationContext) -> float | None:
        form = self.query
        if isinstance(form, ast.AskQuery):
            return 1.0
        if not isinstance(form, ast.SelectQuery):
            return None
        modifiers = form.modifiers
        grouped = modifiers.group_by or modifiers.having or any(item.expression for item in form.projection or ())
        rows = None if grouped else estimates.size(self._pattern)
        if rows is None:
            return None if modifiers.limit is None else float(modifiers.limit)
        rows = max(0.0, rows - (modifiers.offset or 0))
        return rows if modifiers.limit is None else min(rows, float(modifiers.limit))

    def work(self, estimates: EstimationContext) -> Work | None:
        return None

    @cached_property
    def _pattern(self) -> Pattern | DeclinedPattern:
        return pattern_of(self.query.where or ast.Group(()), self.query.dataset)

    def run(self, context: ExecutionContext) -> Solutions:
        """Rows of the answer: ASK returns one row or none, CONSTRUCT and DESCRIBE one for each triple."""
        stream = self.stream(context)
        if stream is None:
            return Solutions((), [()] if context.store.ask(self.sparql) else [])
        return Solutions(stream.variables, context.collect(stream.rows))

    def stream(self, context: ExecutionContext) -> SolutionStream | None:
        if isinstance(self.query, ast.AskQuery):
            return None
        if isinstance(self.query, ast.ConstructQuery | ast.DescribeQuery):
            triples = context.store.triples(self.sparql)
            return SolutionStream(GRAPH_COLUMNS, ((t.subject, t.predicate, t.object) for t in triples))
        if self._ordered is not None and not context.store.url:
            found = context.store.select(write(self._ordered.query))
            ordered = self._ordered.ordered(Solutions(found.variables, context.collect(found.rows)))
            return SolutionStream(ordered.variables, iter(ordered.rows))
        return context.store.select(self.sparql)

    def asks(self, estimates: EstimationContext) -> str:
        is_local = estimates.store == "Oxigraph"
        return write(self._ordered.query) if is_local and self._ordered is not None else self.sparql

    def details(self, estimates: EstimationContext) -> str:
        if estimates.store != "Oxigraph":
            return f"sent to the {estimates.store}"
        found = [f"not over columns: {self.declined}"] if self.declined else []
        found += ["its rows are ordered, and then cut, by hybridkg"] if self._ordered is not None else []
        return "; ".join(found)

    def describe(self) -> str:
        return "Oxigraph"
