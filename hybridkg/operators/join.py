"""Joins over solution lists: SPARQL 1.1 section 18.3, unbound variables included."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from hybridkg.algebra.nodes import Plan
from hybridkg.errors import QueryLimitError
from hybridkg.interfaces.meter import Work
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.blocks import whole_or_blocks
from hybridkg.operators.column_join import ColumnPairs, stacked
from hybridkg.operators.columns import ColumnsDeclined, InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, VariableSize, cells
from hybridkg.operators.id_sets import distinct_ids
from hybridkg.operators.join_size import join_size, join_work, joined_variable
from hybridkg.operators.sides_on_disk import sides_on_disk
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Term

Key = Term | tuple[Term | None, ...] | None
"""Hash key of a row: its cell in the one key column, or those in several."""


class Compatible:
    """Compatible pairs: right rows that agree with a left row on every variable bound in both.

    Variables bound in all rows of both sides are the hash key; the others are compared pair by pair, because an unbound
    variable agrees with anything.
    """

    def __init__(self, left: Solutions, right: Solutions):
        self.right = right
        shared = [name for name in left.variables if name in right.variables]
        pairs = [(left.variables.index(name), right.variables.index(name)) for name in shared]
        sure = [(i, j) for i, j in pairs if _always(left, i) and _always(right, j)]
        self._left_key = _key([i for i, _ in sure])
        self._loose = [pair for pair in pairs if pair not in sure]
        fresh = [j for j, name in enumerate(right.variables) if name not in shared]
        self.variables = left.variables + tuple(right.variables[j] for j in fresh)
        self._fresh, self._nothing = _cells(fresh), (None,) * len(fresh)
        self._table: dict[Key, list[Row]] = {}
        right_key = _key([j for _, j in sure])
        for row in right.rows:
            self._table.setdefault(right_key(row), []).append(row)

    def rows_for(self, row: Row) -> Iterator[Row]:
        """Right rows compatible with a left row."""
        others, loose = self._table.get(self._left_key(row), ()), self._loose
        if not loose:
            return iter(others)
        return (o for o in others if all(row[i] is None or o[j] is None or row[i] == o[j] for i, j in loose))

    def merged(self, row: Row, other: Row) -> Row:
        """Union of two compatible solutions, in the order of `variables`."""
        if self._loose:
            cells = list(row)
            for i, j in self._loose:
                if cells[i] is None:
                    cells[i] = other[j]
            row = tuple(cells)
        return row + self._fresh(other)

    def alone(self, row: Row) -> Row:
        """Left row without partner."""
        return row + self._nothing


def _always(solutions: Solutions, column: int) -> bool:
    return all(row[column] is not None for row in solutions.rows)


def _key(columns: list[int]) -> Callable[[Row], Key]:
    return itemgetter(*columns) if columns else lambda row: ()


def _cells(columns: list[int]) -> Callable[[Row], Row]:
    if len(columns) == 1:
        (only,) = columns
        return lambda row: (row[only],)
    return itemgetter(*columns) if columns else lambda row: ()


@dataclass(frozen=True)
class HashJoin(PhysicalOperator):
    """Pairs of compatible rows, in left order. Shared variables are computed from `sides` on demand, not while
    planning.
    """

    left: PhysicalOperator
    right: PhysicalOperator
    sides: tuple[Plan, ...] = ()

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Variables of both sides."""
        return shared_by(self.sides)

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        return (self.left, self.right)

    def estimate(self, estimates: EstimationContext) -> float | None:
        size = join_size(self.left, self.right, self.shared, estimates)
        return None if size is None else size.pairs

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        return joined_variable([estimates.variable_size(side, name) for side in self.children])

    def work(self, estimates: EstimationContext) -> Work | None:
        return join_work(*map(estimates.rows, (self.left, self.right, self)))

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return self.left.restrictable(variable) + self.right.restrictable(variable)

    def run(self, context: ExecutionContext) -> Solutions:
        left, right = sides_of(self.left, self.right, self.shared, context)
        if isinstance(left, InColumns) and isinstance(right, InColumns):
            columns = ColumnPairs.of(left, right, context, _wanted_first(context))
            if columns is not None:
                return columns.merged()
        pairs = Compatible(left, right)
        merged = (pairs.merged(row, other) for row in left.rows for other in pairs.rows_for(row))
        return Solutions(pairs.variables, context.collect(merged))

    def blocks(self, context: ExecutionContext, first: Sequence[str]) -> Iterator[InColumns]:
        right = whole_or_blocks(self.right, context, self.shared)
        if isinstance(right, InColumns):
            for left in self.left.blocks(context, first):
                yield from _joined(left, right, context)
        else:
            sides = sides_on_disk(self.left.blocks(context, self.shared), right, context, self)
            for mine, its in sides:
                yield from _joined(mine, its, context)

    def describe(self) -> str:
        return "Join" + (f" on {' '.join(f'?{name}' for name in self.shared)}" if self.shared else "")


