"""Nodes of VALUES, UNION, sub-selects, and filters of variables that may be unbound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from hybridkg.graph.match.conditions import RowTest
from hybridkg.graph.match.grouping import count_rows
from hybridkg.graph.match.ids import NONE, both, distinct, either
from hybridkg.graph.match.nodes import Hints, PatternNode, narrowed
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable, concatenated, empty
from hybridkg.interfaces.graph_index import UNBOUND, Ids


def ordered_union(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The distinct names of all parts, in the order of their first occurrence."""
    return tuple(dict.fromkeys(chain.from_iterable(parts)))


def values_of_rows(node: PatternNode, variable: str, among: Ids | None, run: PatternRun) -> Ids:
    hints = {} if among is None else {variable: among}
    ids = distinct(node.rows(frozenset((variable,)), hints, run).columns[variable])
    return ids if among is None else both(ids, among)


@dataclass(frozen=True, eq=False)
class TableNode:
    """The node of a constant table (VALUES)."""

    table: SolutionTable

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(self.table.columns)

    @cached_property
    def certain(self) -> frozenset[str]:
        return frozenset(name for name, column in self.table.columns.items() if not (column == UNBOUND).any())

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        run.read(self.table.size)
        return self.table.only(wanted)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        return values_of_rows(self, variable, among, run)

    def estimate(self, variable: str | None) -> float:
        return self.table.size

    def domain(self, variable: str) -> float:
        return self.estimate(variable)

    def unbound_share(self, variable: str) -> float:
        return float((self.table.columns[variable] == UNBOUND).mean()) if self.table.size else 0.0


@dataclass(frozen=True, eq=False)
class UnionNode:
    """The node of UNION: the concatenated solutions of all branches."""

    branches: tuple[PatternNode, ...]

    @cached_property
    def variables(self) -> tuple[str, ...]:
        return ordered_union([branch.variables for branch in self.branches])

    @cached_property
    def certain(self) -> frozenset[str]:
        return frozenset.intersection(*(branch.certain for branch in self.branches)) if self.branches else frozenset()

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        names = [name for name in self.variables if name in wanted]
        return concatenated([branch.rows(wanted, hints, run) for branch in self.branches], names, run)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        sets = [branch.values(variable, among, run) for branch in self.branches]
        run.read(sum(map(len, sets)))
        return either(sets)

    def estimate(self, variable: str | None) -> float:
        return sum(branch.estimate(variable) for branch in self.branches)

    def domain(self, variable: str) -> float:
        return sum(branch.domain(variable) for branch in self.branches if variable in branch.variables)

    def unbound_share(self, variable: str) -> float:
        rows = self.estimate(None)
        absent = [
            branch.estimate(None) * (branch.unbound_share(variable) if variable in branch.variables else 1.0)
            for branch in self.branches
        ]
        return min(1.0, sum(absent) / rows) if rows else 0.0


@dataclass(frozen=True, eq=False)
class RestrictNode:
    """The node of a FILTER over variables that the child may leave unbound."""

    child: PatternNode
    tests: tuple[RowTest, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return self.child.variables

    @property
    def certain(self) -> frozenset[str]:
        return self.child.certain

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        read = frozenset().union(*(test.variables for test in self.tests))
        table = self.child.rows(wanted | read, hints, run)
        for test in self.tests:
            table = table.take(test.holds(table, run))
        return table.only(wanted)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        return values_of_rows(self, variable, among, run)

    def estimate(self, variable: str | None) -> float:
        return self.child.estimate(variable) / 2

    def domain(self, variable: str) -> float:
        return self.child.domain(variable)

    def unbound_share(self, variable: str) -> float:
        return self.child.unbound_share(variable)


@dataclass(frozen=True, eq=False)
class SelectNode:
    """The node of a sub-select: a projection of the child, optionally DISTINCT."""

    child: PatternNode
    variables: tuple[str, ...]
    distinct: bool

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.child.certain & frozenset(self.variables)

    @property
    def restricted(self) -> frozenset[str]:
        """Variables whose values in `rows` are among the hints, as in JoinShape."""
        return self.certain if self.distinct and len(self.variables) == 1 else frozenset()

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        if self.restricted:
            (name,) = self.variables
            ids = self.child.values(name, hints.get(name), run)
            return SolutionTable({name: ids}, len(ids)).only(wanted)
        inner = frozenset(self.variables) if self.distinct else wanted & frozenset(self.variables)
        table = self.child.rows(inner, narrowed(hints, self.certain), run).only(inner)
        if self.distinct:
            table = SolutionTable({name: table.column(name) for name in self.variables}, table.size)
            table = count_rows(table, inner).table
        return table.only(wanted)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        return self.child.values(variable, among, run)

    def estimate(self, variable: str | None) -> float:
        if variable is None and self.distinct and len(self.variables) == 1 and self.certain:
            return self.child.estimate(self.variables[0])
        return self.child.estimate(variable)

    def domain(self, variable: str) -> float:
        return self.child.domain(variable)

    def unbound_share(self, variable: str) -> float:
        return self.child.unbound_share(variable)


@dataclass(frozen=True, eq=False)
class EmptyNode:
    """The node of a pattern without solutions."""

    variables: tuple[str, ...]

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(self.variables)

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        return empty(name for name in self.variables if name in wanted)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        return NONE

    def estimate(self, variable: str | None) -> float:
        return 0.0

    def domain(self, variable: str) -> float:
        return 0.0

    def unbound_share(self, variable: str) -> float:
        return 0.0
