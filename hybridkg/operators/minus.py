"""MINUS over solution lists."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.operators.base import OneChild, PhysicalOperator
from hybridkg.operators.bind_join import met
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.join import Compatible
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Term


@dataclass(frozen=True)
class Minus(PhysicalOperator):
    """Left rows that share no variable with, or disagree with, every right row."""

    left: PhysicalOperator
    right: PhysicalOperator

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        """Left, right."""
        return (self.left, self.right)

    def estimate(self, known: EstimationContext) -> float | None:
        """At most the left side."""
        return known.rows(self.left)

    def run(self, context: ExecutionContext) -> Solutions:
        """Keeps the left rows without an overlapping compatible partner."""
        return _without(context.run(self.left), context.run(self.right), context)

    def describe(self) -> str:
        """The name."""
        return "Minus"


@dataclass(frozen=True)
class BindMinus(OneChild):
    """The rows of Minus(child, fragment), the fragment asked only about what the child has.

    `variable` is bound in every row of both sides.
    """

    fragment: GraphFragment
    variable: str

    def estimate(self, known: EstimationContext) -> float | None:
        """At most those of the child."""
        return known.rows(self.child)

    def run(self, context: ExecutionContext) -> Solutions:
        """Reads the child, then what the fragment has for it."""
        left = context.run(self.child)
        at = left.variables.index(self.variable)
        values: list[Term | None] = list(dict.fromkeys(row[at] for row in left.rows))
        rows = met(self.fragment, self.variable, values, context) if values else []
        return _without(left, Solutions(self.fragment.columns, rows), context)

    def asks(self, known: EstimationContext) -> str:
        """The fragment, without the values."""
        return self.fragment.asks(known)

    def describe(self) -> str:
        """The probed variable."""
        return f"BindMinus on ?{self.variable}"

    def details(self, known: EstimationContext) -> str:
        """What is probed."""
        return self.fragment.details(known)


def _without(left: Solutions, right: Solutions, context: ExecutionContext) -> Solutions:
    """SPARQL 1.1 section 18.5: a right row removes only what it shares a bound variable with."""
    pairs = Compatible(left, right)
    shared = [(i, right.variables.index(name)) for i, name in enumerate(left.variables) if name in right.variables]

    def removed(row: Row) -> bool:
        return any(any(row[i] is not None and other[j] is not None for i, j in shared) for other in pairs.rows_for(row))

    return Solutions(left.variables, context.collect(row for row in left.rows if not shared or not removed(row)))
