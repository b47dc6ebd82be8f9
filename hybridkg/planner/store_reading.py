"""The work of Oxigraph for a query, by the estimates of the operators over columns that answer the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybridkg.interfaces.meter import ADJACENCY
from hybridkg.operators.any_solution import AnySolution
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import BindJoin, FragmentProbe
from hybridkg.operators.column_query import ColumnQuery
from hybridkg.operators.construct import Construct
from hybridkg.operators.count_groups import CountGroups
from hybridkg.operators.describe import Describe
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.extend import Extend
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.group import GroupRows
from hybridkg.operators.join import HashJoin
from hybridkg.operators.left_join import BindLeftJoin, LeftJoin
from hybridkg.operators.minus import BindMinus, Minus
from hybridkg.operators.order_rows import OrderRows
from hybridkg.operators.project import Project, Slice
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.read_first import read_first, reads_first

JOINS = frozenset({HashJoin, LeftJoin, Minus, BindJoin, BindLeftJoin, BindMinus})

WHOLE = frozenset({GroupRows, CountGroups, OrderRows})
"""Operators whose first row comes after the last one that they read."""


@dataclass(frozen=True)
class StoreReading:
    """The work of Oxigraph for the rows of some operators over columns.

    It stops after the last solution that is wanted; those are spread evenly over what it reads. It reads whole what is
    grouped or sorted, the right side of a join of sub-plans, and in a pattern that of MINUS, and sub-selects.

    Args:
        root: the operator that returns the answer.
        solutions: that of the solutions of a graph; the root where there is none.
        listed: that whose rows come one by one; a LIMIT may be above it.
        skipped: rows of an OFFSET, which are read as well.
        whole, streamed: operators that read patterns.
        built: those of them for which Oxigraph reads a part of the pattern before its first row.
        joins: those that join.
    """

    root: PhysicalOperator
    solutions: PhysicalOperator
    listed: PhysicalOperator
    skipped: int
    whole: tuple[PhysicalOperator, ...]
    streamed: tuple[PhysicalOperator, ...]
    built: tuple[PhysicalOperator, ...]
    joins: tuple[PhysicalOperator, ...]

    @classmethod
    def of(cls, operators: Sequence[PhysicalOperator]) -> StoreReading:
        """The reading of a plan."""
        root = next(operator for operator in operators if isinstance(operator, ColumnQuery)).child
        solutions = root.child if isinstance(root, Construct | Describe) else root
        whole, streamed, joins = list[PhysicalOperator](), list[PhysicalOperator](), list[PhysicalOperator]()
        waiting: list[tuple[PhysicalOperator, bool]] = [(solutions, False)]
        while waiting:
            operator, is_whole = waiting.pop()
            is_whole = is_whole or type(operator) in WHOLE
            joins += [operator] if type(operator) in JOINS else []
            if isinstance(operator, GraphFragment | FragmentProbe | CountGroups | AnySolution):
                (whole if is_whole else streamed).append(operator)
            waiting += [(child, is_whole or place > 0) for place, child in enumerate(operator.children)]
        listed, skipped = solutions, 0
        while isinstance(listed, Slice | Project | Extend) and not (isinstance(listed, Project) and listed.distinct):
            skipped += listed.offset if isinstance(listed, Slice) else 0
            listed = listed.child
        built = tuple(operator for operator in (*whole, *streamed) if reads_first(operator))
        return cls(root, solutions, listed, skipped, tuple(whole), tuple(streamed), built, tuple(joins))

    def read(self, planning: PlannerContext) -> tuple[float, float]:
        """(entries, rows of joins). Every entry costs as much as a row: Oxigraph decodes its terms."""
        estimates, listed, share = planning.estimates, self.listed, 1.0
        wanted = estimates.rows(self.solutions) or 0.0
        if type(listed) not in WHOLE:
            rows = estimates.rows(listed.fragment if type(listed) is AnySolution else listed) or 0.0
            share = min(1.0, (wanted + self.skipped) / rows) if rows else 1.0
        firsts = {id(operator): read_first(operator, planning) for operator in self.built} if self.built else {}
        whole = sum([max(_entries(one, estimates), firsts.get(id(one), 0.0)) for one in self.whole])
        streamed = sum([max(_entries(one, estimates), firsts.get(id(one), 0.0)) for one in self.streamed])
        if share < 1.0:
            first = min(streamed, sum([firsts.get(id(one), 0.0) for one in self.streamed]))
            whole, streamed = whole + first, streamed - first
        read = max(wanted, whole + share * streamed)
        if self.root is not self.solutions:
            entries = _entries(self.root, estimates) if type(self.root) is Describe else 0.0
            read = max(read + entries, estimates.rows(self.root) or 0.0)
        return read, share * sum([estimates.rows(operator) or 0.0 for operator in self.joins])


def _entries(operator: PhysicalOperator, estimates: EstimationContext) -> float:
    """Entries that an operator reads, or its rows of a pattern if they are more."""
    rows: float | None = 0.0
    if type(operator) is CountGroups or type(operator) is AnySolution:
        rows = estimates.rows(operator.fragment)
    elif isinstance(operator, GraphFragment):
        if operator.counted:  # it lists what columns count
            rows = estimates.size(operator.pattern)
        elif operator.group.elements:
            rows = estimates.rows(operator)
    elif isinstance(operator, FragmentProbe):
        size = operator.size(estimates)
        rows = None if size is None else size.pairs
    return max(rows or 0.0, (estimates.work(operator) or {}).get(ADJACENCY, 0.0))
