"""Delegation of a query without ranked predicates to Oxigraph, or to the endpoint that has the graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from hybridkg.algebra.guarded_order import guarded
from hybridkg.algebra.nodes import GRAPH_COLUMNS
from hybridkg.algebra.to_pattern import DeclinedPattern, pattern_of
from hybridkg.interfaces.graph_index import Pattern
from hybridkg.interfaces.meter import Work
from hybridkg.interfaces.parameter import bound
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ROWS_AT_ONCE, ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.ordered_store_query import OrderedStoreQuery
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Solutions, SolutionStream


@dataclass(frozen=True)
class StoreQuery(PhysicalOperator):
    """Canonical text of the query, sent to the store.

    Args:
        query: the query, perhaps with parameters.
        declined: why columns do not answer it, for EXPLAIN; empty if they could.
        values: of the parameters.
    """

    query: ast.QueryForm
    declined: str = ""
    values: tuple[ast.Value, ...] = ()

    @cached_property
    def form(self) -> ast.QueryForm:
        """The query with the values in place."""
        form: ast.QueryForm = bound(self.query, self) if self.values else self.query
        return form

    @cached_property
    def sparql(self) -> str:
        """Exact text sent to an endpoint."""
        return write(self.form)

    @cached_property
    def _local(self) -> str:
        """Exact text sent to Oxigraph, which does not order the rows of a SELECT."""
        return write(guarded(self.form if self._ordered is None else self._ordered.query))

    @cached_property
    def _ordered(self) -> OrderedStoreQuery | None:
        return OrderedStoreQuery.of(self.form)

    def estimate(self, estimates: EstimationContext) -> float | None:
        form = self.form
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
        return pattern_of(self.form.where or ast.Group(()), self.form.dataset)

    def run(self, context: ExecutionContext) -> Solutions:
        """Rows of the answer: ASK returns one row or none, CONSTRUCT and DESCRIBE one for each triple."""
        stream = self.stream(context)
        if stream is None:
            return Solutions((), [()] if context.store.ask(self._text(context)) else [])
        return Solutions(stream.variables, context.collect(stream.rows))

    def stream(self, context: ExecutionContext) -> SolutionStream | None:
        if isinstance(self.form, ast.AskQuery):
            return None
        if isinstance(self.form, ast.ConstructQuery | ast.DescribeQuery):
            triples = context.store.triples(self._text(context))
            return SolutionStream(GRAPH_COLUMNS, ((t.subject, t.predicate, t.object) for t in triples))
        if self._ordered is not None and not context.store.url:
            return _in_order(self._ordered, context.store.select(self._local), context)
        return context.store.select(self._text(context))

    def _text(self, context: ExecutionContext) -> str:
        return self.sparql if context.store.url else self._local

    def asks(self, estimates: EstimationContext) -> str:
        return self._local if estimates.store == "Oxigraph" else self.sparql

    def details(self, estimates: EstimationContext) -> str:
        if estimates.store != "Oxigraph":
            return f"sent to the {estimates.store}"
        found = [f"not over columns: {self.declined}"] if self.declined else []
        found += ["its rows are ordered, and then cut, by hybridkg"] if self._ordered is not None else []
        return "; ".join(found)

    def describe(self) -> str:
        return "Oxigraph"


def _in_order(query: OrderedStoreQuery, found: SolutionStream, context: ExecutionContext) -> SolutionStream:
    """The rows of the answer; with a LIMIT, no more rows are held than it reaches, and a batch.

    Raises:
        QueryLimitError: more than `max_rows` rows have to be held.
        QueryStoppedError: the run is over its time limit or cancelled.
    """
    rows, reach = found.rows, query.reach
    if reach is None:
        first = query.first(Solutions(found.variables, context.collect(rows)))
    else:
        first = Solutions(found.variables, [])
        size = min(max(reach, ROWS_AT_ONCE), context.max_rows)
        while batch := context.collect(islice(rows, size)):
            first = query.first(Solutions(found.variables, [*first.rows, *batch]))
            context.allow(first.size)
            context.meter.check()
    answer = query.answer(first)
    return SolutionStream(answer.variables, iter(answer.rows))
