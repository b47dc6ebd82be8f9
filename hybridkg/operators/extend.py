"""BIND and computed columns over ranked rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hybridkg.interfaces.meter import Work
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.blocks import blocks_over
from hybridkg.operators.columns import InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, VariableSize, cells
from hybridkg.operators.expressions import ExistsTest, columns_of_expressions, evaluate, shown, with_tests
from hybridkg.query import ast
from hybridkg.rdf.solutions import Solutions


@dataclass(frozen=True)
class Extend(PhysicalOperator):
    """Rows of the child with more columns, none of which is computed from another one of them.

    Args:
        child: the rows.
        computed: (variable, expression) of each column.
        tests: the EXISTS of the expressions.
    """

    child: PhysicalOperator
    computed: tuple[tuple[str, ast.Expression], ...]
    tests: tuple[ExistsTest, ...] = ()

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        return (self.child, *(test.pattern for test in self.tests))

    def estimate(self, estimates: EstimationContext) -> float | None:
        return estimates.rows(self.child)

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        rows = estimates.rows(self)
        if all(name != own for own, _ in self.computed):
            return estimates.variable_size(self.child, name)
        return None if rows is None else VariableSize(rows, rows)

    def work(self, estimates: EstimationContext) -> Work | None:
        return cells(*map(estimates.rows, (self.child, *(test.pattern for test in self.tests))))

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return self.child.restrictable(variable)

    def run(self, context: ExecutionContext) -> Solutions:
        solutions = context.run(self.child)
        tested = with_tests(solutions, self.tests, context)
        names = tuple(name for name, _ in self.computed)
        expressions = [expression for _, expression in self.computed]
        if isinstance(solutions, InColumns) and isinstance(tested, InColumns):
            columns = columns_of_expressions(expressions, tested, context)
            return solutions.having({**solutions.columns, **dict(zip(names, columns, strict=True))})
        values = zip(*(evaluate(expression, tested, context) for expression in expressions), strict=True)
        return Solutions(
            (*solutions.variables, *names), [(*row, *own) for row, own in zip(solutions.rows, values, strict=True)]
        )

    def blocks(self, context: ExecutionContext, first: Sequence[str]) -> Iterator[InColumns]:
        return super().blocks(context, first) if self.tests else blocks_over(self, self.child, context, first)

    def describe(self) -> str:
        computed = (f"?{name} := {shown(expression, self.tests)}" for name, expression in self.computed)
        return f"Extend {', '.join(computed)}"
