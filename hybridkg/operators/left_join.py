"""OPTIONAL over solution lists."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.meter import ROWS, Work
from hybridkg.operators.base import OneChild, PhysicalOperator
from hybridkg.operators.bind_join import met
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, times, work_of
from hybridkg.operators.expressions import ExistsTest, evaluate, shown, true_rows, with_tests
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.join import Compatible, joined_rows, shared_by
from hybridkg.query import ast
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Term


@dataclass(frozen=True)
class LeftJoin(PhysicalOperator):
    """Left rows, extended by the compatible right rows that satisfy the condition; alone where there is none."""

    left: PhysicalOperator
    right: PhysicalOperator
    condition: ast.Expression | None = None
    tests: tuple[ExistsTest, ...] = ()
    sides: tuple[Plan, ...] = ()

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """The variables of both sides."""
        return shared_by(self.sides)

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        """Left, right, and the patterns of EXISTS."""
        return (self.left, self.right, *(test.pattern for test in self.tests))

    def estimate(self, known: EstimationContext) -> float | None:
        """Those of a join, and at least the left side."""
        left = known.rows(self.left)
        together = joined_rows(left, known.rows(self.right), self.shared, known)
        return left if together is None or left is None else max(left, together)

    def run(self, context: ExecutionContext) -> Solutions:
        """Joins, tests the condition on the pairs, and adds the left rows that are left alone."""
        left, right = context.run(self.left), context.run(self.right)
        return left_joined(left, right, self.condition, self.tests, context)

    def describe(self) -> str:
        """The condition, where there is one."""
        on = f" on {' '.join(f'?{name}' for name in self.shared)}" if self.shared else ""
        return f"LeftJoin{on}" + (f" if {shown(self.condition, self.tests)}" if self.condition else "")


@dataclass(frozen=True)
class BindLeftJoin(OneChild):
    """The rows of LeftJoin(child, fragment), the fragment asked only about what the child has.

    `variable` is bound in every row of both sides.
    """

    fragment: GraphFragment
    variable: str
    condition: ast.Expression | None = None
    tests: tuple[ExistsTest, ...] = ()

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        """The child, and the patterns of EXISTS; the fragment is part of this operator."""
        return (self.child, *(test.pattern for test in self.tests))

    def estimate(self, known: EstimationContext) -> float | None:
        """Each row of the child as often as the fragment has rows for an entity, and at least once."""
        each = self.fragment.rows_each(known, self.variable)
        return known.rows(self.child) if each is None else times(known.rows(self.child), max(1.0, each))

    def work(self, known: EstimationContext) -> Work | None:
        """The fragment is asked about the rows of the child."""
        asked = self.fragment.work_for(known, self.variable, known.rows(self.child))
        return work_of({**asked, ROWS: known.rows(self)})

    def run(self, context: ExecutionContext) -> Solutions:
        """Reads the child, then what the fragment has for it."""
        left = context.run(self.child)
        at = left.variables.index(self.variable)
        values: list[Term | None] = list(dict.fromkeys(row[at] for row in left.rows))
        rows = met(self.fragment, self.variable, values, context)
        return left_joined(left, Solutions(self.fragment.columns, rows), self.condition, self.tests, context)

    def asks(self, known: EstimationContext) -> str:
        """The fragment, without the values."""
        return self.fragment.asks(known)

    def describe(self) -> str:
        """The probed variable, and the condition where there is one."""
        condition = f" if {shown(self.condition, self.tests)}" if self.condition else ""
        return f"BindLeftJoin on ?{self.variable}{condition}"

    def details(self, known: EstimationContext) -> str:
        """What is probed."""
        return self.fragment.details(known)


def left_joined(
    left: Solutions,
    right: Solutions,
    condition: ast.Expression | None,
    tests: tuple[ExistsTest, ...],
    context: ExecutionContext,
) -> Solutions:
    """Left rows with their compatible right rows that satisfy the condition; alone where there is none."""
    pairs = Compatible(left, right)
    found = context.collect(
        (number, pairs.merged(row, other)) for number, row in enumerate(left.rows) for other in pairs.rows_for(row)
    )
    if condition is not None:
        merged = Solutions(pairs.variables, [row for _, row in found])
        values = evaluate(condition, with_tests(merged, tests, context), context)
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
