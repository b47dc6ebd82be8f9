"""FILTER over solutions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hybridkg.interfaces.meter import Work
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.blocks import blocks_over
from hybridkg.operators.columns import InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, VariableSize, cells, times
from hybridkg.operators.expressions import ExistsTest, evaluate, shown, true_in_columns, true_rows, with_tests
from hybridkg.query import ast
from hybridkg.rdf.solutions import Solutions

PASSING = 1 / 3
"""The share of rows that a condition is taken to keep. By custom, not by measurement: Selinger et al., "Access path
selection in a relational database management system" (1979), have it for comparisons."""


@dataclass(frozen=True)
class Filter(PhysicalOperator):
    """Rows for which the condition is true; `condition` gives true, false or an error."""

    child: PhysicalOperator
    condition: ast.Expression
    tests: tuple[ExistsTest, ...] = ()

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        return (self.child, *(test.pattern for test in self.tests))

    def estimate(self, estimates: EstimationContext) -> float | None:
        return times(estimates.rows(self.child), PASSING)

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        return estimates.variable_size(self.child, name)

    def work(self, estimates: EstimationContext) -> Work | None:
        return cells(*map(estimates.rows, (self.child, *(test.pattern for test in self.tests))))

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return self.child.restrictable(variable)

    def run(self, context: ExecutionContext) -> Solutions:
        solutions = context.run(self.child)
        tested = with_tests(solutions, self.tests, context)
        if isinstance(solutions, InColumns) and isinstance(tested, InColumns):
            return solutions.take(np.flatnonzero(true_in_columns(self.condition, tested, context)))
        values = evaluate(self.condition, tested, context)
        return Solutions(
            solutions.variables, [row for row, keep in zip(solutions.rows, true_rows(values), strict=True) if keep]
        )

    def blocks(self, context: ExecutionContext, first: Sequence[str]) -> Iterator[InColumns]:
        return super().blocks(context, first) if self.tests else blocks_over(self, self.child, context, first)

    def describe(self) -> str:
        return f"Filter {shown(self.condition, self.tests)}"
