"""Nodes that combine solutions: VALUES, UNION, sub-selects, and filters of what a solution may leave unbound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from hybridkg.graph.match.conditions import RowTest
from hybridkg.graph.match.ids import NONE, both, distinct, either
from hybridkg.graph.match.nodes import Hints, PatternNode, narrowed
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable, concatenated, deduplicated, empty
from hybridkg.interfaces.graph_index import UNBOUND, Ids


def ordered_union(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The names of all parts, in the order of their first places."""
    return tuple(dict.fromkeys(chain.from_iterable(parts)))


def values_of_rows(node: PatternNode, variable: str, among: Ids | None, run: PatternRun) -> Ids:
    """The values of a certain variable, by making the rows."""
    hints = {} if among is None else {variable: among}
    found = distinct(node.rows(frozenset((variable,)), hints, run).columns[variable])
    return found if among is None else both(found, among)


@dataclass(frozen=True, eq=False)
class TableNode:
    """Solutions that are known already."""

    table: SolutionTable

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.table.columns)

    @cached_property
    def certain(self) -> frozenset[str]:
        """The columns without a gap."""
        return frozenset(name for name, column in self.table.columns.items() if not (column == UNBOUND).any())

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        """As Node has it."""
        run.read(self.table.size)
        return self.table.only(wanted)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        """As Node has it."""
        return values_of_rows(self, variable, among, run)

    def estimate(self, variable: str | None) -> float:
        """As Node has it."""
        return self.table.size


@dataclass(frozen=True, eq=False)
class UnionNode:
    """Solutions of every branch."""

    branches: tuple[PatternNode, ...]

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Of all branches."""
        return ordered_union([branch.variables for branch in self.branches])

    @cached_property
    def certain(self) -> frozenset[str]:
        """What every branch binds."""
        return frozenset.intersection(*(branch.certain for branch in self.branches)) if self.branches else frozenset()

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        """As Node has it."""
        names = [name for name in self.variables if name in wanted]
        return concatenated([branch.rows(wanted, hints, run) for branch in self.branches], names, run)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        """As Node has it."""
        found = [branch.values(variable, among, run) for branch in self.branches]
        run.read(sum(map(len, found)))
        return either(found)

    def estimate(self, variable: str | None) -> float:
        """As Node has it."""
        return sum(branch.estimate(variable) for branch in self.branches)


@dataclass(frozen=True, eq=False)
class RestrictNode:
    """Solutions of the child that pass tests of variables that it may leave unbound."""

    child: PatternNode
    tests: tuple[RowTest, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """Of the child."""
        return self.child.variables

    @property
    def certain(self) -> frozenset[str]:
        """Of the child."""
        return self.child.certain

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        """As Node has it."""
        read = frozenset().union(*(test.variables for test in self.tests))
        table = self.child.rows(wanted | read, hints, run)
        for test in self.tests:
            table = table.take(test.holds(table, run))
        return table.only(wanted)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        """As Node has it."""
        return values_of_rows(self, variable, among, run)

    def estimate(self, variable: str | None) -> float:
        """As Node has it."""
        return self.child.estimate(variable) / 2


@dataclass(frozen=True, eq=False)
class SelectNode:
    """A sub-select: some columns of the child, perhaps every row once."""

    child: PatternNode
    variables: tuple[str, ...]
    distinct: bool

    @cached_property
    def certain(self) -> frozenset[str]:
        """What is certain in the child, of the columns that are left."""
        return self.child.certain & frozenset(self.variables)

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        """As Node has it."""
        inner = frozenset(self.variables) if self.distinct else wanted & frozenset(self.variables)
        table = self.child.rows(inner, narrowed(hints, self.certain), run).only(inner)
        if self.distinct:
            table = deduplicated(SolutionTable({name: table.column(name) for name in self.variables}, table.size))
        return table.only(wanted)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        """As Node has it."""
        return self.child.values(variable, among, run)

    def estimate(self, variable: str | None) -> float:
        """As Node has it."""
        if variable is None and self.distinct and len(self.variables) == 1 and self.certain:
            return self.child.estimate(self.variables[0])
        return self.child.estimate(variable)


@dataclass(frozen=True, eq=False)
class NothingNode:
    """No solution."""

    variables: tuple[str, ...]

    @property
    def certain(self) -> frozenset[str]:
        """Of no solution everything is true."""
        return frozenset(self.variables)

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        """None."""
        return empty(name for name in self.variables if name in wanted)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        """None."""
        return NONE

    def estimate(self, variable: str | None) -> float:
        """Zero."""
        return 0.0
