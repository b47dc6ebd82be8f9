"""OPTIONAL over solution lists."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.expressions import ExistsTest, evaluate, true_rows, with_tests
from hybridkg.operators.join import Compatible
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.batch import Row, Solutions


@dataclass(frozen=True)
class LeftJoin(PhysicalOperator):
    """Left rows, extended by the compatible right rows that satisfy the condition; alone where there is none."""

    left: PhysicalOperator
    right: PhysicalOperator
    condition: ast.Expression | None = None
    tests: tuple[ExistsTest, ...] = ()

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        """Left, right, and the patterns of EXISTS."""
        return (self.left, self.right, *(test.pattern for test in self.tests))

    def run(self, context: ExecutionContext) -> Solutions:
        """Joins, tests the condition on the pairs, and adds the left rows that are left alone."""
        left, right = context.run(self.left), context.run(self.right)
        pairs = Compatible(left, right)
        found = context.collect(
            (number, pairs.merged(row, other)) for number, row in enumerate(left.rows) for other in pairs.rows_for(row)
        )
        if self.condition is not None:
            merged = Solutions(pairs.variables, [row for _, row in found])
            values = evaluate(self.condition, with_tests(merged, self.tests, context), context)
            found = [pair for pair, keep in zip(found, true_rows(values), strict=True) if keep]
        rows: list[Row] = []
        next_found = iter(found)
        pair = next(next_found, None)
        for number, row in enumerate(left.rows):
            if pair is None or pair[0] != number:
                rows.append(pairs.alone(row))
            while pair is not None and pair[0] == number:
                rows.append(pair[1])
                pair = next(next_found, None)
        return Solutions(pairs.variables, rows)

    def describe(self) -> str:
        """The condition, where there is one."""
        return "LeftJoin" + (f" if {' '.join(write(self.condition).split())}" if self.condition else "")
