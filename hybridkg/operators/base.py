"""What every physical operator can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from hybridkg.interfaces.meter import OPERATORS, ROWS, Work
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery, RankedRequest
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, times, work_of
from hybridkg.rdf.solutions import Solutions


class PhysicalOperator(ABC):
    """A frozen dataclass; the state of a run lives in the ExecutionContext."""

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        """The operators whose rows it reads."""
        return ()

    def walk(self) -> Iterator[PhysicalOperator]:
        """This operator and all below it, in the order of EXPLAIN."""
        waiting: list[PhysicalOperator] = [self]
        while waiting:
            operator = waiting.pop()
            yield operator
            waiting += reversed(operator.children)

    def estimate(self, known: EstimationContext) -> float | None:
        """Rows it expects to give; None where nothing is known. Asked through `known.rows`. Cheap; never raises."""
        return None

    def work(self, known: EstimationContext) -> Work | None:
        """Work it expects to do itself, without its children; None where nothing is known. Never raises.

        Unless it says otherwise, an operator starts and handles the rows it reads, or gives where it has no child.
        """
        read = known.rows(self.children[0]) if self.children else known.rows(self)
        return work_of({OPERATORS: 1, ROWS: times(read, 0.5)})

    def below(self, known: EstimationContext) -> EstimationContext:
        """What the operators below it know."""
        return known

    @abstractmethod
    def run(self, context: ExecutionContext) -> Solutions:
        """Its rows. Never changes what its children gave. Call through `context.run`, which counts."""

    @abstractmethod
    def describe(self) -> str:
        """One line for EXPLAIN."""

    def details(self, known: EstimationContext) -> str:
        """More lines for EXPLAIN, or nothing."""
        return ""

    def sized(self, text: RankedIndex) -> tuple[RankedQuery, ...]:
        """Relations of whose size it will ask the text index, to decide how to go on."""
        return ()

    def questions(self, text: RankedIndex) -> tuple[RankedRequest, ...]:
        """What it will ask the text index whatever its children give, so that a run can ask for all at once."""
        return ()

    def asks(self, known: EstimationContext) -> str:
        """The exact text that it sends to the store, or nothing."""
        return ""


@dataclass(frozen=True)
class OneChild(PhysicalOperator):
    """An operator that reads one other and, unless it says otherwise, expects as many rows."""

    child: PhysicalOperator

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        """The child alone."""
        return (self.child,)

    def estimate(self, known: EstimationContext) -> float | None:
        """As many as the child."""
        return known.rows(self.child)
