"""BIND and computed columns over ranked rows."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.columns import InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.expressions import ExistsTest, column_of, evaluate, shown, with_tests
from hybridkg.query import ast
from hybridkg.rdf.solutions import Solutions


@dataclass(frozen=True)
class Extend(PhysicalOperator):
    """Rows of the child with one more column."""

    child: PhysicalOperator
    variable: str
    expression: ast.Expression
    tests: tuple[ExistsTest, ...] = ()

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        return (self.child, *(test.pattern for test in self.tests))

    def estimate(self, estimates: EstimationContext) -> float | None:
        return estimates.rows(self.child)

    def run(self, context: ExecutionContext) -> Solutions:
        solutions = context.run(self.child)
        tested = with_tests(solutions, self.tests, context)
        if isinstance(solutions, InColumns) and isinstance(tested, InColumns):
            return solutions.having({**solutions.columns, self.variable: column_of(self.expression, tested, context)})
        column = evaluate(self.expression, tested, context)
        return Solutions(
            (*solutions.variables, self.variable),
            [(*row, value) for row, value in zip(solutions.rows, column, strict=True)],
        )

    def describe(self) -> str:
        return f"Extend ?{self.variable} := {shown(self.expression, self.tests)}"
