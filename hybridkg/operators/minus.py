"""MINUS over solution lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybridkg.interfaces.meter import Work
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import FragmentProbe, fragment_for, met
from hybridkg.operators.column_join import binding_groups
from hybridkg.operators.columns import InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, VariableSize, cells
from hybridkg.operators.join import Compatible, joining
from hybridkg.operators.join_size import join_size, remaining_rows
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Term


@dataclass(frozen=True)
class Minus(PhysicalOperator):
    """Left rows that share no variable with, or disagree with, every right row."""

    left: PhysicalOperator
    right: PhysicalOperator
    shared: tuple[str, ...] = ()

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        return (self.left, self.right)

    def estimate(self, estimates: EstimationContext) -> float | None:
        size = join_size(self.left, self.right, self.shared, estimates) if self.shared else None
        return remaining_rows(estimates.rows(self.left), size)

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        return estimates.variable_size(self.left, name)

    def work(self, estimates: EstimationContext) -> Work | None:
        return cells(estimates.rows(self.left), estimates.rows(self.right))

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return self.left.restrictable(variable)

    def run(self, context: ExecutionContext) -> Solutions:
        left = context.run(self.left)
        return _without(left, joining(self.right, left, self.shared, context), context) if left.size else left

    def describe(self) -> str:
        return "Minus"


@dataclass(frozen=True)
class BindMinus(FragmentProbe):
    """Rows of Minus(child, fragment), the fragment restricted to the values of the child."""

    def estimate(self, estimates: EstimationContext) -> float | None:
        return remaining_rows(estimates.rows(self.child), self.size(estimates))

    def run(self, context: ExecutionContext) -> Solutions:
        left = context.run(self.child)
        if isinstance(left, InColumns):
            right = fragment_for(self.fragment, self.variable, left, context)
            if right is not None:
                return _without(left, right, context)
        at = left.variables.index(self.variable)
        values: list[Term | None] = list(dict.fromkeys(row[at] for row in left.rows))
        rows = met(self.fragment, self.variable, values, context) if values else []
        return _without(left, Solutions(self.fragment.columns, rows), context)


def _without(left: Solutions, right: Solutions, context: ExecutionContext) -> Solutions:
    """SPARQL 1.1 section 18.5: a right row removes only rows with which it shares a bound variable."""
    if isinstance(left, InColumns) and isinstance(right, InColumns):
        names = [name for name in left.variables if name in right.columns]
        groups = binding_groups(left, right, names) if names else []
        if groups is not None:
            remains = np.ones(left.size, np.bool_)
            for group in groups:
                if group.common:
                    remains[group.at_left] &= ~np.isin(group.mine, group.its)
            return left if remains.all() else left.take(np.flatnonzero(remains))
    pairs = Compatible(left, right)
    shared = [(i, right.variables.index(name)) for i, name in enumerate(left.variables) if name in right.variables]

    def removed(row: Row) -> bool:
        return any(any(row[i] is not None and other[j] is not None for i, j in shared) for other in pairs.rows_for(row))

    return Solutions(left.variables, context.collect(row for row in left.rows if not shared or not removed(row)))
