"""Graph fragment: a rank-free group evaluated by the projection, or by the graph store if the projection cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from hybridkg.algebra.certain import certain
from hybridkg.algebra.pattern_text import pattern_text
from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.interfaces.graph_index import AskedPattern, GraphIndex, Ids, IdTable, PreparedPattern
from hybridkg.interfaces.meter import (
    ADJACENCY,
    COLUMN_CELLS,
    GRAPH_QUESTIONS,
    STORE_PROBES,
    STORE_QUESTIONS,
    STORE_ROWS,
    Work,
)
from hybridkg.interfaces.parameter import bound
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.blocks import divided_by, in_parts
from hybridkg.operators.columns import InColumns, NumberColumn, columns_of
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, VariableSize, times, work_of
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.multiplicity import multiplicity
from hybridkg.operators.probing import rows_meeting
from hybridkg.query import ast
from hybridkg.query.source import shown
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import Term

MAX_NARROW_RUNS = 3
"""Runs of operators over columns for some ids, after which they run for all ids once."""

NARROW_SHARE = 0.25
"""Share of the nodes of a graph up to which operators over columns run for some ids only."""

FEW_COUNTED = 2_000
"""Expected solutions below which listing them all takes no longer than counting them."""

COUNTING_SHARE = 0.5
"""Share of the solutions of a pattern, or of the entries read to list them, up to which counting them pays: what is
counted is also grouped.
"""

MAX_NAMED = 3
"""Predicates that a line of EXPLAIN names."""


@dataclass(frozen=True)
class GraphFragment(PhysicalOperator):
    """Rows of a rank-free group, as SparqlFragment returns them, from columns of ids where available.

    Args:
        group: the group, perhaps with parameters.
        columns: the variables of its rows.
        dataset: FROM of the query.
        pattern: pattern for the projection, or the reason why there is none.
        values: of the parameters.
        relational: operators over columns that return the rows of a declined pattern; None if only the store does.
        counted: a further column of rows in columns, which are then distinct: how many solutions each stands for
            (algebra.nodes.Fragment). Rows of the store stand for one.
    """

    group: ast.Group
    columns: tuple[str, ...]
    dataset: tuple[ast.DatasetClause, ...]
    pattern: AskedPattern | DeclinedPattern
    values: tuple[ast.Value, ...] = ()
    relational: PhysicalOperator | None = None
    counted: str = ""

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        return () if self.relational is None else (self.relational,)

    @cached_property
    def bound_group(self) -> ast.Group:
        """Group with the values in place, for the store and EXPLAIN."""
        group: ast.Group = bound(self.group, self) if self.values else self.group
        return group

    @cached_property
    def in_store(self) -> SparqlFragment:
        return SparqlFragment(self.bound_group, self.columns, self.dataset)

    def asks(self, estimates: EstimationContext) -> str:
        in_columns = estimates.prepared(self.pattern) is not None or not self.group.elements or self.relational
        return "" if in_columns else self.in_store.sparql

    @property
    def shown(self) -> str:
        """The group in one line."""
        if isinstance(self.pattern, DeclinedPattern):
            return " ".join(write(self.bound_group).split())
        return f"{{ {pattern_text(self.pattern)} }}"

    def estimate(self, estimates: EstimationContext) -> float | None:
        if self.relational is not None:
            return estimates.rows(self.relational)
        rows = estimates.size(self.pattern) if self.group.elements else 1.0
        sizes = [estimates.size(self.pattern, name) for name in self.columns] if self.counted else [None]
        if rows is None or None in sizes:
            return rows
        return min(rows, prod(max(1.0, size) for size in sizes if size is not None))

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        if self.relational is not None:
            return estimates.variable_size(self.relational, name)
        prepared = estimates.prepared(self.pattern)
        if prepared is None or name not in prepared.variables:
            return None
        return VariableSize(prepared.size(name).estimate, prepared.domain(name), prepared.unbound_share(name))

    def rows_each(self, estimates: EstimationContext, variable: str) -> float | None:
        """Expected rows for one value of a variable."""
        values = estimates.size(self.pattern, variable) if id(self) in estimates.narrowed else estimates.entities
        rows = self.estimate(estimates)
        return None if rows is None or values is None else rows / max(values, 1.0)

    def work(self, estimates: EstimationContext) -> Work | None:
        rows, prepared = estimates.rows(self), estimates.prepared(self.pattern)
        if not self.group.elements or self.relational is not None:
            return {}
        if prepared is None:
            return work_of({STORE_QUESTIONS: 1, STORE_ROWS: rows})
        entries = prepared.work()
        if self.counted:
            entries = min(entries, prepared.counts_work(self.columns))
        return work_of({GRAPH_QUESTIONS: 1, ADJACENCY: entries, COLUMN_CELLS: rows})

    def work_for(self, estimates: EstimationContext, variable: str, values: float | None) -> dict[str, float | None]:
        """Expected work of evaluating the fragment for a number of values of a variable, without making rows."""
        prepared = estimates.prepared(self.pattern)
        if prepared is None:
            return {STORE_QUESTIONS: 1, STORE_PROBES: values}
        each = times(values, prepared.work_each(variable))
        return {GRAPH_QUESTIONS: 1, ADJACENCY: None if each is None else min(prepared.work(), each)}

    def prepared(self, context: ExecutionContext) -> PreparedPattern | None:
        """Compiled pattern; None if the store has to evaluate it."""
        return None if isinstance(self.pattern, DeclinedPattern) else context.compile(self.pattern)

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return (self,) if self.group.elements and variable in certain(self.group) else ()

    def run(self, context: ExecutionContext) -> Solutions:
        return self._rows(context, context.bounds.get(id(self), {}))

    def blocks(self, context: ExecutionContext, first: Sequence[str]) -> Iterator[InColumns]:
        prepared = self.prepared(context)
        if prepared is None:
            return super().blocks(context, first)

        names = divided_by(prepared, certain(self.group), first)
        parts = prepared.size().estimate / context.rows_at_once(len(self.columns))
        return in_parts(lambda bound: self.rows_within(context, bound), prepared, names, parts, context)

    def rows_within(self, context: ExecutionContext, bound: Mapping[str, Ids]) -> InColumns:
        """Rows of a run in which some columns, bound in every row, have the given ids (ascending, distinct)."""
        outer = context.bounds.get(id(self))
        context.bounds[id(self)] = bound
        try:
            return columns_of(context.run(self), context.made)
        finally:
            if outer is None:
                del context.bounds[id(self)]
            else:
                context.bounds[id(self)] = outer

    def rows_for(self, context: ExecutionContext, variable: str, ids: Ids, more: Mapping[str, Ids] = {}) -> Solutions:
        """Rows in which `variable`, bound in every row, has one of the ids (ascending and distinct; of entities without
        a projection). Rows in which other columns have values outside `more` may be left out.
        """
        if (columns := self.columns_for(context, variable, ids, more)) is not None:
            return columns
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

    def columns_for(
        self, context: ExecutionContext, variable: str, ids: Ids, more: Mapping[str, Ids] = {}
    ) -> InColumns | None:
        """`rows_for` in columns; None where only the store has the rows."""
        return self.columns_within(self.prepared(context), context, {**more, variable: ids})

    def columns_within(
        self, prepared: PreparedPattern | None, context: ExecutionContext, bound: Mapping[str, Ids]
    ) -> InColumns | None:
        """Rows in columns, in which some columns have the given ids; `prepared` is the compiled pattern. None where
        only the store has the rows.
        """
        if prepared is not None:
            return self.in_columns(prepared, context, bound)
        columns = self.over_columns(context, bound)
        return None if columns is None else restricted(columns, bound)

    def _rows(self, context: ExecutionContext, bound: Mapping[str, Ids]) -> Solutions:
        columns = self.columns_within(self.prepared(context), context, bound)
        if columns is None:
            solutions = self.in_store.run(context)
            self._count(context, len(solutions.rows))
            return solutions
        return columns

    def in_columns(self, prepared: PreparedPattern, context: ExecutionContext, bound: Mapping[str, Ids]) -> InColumns:
        """Rows from the projection, held in columns; `bound` has the permitted ids (ascending, distinct) of columns."""
        variables = prepared.variables
        columns = [name for name in self.columns if name in variables]
        context.meter.add(GRAPH_QUESTIONS, 1)
        width = len(self.columns) + bool(self.counted)
        limit = context.rows_at_once(width) if context.declines else None
        if not self.counted or not _pays(prepared, columns, bound):
            return context.in_columns(prepared.rows(columns, context.meter, bound, limit), self.columns)
        counts = prepared.counts(columns, context.meter, bound, limit)
        rows = context.in_columns(IdTable(counts.variables, counts.columns, len(counts.counts)), self.columns)
        return rows.having({**rows.columns, self.counted: NumberColumn(counts.counts.astype(np.float64), multiplicity)})

    def over_columns(self, context: ExecutionContext, bound: Mapping[str, Ids] = {}) -> InColumns | None:
        """All rows of a declined pattern, computed once in a run, or with `bound` at least those in which the columns
        have one of the ids; None without operators over columns.
        """
        if self.relational is None or context.graph is None:
            return None
        if id(self) in context.whole_fragments:
            return context.whole_fragments[id(self)]
        variable = self._narrow_by(context, bound)
        leaves = () if variable is None else self.relational.restrictable(variable)
        if variable is None or not leaves:
            found = context.run_in_columns(self.relational, self)
        else:
            with context.narrowed(leaves, variable, bound[variable]):
                found = context.run_in_columns(self.relational, self)
        if found is not None and self.counted:
            counts = found.numbers(self.counted)
            assert counts is not None
            found = found.having({**found.columns, self.counted: NumberColumn(counts.numbers, multiplicity)})
        elif found is not None:
            found = found.select(self.columns)
        if found is None or not leaves:
            context.whole_fragments[id(self)] = found
        return found

    def _narrow_by(self, context: ExecutionContext, bound: Mapping[str, Ids]) -> str | None:
        """The column with the fewest ids, if reading only these saves more than it costs to read others later."""
        if not bound or context.graph is None:
            return None
        variable = min(bound, key=lambda name: len(bound[name]))
        context.narrow_runs[id(self)] = runs = context.narrow_runs.get(id(self), 0) + 1
        is_narrow = len(bound[variable]) <= NARROW_SHARE * context.graph.n_nodes
        return variable if is_narrow and runs <= MAX_NARROW_RUNS else None

    def _count(self, context: ExecutionContext, rows: int) -> None:
        if self.group.elements:
            context.meter.add(STORE_QUESTIONS, 1)
            context.meter.add(STORE_ROWS, rows)

    def describe(self) -> str:
        return " ".join(["GraphFragment", *(f"?{name}" for name in self.columns), *(["counted"] * bool(self.counted))])

    def at_work(self) -> str:
        return f"GraphFragment {shown(self.shown, MAX_SHOWN)}"

    def details(self, estimates: EstimationContext) -> str:
        if not self.group.elements:
            return ""
        if isinstance(self.pattern, DeclinedPattern) and self.relational is not None:
            return f"not one pattern: {self.pattern.reason}"
        if isinstance(self.pattern, DeclinedPattern):
            return f"{estimates.store}: {self.pattern.reason}"
        if estimates.graph is None:
            return f"{estimates.store}: the graph has no projection"
        if estimates.prepared(self.pattern) is None:
            return f"{estimates.store}: {not_held(estimates.graph, self.pattern)}"
        return f"columns: {pattern_text(self.pattern)}"


MAX_SHOWN = 200
"""Characters of a pattern in the error of a stopped query."""


def not_held(graph: GraphIndex, pattern: AskedPattern) -> str:
    """Why the projection does not answer a pattern, for EXPLAIN: it names predicates whose values it does not hold."""
    lacking = graph.lacks(pattern)
    if not lacking:
        return "the projection does not hold all of the pattern"
    more = f" and {len(lacking) - MAX_NAMED} more predicates" if len(lacking) > MAX_NAMED else ""
    return f"the projection lacks triples of {', '.join(f'<{iri}>' for iri in lacking[:MAX_NAMED])}{more}"


def _pays(prepared: PreparedPattern, keys: Sequence[str], bound: Mapping[str, Ids]) -> bool:
    """Whether to count solutions by some keys, where other variables have given ids, and not to list them all."""
    shares = (len(ids) / max(1.0, prepared.size(name).estimate) for name, ids in bound.items())
    rows = prepared.size().estimate
    if rows * min(1.0, *shares, 1.0) < FEW_COUNTED:
        return False
    combinations = prod(max(1.0, prepared.size(key).estimate) for key in keys)
    return combinations <= COUNTING_SHARE * rows or prepared.counts_work(keys) <= COUNTING_SHARE * prepared.work()


def restricted(solutions: InColumns, bound: Mapping[str, Ids]) -> InColumns:
    """Rows whose columns have the given ids; ascending and distinct."""
    for name, ids in bound.items():
        column = solutions.ids(name)
        if column is not None:
            solutions = solutions.take(np.flatnonzero(np.isin(column.ids, ids)))
    return solutions
