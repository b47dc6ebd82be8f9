"""BIND and computed columns over ranked rows."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.expressions import ExistsTest, evaluate, shown, with_tests
from hybridkg.query import ast
from hybridkg.rdf.solutions import Solutions


@dataclass(frozen=True)
class Extend(PhysicalOperator):
    """The child's rows with one more column."""

    child: PhysicalOperator
    variable: str
    expression: ast.Expression
    tests: tuple[ExistsTest, ...] = ()

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        """The extended operator, and the patterns of EXISTS."""
        return (self.child, *(test.pattern for test in self.tests))

    def estimate(self, known: EstimationContext) -> float | None:
        """As many as the child."""
        return known.rows(self.child)

    def run(self, context: ExecutionContext) -> Solutions:
        """Evaluates the expression."""
        solutions = context.run(self.child)
        column = evaluate(self.expression, with_tests(solutions, self.tests, context), context)
        return Solutions(
            (*solutions.variables, self.variable),
            [(*row, value) for row, value in zip(solutions.rows, column, strict=True)],
        )

    def describe(self) -> str:
        """The expression and its name."""
        return f"Extend ?{self.variable} := {shown(self.expression, self.tests)}"
