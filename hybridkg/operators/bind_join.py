"""Bind join: the join of rows with a fragment restricted to the values of one variable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.interfaces.meter import COLUMN_CELLS, Work
from hybridkg.interfaces.text_index import Ids
from hybridkg.operators.base import OneChild, PhysicalOperator
from hybridkg.operators.blocks import blocks_over
from hybridkg.operators.column_join import ColumnPairs
from hybridkg.operators.columns import InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, VariableSize, work_of
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.id_sets import distinct_ids
from hybridkg.operators.join import Compatible
from hybridkg.operators.join_size import PAIR_CELLS, JoinSize, join_size, joined_variable
from hybridkg.operators.probing import rows_meeting
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Term

FRAGMENT_SHARE = 0.05
"""Share of the nodes of a graph up to which the values of a fragment are found before the rows that it joins."""


@dataclass(frozen=True)
class FragmentProbe(OneChild):
    """Operator that restricts a fragment to the values of a variable of its child, bound in every row of both.

    `shared` has all variables of both, for estimates; by default that variable alone.
    """

    fragment: GraphFragment
    variable: str
    shared: tuple[str, ...] = field(default=(), kw_only=True)

    def size(self, estimates: EstimationContext) -> JoinSize | None:
        """Expected pairs of the rows of the child and of the fragment."""
        return estimates.join_size(self)

    def find_size(self, estimates: EstimationContext) -> JoinSize | None:
        """`size`, which keeps it."""
        if estimates.variable_size(self.child, self.variable) is not None:
            return join_size(self.child, self.fragment, self.shared or (self.variable,), estimates)
        rows, each = estimates.rows(self.child), self.fragment.rows_each(estimates, self.variable)
        return None if rows is None or each is None else JoinSize(rows * each, min(1.0, each))

    def work(self, estimates: EstimationContext) -> Work | None:
        rows, size = estimates.rows(self.child), self.size(estimates)
        known = estimates.variable_size(self.child, self.variable)
        probe = self.fragment.work_for(estimates, self.variable, rows if known is None else known.values)
        pairs = None if size is None else size.pairs
        cells = None if rows is None or pairs is None else rows + PAIR_CELLS * pairs
        return work_of({**probe, COLUMN_CELLS: cells})

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return self.child.restrictable(variable)

    def blocks(self, context: ExecutionContext, first: Sequence[str]) -> Iterator[InColumns]:
        return blocks_over(self, self.child, context, first)

    def asks(self, estimates: EstimationContext) -> str:
        return self.fragment.asks(estimates)

    def describe(self) -> str:
        return f"{type(self).__name__} on ?{self.variable}"

    def details(self, estimates: EstimationContext) -> str:
        return self.fragment.details(estimates)


@dataclass(frozen=True)
class BindJoin(FragmentProbe):
    """Rows of HashJoin(fragment, child), the fragment restricted to the values of the child.

    `sliced` has the (variable, score variable) of relations joined above, of which a top-k operator selects a prefix
    (operators/topk/relation_prefix.py); the fragment binds the variables in every row.
    """

    sliced: tuple[tuple[str, str], ...] = ()

    def estimate(self, estimates: EstimationContext) -> float | None:
        size = self.size(estimates)
        return None if size is None else size.pairs

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        return joined_variable([estimates.variable_size(side, name) for side in (self.child, self.fragment)])

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        is_own = variable != self.variable and bool(self.fragment.restrictable(variable))
        return (*((self,) if is_own else ()), *self.child.restrictable(variable))

    def run(self, context: ExecutionContext) -> Solutions:
        right = self._child_rows(context)
        if isinstance(right, InColumns):
            if not right.size:
                return right.select(tuple(dict.fromkeys((*self.fragment.columns, *right.variables))))
            left = fragment_for(self.fragment, self.variable, right, context, self._prefilters(context))
            pairs = None if left is None else ColumnPairs.of(left, right, context)
            if pairs is not None:
                return pairs.merged()
        rows = Solutions(self.fragment.columns, self._restricted(right, context) if right.rows else [])
        compatible = Compatible(rows, right)
        merged = (compatible.merged(row, other) for row in rows.rows for other in compatible.rows_for(row))
        return Solutions(compatible.variables, context.collect(merged))

    def _child_rows(self, context: ExecutionContext) -> Solutions:
        """Rows of the child: all, or where the fragment has few values, at least those with one of them."""
        operators, prepared = self.child.restrictable(self.variable), self.fragment.prepared(context)
        if not operators or prepared is None or context.graph is None:
            return context.run(self.child)
        most = FRAGMENT_SHARE * context.graph.n_nodes
        if prepared.size(self.variable).estimate > most or prepared.work(self.variable) > most:
            return context.run(self.child)
        with context.narrowed(operators, self.variable, prepared.candidates(self.variable, context.meter)):
            return context.run(self.child)

    def _restricted(self, right: Solutions, context: ExecutionContext) -> list[Row]:
        at = right.variables.index(self.variable)
        values: list[Term | None] = list(dict.fromkeys(row[at] for row in right.rows))
        return met(self.fragment, self.variable, values, context, self._prefilters(context))

    def _prefilters(self, context: ExecutionContext) -> dict[str, Ids]:
        """Values, by variable, of rows that survive the joins above."""
        bound = context.bounds.get(id(self), {})
        if context.slice is None:
            return dict(bound)
        return {**bound, **{name: np.sort(context.slice.relations[score][0]) for name, score in self.sliced}}


def fragment_for(
    fragment: GraphFragment,
    variable: str,
    solutions: InColumns,
    context: ExecutionContext,
    more: Mapping[str, Ids] = {},
) -> InColumns | None:
    """Rows of a fragment that join the values of a variable of some solutions, as in `met`; None unless the projection
    has the fragment and the values are ids of it.
    """
    column = solutions.ids(variable)
    if column is None:
        return None
    ids = distinct_ids(column.ids)
    return fragment.columns_for(context, variable, ids[:-1] if len(ids) and ids[-1] == UNBOUND else ids, more)


def met(
    fragment: GraphFragment,
    variable: str,
    values: list[Term | None],
    context: ExecutionContext,
    more: Mapping[str, Ids] = {},
) -> list[Row]:
    """Rows of a fragment: at least those whose `variable` has one of the distinct values, and whose other variables
    have one of `more`.

    From the projection, or from the store, read or probed as operators/probing.py decides.
    """
    if context.graph is not None:
        ids = context.graph.find([value for value in values if value is not None])
        columns = fragment.columns_for(context, variable, np.sort(ids[ids >= 0]).astype(np.uint32), more)
        if columns is not None:
            return columns.rows
    return rows_meeting(fragment.in_store, variable, len(values), lambda: values, context)