def _joined(left: InColumns, right: InColumns, context: ExecutionContext) -> Iterator[InColumns]:
    """Pairs of compatible rows in blocks that fit in memory."""
    pairs = context.unless(lambda: ColumnPairs.of(left, right, context), QueryLimitError)
    if pairs is None:
        raise ColumnsDeclined("a join of unbound variables that does not fit in memory")
    if isinstance(pairs, ColumnPairs):
        yield pairs.merged()
        return
    if left.size < 2:
        raise pairs
    for begin, end in ((0, left.size // 2), (left.size // 2, left.size)):
        yield from _joined(left.part(begin, end), right, context)


NARROW_SHARE = 0.25
"""Share of the nodes of a graph up to which the values of one side of a join restrict the other side."""


def sides_of(
    left: PhysicalOperator, right: PhysicalOperator, shared: Sequence[str], context: ExecutionContext
) -> tuple[Solutions, Solutions]:
    """(left rows, right rows) of a join. Rows of the side with more expected rows that join no other row may be left
    out; of the right side where neither is known to have more.
    """
    is_left, is_right = (any(side.restrictable(name) for name in shared) for side in (left, right))
    if is_left and is_right and context.slice is None:
        expected, others_expected = map(context.estimates.rows, (left, right))
        is_right = expected is None or others_expected is None or expected <= others_expected
    if not is_right:
        others = context.run(right)
        return joining(left, others, shared, context), others
    rows = context.run(left)
    return rows, joining(right, rows, shared, context)


def joining(
    operator: PhysicalOperator, others: Solutions, shared: Sequence[str], context: ExecutionContext
) -> Solutions:
    """At least the rows of an operator that are compatible with one of some others."""
    if isinstance(others, InColumns) and context.graph is not None:
        most = int(NARROW_SHARE * context.graph.n_nodes)
        for name in shared:
            column, leaves = others.ids(name), operator.restrictable(name)
            if not leaves or column is None or column.has_unbound:
                continue
            ids = distinct_ids(column.ids)
            if len(ids) <= most:
                with context.narrowed(leaves, name, ids):
                    return context.run(operator)
    return context.run(operator)


def _wanted_first(context: ExecutionContext) -> int | None:
    from hybridkg.operators.order_rows import wanted_first

    return wanted_first(context)


def shared_by(sides: tuple[Plan, ...]) -> tuple[str, ...]:
    """Variables common to all plans, by name."""
    return tuple(sorted(frozenset.intersection(*(side.variables for side in sides)))) if sides else ()


@dataclass(frozen=True)
class Union(PhysicalOperator):
    """Rows of every branch, in order; a variable absent from a branch is unbound."""

    branches: tuple[PhysicalOperator, ...]

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        return self.branches

    def estimate(self, estimates: EstimationContext) -> float | None:
        parts = [estimates.rows(branch) for branch in self.branches]
        return None if None in parts else float(sum(part for part in parts if part is not None))

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        parts = [(estimates.rows(branch) or 0.0, estimates.variable_size(branch, name)) for branch in self.branches]
        known = [size for _, size in parts if size is not None]
        bound = sum(rows * (1.0 - size.unbound) for rows, size in parts if size is not None)
        total = sum(rows for rows, _ in parts)
        unbound = 1.0 - bound / total if total else 0.0
        return (
            VariableSize(sum(one.values for one in known), sum(one.domain for one in known), unbound) if known else None
        )

    def work(self, estimates: EstimationContext) -> Work | None:
        return cells(estimates.rows(self))

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return tuple(one for branch in self.branches for one in branch.restrictable(variable))

    def run(self, context: ExecutionContext) -> Solutions:
        parts = [context.run(branch) for branch in self.branches]
        columns = [part for part in parts if isinstance(part, InColumns)]
        if len(columns) == len(parts):
            width = len({name for part in columns for name in part.columns})
            context.hold(sum(part.size for part in parts), width)
            return stacked(columns)
        names = tuple(dict.fromkeys(name for part in parts for name in part.variables))
        rows: list[Row] = []
        for part in parts:
            at = [part.variables.index(name) if name in part.variables else None for name in names]
            rows += [tuple(None if i is None else row[i] for i in at) for row in part.rows]
        return Solutions(names, context.collect(rows))

    def describe(self) -> str:
        return "Union"
