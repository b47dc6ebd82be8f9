"""OPTIONAL, MINUS and [NOT] EXISTS: the left solutions, extended or sorted out by the right ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybridkg.graph.match.combine import ordered_union, values_of_rows
from hybridkg.graph.match.conditions import RowTest
from hybridkg.graph.match.ids import both, distinct, without
from hybridkg.graph.match.nodes import Hints, PatternNode
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable, all_pairs, concatenated, matched, merged
from hybridkg.interfaces.graph_index import Ids


def hints_of(left: SolutionTable, certain: frozenset[str], right: PatternNode) -> dict[str, Ids]:
    """The values that the left solutions have for variables that both sides always bind."""
    shared = [name for name in right.variables if name in certain and name in right.certain]
    if not shared or left.size > max(1_000.0, right.estimate(None) / 2):
        return {}
    return {name: distinct(left.columns[name]) for name in shared}


@dataclass(frozen=True, eq=False)
class OptionalNode:
    """Left solutions, extended by the right ones that fit and pass the tests, or alone where there is none."""

    left: PatternNode
    right: PatternNode
    tests: tuple[RowTest, ...]

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Of both sides."""
        return ordered_union([self.left.variables, self.right.variables])

    @property
    def certain(self) -> frozenset[str]:
        """What the left side always binds."""
        return self.left.certain

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        """As Node has it."""
        shared = frozenset(self.left.variables) & frozenset(self.right.variables)
        needed = wanted | shared
        needed = needed.union(*(test.variables for test in self.tests))
        left = self.left.rows(needed, hints, run)
        right = self.right.rows(needed, hints_of(left, self.left.certain, self.right), run)
        i, j = all_pairs(left, right, run)
        made = merged(left, right, i, j)
        if self.tests:
            passed = np.ones(made.size, np.bool_)
            for test in self.tests:
                passed &= test.holds(made, run)
            made, i = made.take(passed), i[passed]
        alone = np.ones(left.size, np.bool_)
        alone[i] = False
        names = [name for name in self.variables if name in wanted]
        return concatenated([made, left.take(alone)], names, run)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        """As Node has it: no left solution is lost."""
        return self.left.values(variable, among, run)

    def estimate(self, variable: str | None) -> float:
        """As Node has it."""
        return self.left.estimate(variable)


@dataclass(frozen=True, eq=False)
class SortedOutNode:
    """Left solutions for which a compatible right one exists, or none does.

    Args:
        negated: keep those for which none does.
        disjoint: two solutions without a common bound variable count as compatible (EXISTS), or do not (MINUS).
    """

    left: PatternNode
    right: PatternNode
    negated: bool
    disjoint: bool

    @property
    def variables(self) -> tuple[str, ...]:
        """Of the left side."""
        return self.left.variables

    @property
    def certain(self) -> frozenset[str]:
        """Of the left side."""
        return self.left.certain

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        """As Node has it."""
        shared = frozenset(self.left.variables) & frozenset(self.right.variables)
        left = self.left.rows(wanted | shared, hints, run)
        if left.size == 0 or (not shared and not self.disjoint):
            return left.only(wanted)
        right = self.right.rows(shared, hints_of(left, self.left.certain, self.right), run)
        found = matched(left, right, disjoint=self.disjoint)
        return left.take(~found if self.negated else found).only(wanted)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        """As Node has it: set algebra where the sides share this variable alone."""
        shared = frozenset(self.left.variables) & frozenset(self.right.variables)
        if shared == {variable} and variable in self.right.certain:
            mine = self.left.values(variable, among, run)
            found = self.right.values(variable, mine, run)
            return without(mine, found) if self.negated else both(mine, found)
        return values_of_rows(self, variable, among, run)

    def estimate(self, variable: str | None) -> float:
        """As Node has it."""
        return self.left.estimate(variable) / 2
