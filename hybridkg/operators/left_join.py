"""OPTIONAL over solution lists."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.meter import GRAPH_QUESTIONS, Work
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import FragmentProbe, fragment_for, met
from hybridkg.operators.column_join import ColumnPairs
from hybridkg.operators.columns import IdColumn, InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, VariableSize
from hybridkg.operators.expressions import ExistsTest, evaluate, shown, true_in_columns, true_rows, with_tests
from hybridkg.operators.join import Compatible, joining, shared_by
from hybridkg.operators.join_size import JoinSize, join_size, join_work, optional_rows, optional_variable
from hybridkg.query import ast
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Term


@dataclass(frozen=True)
class LeftJoin(PhysicalOperator):
    """Left rows, extended by the compatible right rows that satisfy the condition; alone if there is none."""

    left: PhysicalOperator
    right: PhysicalOperator
    condition: ast.Expression | None = None
    tests: tuple[ExistsTest, ...] = ()
    sides: tuple[Plan, ...] = ()

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Variables of both sides."""
        return shared_by(self.sides)

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        return (self.left, self.right, *(test.pattern for test in self.tests))

    def estimate(self, estimates: EstimationContext) -> float | None:
        return optional_rows(estimates.rows(self.left), self._size(estimates))

    def _size(self, estimates: EstimationContext) -> JoinSize | None:
        return join_size(self.left, self.right, self.shared, estimates)

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        left, right = (estimates.variable_size(side, name) for side in (self.left, self.right))
        is_shared = name in self.shared
        return optional_variable(left, None if is_shared and left is None else right, self._size(estimates))

    def work(self, estimates: EstimationContext) -> Work | None:
        return join_work(*map(estimates.rows, (self.left, self.right, self)))

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return self.left.restrictable(variable)

    def run(self, context: ExecutionContext) -> Solutions:
        left = context.run(self.left)
        right = joining(self.right, left, self.shared, context)
        return left_joined(left, right, self.condition, self.tests, context)

    def describe(self) -> str:
        on = f" on {' '.join(f'?{name}' for name in self.shared)}" if self.shared else ""
        return f"LeftJoin{on}" + (f" if {shown(self.condition, self.tests)}" if self.condition else "")


@dataclass(frozen=True)
class BindLeftJoin(FragmentProbe):
    """Rows of LeftJoin(child, fragment), the fragment restricted to the values of the child."""

    condition: ast.Expression | None = None
    tests: tuple[ExistsTest, ...] = ()

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        return (self.child, *(test.pattern for test in self.tests))

    def estimate(self, estimates: EstimationContext) -> float | None:
        return optional_rows(estimates.rows(self.child), self.size(estimates))

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        left, right = (estimates.variable_size(side, name) for side in (self.child, self.fragment))
        is_shared = name == self.variable or name in self.shared
        return optional_variable(left, None if is_shared and left is None else right, self.size(estimates))

    def run(self, context: ExecutionContext) -> Solutions:
        left = context.run(self.child)
        if isinstance(left, InColumns) and not self.tests:
            if self.condition is None and (looked_up := self._looked_up(left, context)) is not None:
                return looked_up
            right = fragment_for(self.fragment, self.variable, left, context)
            if right is not None:
                return left_joined(left, right, self.condition, self.tests, context)
        at = left.variables.index(self.variable)
        values: list[Term | None] = list(dict.fromkeys(row[at] for row in left.rows))
        rows = met(self.fragment, self.variable, values, context)
        return left_joined(left, Solutions(self.fragment.columns, rows), self.condition, self.tests, context)

    def _looked_up(self, left: InColumns, context: ExecutionContext) -> InColumns | None:
        """The rows where each has at most one of the fragment, which adds one column; None elsewhere."""
        column, prepared = left.ids(self.variable), self.fragment.prepared(context)
        if column is None or prepared is None or self.fragment.counted or column.has_unbound:
            return None
        if any(name in left.columns for name in prepared.variables if name != self.variable):
            return None
        found = prepared.only_values(self.variable, column.ids, context.meter)
        if found is None:
            return None
        context.meter.add(GRAPH_QUESTIONS, 1)
        context.hold(left.size, len(left.columns) + 1)
        name, ids = found
        assert context.graph is not None
        added = {name: IdColumn(ids, context.graph)} if name in self.fragment.columns else {}
        return left.having({**left.columns, **added})

    def describe(self) -> str:
        return super().describe() + (f" if {shown(self.condition, self.tests)}" if self.condition else "")


def left_joined(
    left: Solutions,
    right: Solutions,
    condition: ast.Expression | None,
    tests: tuple[ExistsTest, ...],
    context: ExecutionContext,
) -> Solutions:
    """Left rows with their compatible right rows that satisfy the condition; alone if there is none."""
    if isinstance(left, InColumns) and isinstance(right, InColumns) and not tests:
        columns = ColumnPairs.of(left, right, context)
        if columns is not None:
            keep = None
            if condition is not None:
                keep = true_in_columns(condition, columns.merged(), context)
            return columns.left_joined(keep)
    pairs = Compatible(left, right)
    matched = context.collect(
        (number, pairs.merged(row, other)) for number, row in enumerate(left.rows) for other in pairs.rows_for(row)
    )
    if condition is not None:
        merged = Solutions(pairs.variables, [row for _, row in matched])
        values = evaluate(condition, with_tests(merged, tests, context), context)
        matched = [pair for pair, keep in zip(matched, true_rows(values), strict=True) if keep]
    rows: list[Row] = []
    remaining = iter(matched)
    pair = next(remaining, None)
    for number, row in enumerate(left.rows):
        if pair is None or pair[0] != number:
            rows.append(pairs.alone(row))
        while pair is not None and pair[0] == number:
            rows.append(pair[1])
            pair = next(remaining, None)
    return Solutions(pairs.variables, rows)
