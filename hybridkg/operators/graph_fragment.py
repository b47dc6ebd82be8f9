"""One question to the projection, or to the graph store where the projection cannot say it or does not hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hybridkg.algebra.pattern_text import pattern_text
from hybridkg.algebra.to_pattern import DeclinedPattern, pattern_of
from hybridkg.interfaces.graph_index import AskedPattern, Ids, PreparedPattern
from hybridkg.interfaces.meter import (
    ADJACENCY,
    GRAPH_QUESTIONS,
    ROWS,
    STORE_PROBES,
    STORE_QUESTIONS,
    STORE_ROWS,
    Work,
)
from hybridkg.interfaces.parameter import bound
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.columns import InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, times, work_of
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.probing import rows_meeting
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import Term


@dataclass(frozen=True)
class GraphFragment(PhysicalOperator):
    """The rows of a rank-free group: what SparqlFragment gives, from columns of ids where they have it.

    Args:
        group: the group, perhaps with parameters.
        columns: the variables of its rows, as SparqlFragment has them.
        dataset: FROM of the query.
        pattern: what the projection is asked, or why it is not.
        values: of the parameters.
    """

    group: ast.Group
    columns: tuple[str, ...]
    dataset: tuple[ast.DatasetClause, ...]
    pattern: AskedPattern | DeclinedPattern
    values: tuple[ast.Value, ...] = ()

    @classmethod
    def of(
        cls, group: ast.Group, columns: tuple[str, ...], dataset: tuple[ast.DatasetClause, ...] = ()
    ) -> GraphFragment:
        """Translates the group."""
        return cls(group, columns, dataset, pattern_of(group, dataset))

    @cached_property
    def bound_group(self) -> ast.Group:
        """The group with the values in place, which the store and EXPLAIN take."""
        group: ast.Group = bound(self.group, self) if self.values else self.group
        return group

    @cached_property
    def in_store(self) -> SparqlFragment:
        """The same question to the graph store."""
        return SparqlFragment(self.bound_group, self.columns, self.dataset)

    def asks(self, known: EstimationContext) -> str:
        """The text sent to the store, where the projection cannot be asked."""
        in_columns = known.prepared(self.pattern) is not None or not self.group.elements
        return "" if in_columns else self.in_store.sparql

    @property
    def shown(self) -> str:
        """The group in one line."""
        if isinstance(self.pattern, DeclinedPattern):
            return " ".join(write(self.bound_group).split())
        return f"{{ {pattern_text(self.pattern)} }}"

    def estimate(self, known: EstimationContext) -> float | None:
        """As the projection has it."""
        return known.size(self.pattern) if self.group.elements else 1.0

    def rows_each(self, known: EstimationContext, variable: str) -> float | None:
        """Rows for one entity that a variable may have."""
        values = known.size(self.pattern, variable) if id(self) in known.narrowed else known.entities
        rows = self.estimate(known)
        return None if rows is None or values is None else rows / max(values, 1.0)

    def work(self, known: EstimationContext) -> Work | None:
        """One question to the projection or the store, and its rows."""
        rows, prepared = known.rows(self), known.prepared(self.pattern)
        if not self.group.elements:
            return {}
        if prepared is None:
            return work_of({STORE_QUESTIONS: 1, STORE_ROWS: rows})
        return work_of({GRAPH_QUESTIONS: 1, ADJACENCY: prepared.work(), ROWS: rows})

    def work_for(self, known: EstimationContext, variable: str, values: float | None) -> dict[str, float | None]:
        """Expected work of a question about so many values of a variable, without making its rows."""
        prepared = known.prepared(self.pattern)
        if prepared is None:
            return {STORE_QUESTIONS: 1, STORE_PROBES: values}
        each = times(values, prepared.work_each(variable))
        return {GRAPH_QUESTIONS: 1, ADJACENCY: None if each is None else min(prepared.work(), each)}

    def prepared(self, context: ExecutionContext) -> PreparedPattern | None:
        """The pattern, ready to be asked; None where the store has to be."""
        return None if isinstance(self.pattern, DeclinedPattern) else context.compile(self.pattern)

    def run(self, context: ExecutionContext) -> Solutions:
        """All rows."""
        return self._rows(context, {})

    def rows_for(
        self,
        context: ExecutionContext,
        variable: str,
        ids: Ids,
        more: Mapping[str, Ids] = {},
    ) -> Solutions:
        """The rows in which a variable has one of some values.

        Args:
            context: of the run.
            variable: a column that every row binds.
            ids: ascending and distinct; of entities, where there is no projection.
            more: the same for other columns; rows with others may be left out.
        """
        if self.prepared(context) is not None:
            return self._rows(context, {**more, variable: ids})
        names: list[Term | None] = []

        def values() -> Sequence[Term | None]:
            if not names:
                assert context.nodes is not None
                names[:] = context.nodes.nodes(ids) if context.graph is None else context.graph.terms(ids)
            return names

        rows = rows_meeting(self.in_store, variable, len(ids), values, context)
        self._count(context, len(rows))
        wanted, at = set(values()), self.columns.index(variable)
        return Solutions(self.columns, [row for row in rows if row[at] in wanted])

    def _rows(self, context: ExecutionContext, bound: Mapping[str, Ids]) -> Solutions:
        prepared = self.prepared(context)
        if prepared is None:
            solutions = self.in_store.run(context)
            self._count(context, len(solutions.rows))
            return solutions
        return self.in_columns(prepared, context, bound).in_rows()

    def in_columns(self, prepared: PreparedPattern, context: ExecutionContext, bound: Mapping[str, Ids]) -> InColumns:
        """The same, held in columns.

        Args:
            prepared: the pattern, ready to be asked.
            context: of the run.
            bound: for some columns that every row binds, the ids (ascending, distinct) they may have.
        """
        held = [name for name in self.columns if name in prepared.variables]
        context.meter.add(GRAPH_QUESTIONS, 1)
        table = prepared.rows(held, context.meter, bound)
        return context.in_columns(table, self.columns)

    def _count(self, context: ExecutionContext, rows: int) -> None:
        if self.group.elements:
            context.meter.add(STORE_QUESTIONS, 1)
            context.meter.add(STORE_ROWS, rows)

    def describe(self) -> str:
        """The variables it binds; what is asked is on a line of its own."""
        return " ".join(["GraphFragment", *(f"?{name}" for name in self.columns)])

    def details(self, known: EstimationContext) -> str:
        """Who is asked: the columns of the projection what, or the store why."""
        if not self.group.elements:
            return ""
        if isinstance(self.pattern, DeclinedPattern):
            return f"{known.store}: {self.pattern.reason}"
        if known.graph is None:
            return f"{known.store}: the graph has no projection"
        if known.prepared(self.pattern) is None:
            return f"{known.store}: the projection does not hold all of it"
        return f"columns: {pattern_text(self.pattern)}"
