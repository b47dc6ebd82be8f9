"""Physical operators: the interface of all nodes of a physical plan."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hybridkg.interfaces.meter import OPERATORS, ROWS, Work
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery, RankedRequest
from hybridkg.operators.blocks import parts_of
from hybridkg.operators.columns import InColumns, columns_of
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, VariableSize, times, work_of
from hybridkg.rdf.solutions import Solutions, SolutionStream


class PhysicalOperator:
    """Node of a physical plan: a frozen dataclass; the state of a run is in the ExecutionContext.

    No ABC: `isinstance` with a class of ABCMeta is a call of Python, 0.3 us, and planner and operators ask it often.
    """

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        """Operators whose rows it reads."""
        return ()

    @property
    def takes_first(self) -> int | None:
        """Number of first rows of its child that it reads, of each part of them; None for all."""
        return None

    def walk(self) -> Iterator[PhysicalOperator]:
        """This operator and all below it, in the order of EXPLAIN."""
        waiting: list[PhysicalOperator] = [self]
        while waiting:
            operator = waiting.pop()
            yield operator
            waiting += reversed(operator.children)

    def estimate(self, estimates: EstimationContext) -> float | None:
        """Expected rows; None if unknown. Call through `estimates.rows`. Fast; never raises."""
        return None

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        """Expected figures of a variable; None if unknown, as for the entities of a ranked relation, or if it is none
        of the rows. Call through `estimates.variable_size`.
        """
        return None

    def work(self, estimates: EstimationContext) -> Work | None:
        """Expected own work, without the children; None if unknown. Never raises.

        Default: start the operator and handle the rows it reads, or returns if it has no child.
        """
        read = estimates.rows(self.children[0]) if self.children else estimates.rows(self)
        return work_of({OPERATORS: 1, ROWS: times(read, 0.5)})

    def below(self, estimates: EstimationContext) -> EstimationContext:
        """Estimation context of the children."""
        return estimates

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        """Operators among this one and those below that may leave out rows with other values of a variable than some
        given ones, such that every row of this operator with one of these values stays: a semi-join pushed down.

        By default none, as where a LIMIT or a group depends on the rows that would be left out.
        """
        return ()

    @abstractmethod
    def run(self, context: ExecutionContext) -> Solutions:
        """Rows of the operator. Must not modify the rows of the children. Call through `context.run`, which counts."""

    def stream(self, context: ExecutionContext) -> SolutionStream | InColumns | None:
        """The rows of `run` as they are computed, for the root of a plan, or columns, whose rows are made in blocks;
        None if it has to hold rows.
        """
        return None

    def blocks(self, context: ExecutionContext, first: Sequence[str]) -> Iterator[InColumns]:
        """The rows of `run` in blocks that fit in memory, in an order that depends on the graph and the limits alone.

        By default all rows are computed at once, which may leave them on disk.

        Args:
            context: of the run, which works on columns.
            first: variables by whose ids the rows are best divided.

        Raises:
            QueryLimitError: a block does not fit in memory.
        """
        return parts_of(columns_of(context.run(self), context.made), context)

    @abstractmethod
    def describe(self) -> str:
        """Line for EXPLAIN."""

    def at_work(self) -> str:
        """Description for the error of a stopped query."""
        return self.describe()

    def details(self, estimates: EstimationContext) -> str:
        """Further lines for EXPLAIN."""
        return ""

    def sized(self, text: RankedIndex) -> tuple[RankedQuery, ...]:
        """Relations whose match count it will request from the text index."""
        return ()

    def questions(self, text: RankedIndex) -> tuple[RankedRequest, ...]:
        """Requests that it will send to the text index in any case; a run batches those of all operators."""
        return ()

    def asks(self, estimates: EstimationContext) -> str:
        """Exact text that it sends to the store; empty without one."""
        return ""


@dataclass(frozen=True)
class OneChild(PhysicalOperator):
    """Operator with one child and, by default, as many expected rows."""

    child: PhysicalOperator

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        return (self.child,)

    def estimate(self, estimates: EstimationContext) -> float | None:
        return estimates.rows(self.child)

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        return estimates.variable_size(self.child, name)
