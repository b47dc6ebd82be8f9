"""Nodes of OPTIONAL, MINUS and [NOT] EXISTS: left solutions, extended or filtered by right ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybridkg.graph.match.combine import ordered_union, values_of_rows
from hybridkg.graph.match.compatible import CompatiblePairs, compatible_pairs
from hybridkg.graph.match.conditions import RowTest
from hybridkg.graph.match.edges import Edge
from hybridkg.graph.match.ids import both, distinct, without
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.nodes import Hints, PatternNode
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable, all_pairs, concatenated, matched, merged
from hybridkg.interfaces.graph_index import Ids


def hints_of(left: SolutionTable, certain: frozenset[str], right: PatternNode) -> dict[str, Ids]:
    """Hints for the right side: the values of the left solutions for variables that both sides always bind."""
    shared = [name for name in right.variables if name in certain and name in right.certain]
    if not shared or left.size > max(1_000.0, right.estimate(None) / 2):
        return {}
    return {name: distinct(left.columns[name]) for name in shared}


@dataclass(frozen=True, eq=False)
class OptionalNode:
    """The left join: left solutions with each compatible right one that passes the tests, or alone without any."""

    left: PatternNode
    right: PatternNode
    tests: tuple[RowTest, ...]

    @cached_property
    def variables(self) -> tuple[str, ...]:
        return ordered_union([self.left.variables, self.right.variables])

    @property
    def certain(self) -> frozenset[str]:
        return self.left.certain

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        shared = frozenset(self.left.variables) & frozenset(self.right.variables)
        needed = wanted | shared
        needed = needed.union(*(test.variables for test in self.tests))
        left = self.left.rows(needed, hints, run)
        if self._lookup is not None:
            return self._looked_up(self._lookup, left, wanted, run)
        right = self.right.rows(needed, hints_of(left, self.left.certain, self.right), run)
        i, j = all_pairs(left, right, run)
        pairs = merged(left, right, i, j)
        if self.tests:
            passed = np.ones(pairs.size, np.bool_)
            for test in self.tests:
                passed &= test.holds(pairs, run)
            pairs, i = pairs.take(passed), i[passed]
        alone = np.ones(left.size, np.bool_)
        alone[i] = False
        names = [name for name in self.variables if name in wanted]
        return concatenated([pairs, left.take(alone)], names, run)

    @cached_property
    def _lookup(self) -> Edge | None:
        """The right side, if it is one edge from a variable of each left solution to at most one value of another."""
        shared = [name for name in self.right.variables if name in self.left.variables]
        if not isinstance(self.right, JoinNode) or self.tests or len(shared) != 1:
            return None
        return self.right.shape.lookup(shared[0]) if shared[0] in self.left.certain else None

    def _looked_up(self, edge: Edge, left: SolutionTable, wanted: frozenset[str], run: PatternRun) -> SolutionTable:
        """The left solutions with the value that the edge adds to each, UNBOUND where there is none."""
        here, there = edge.variables if edge.variables[0] in left.columns else edge.variables[::-1]
        columns = {name: column for name, column in left.columns.items() if name in wanted}
        if there in wanted:
            run.room_for(left.size)
            columns[there] = edge.relation.lookup(left.columns[here], edge.from_subject(here), run)
        return SolutionTable(columns, left.size)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        return self.left.values(variable, among, run)

    @cached_property
    def pairs(self) -> CompatiblePairs:
        """The expected pairs that pass the tests."""
        pairs, matched = compatible_pairs(self.left, self.right)
        pairs /= 2.0 ** len(self.tests)
        return CompatiblePairs(pairs, min(matched, pairs / max(self.left.estimate(None), 1.0)))

    def estimate(self, variable: str | None) -> float:
        if variable is not None:
            side = self.left if variable in self.left.variables else self.right
            return side.estimate(variable)
        rows = self.left.estimate(None)
        return max(rows, self.pairs.pairs + rows * (1.0 - self.pairs.matched))

    def domain(self, variable: str) -> float:
        return (self.left if variable in self.left.variables else self.right).domain(variable)

    def unbound_share(self, variable: str) -> float:
        share = self.left.unbound_share(variable) if variable in self.left.variables else 1.0
        if share and variable in self.right.variables:
            share *= 1.0 - self.pairs.matched * (1.0 - self.right.unbound_share(variable))
        return share


@dataclass(frozen=True, eq=False)
class SemiJoinNode:
    """The semi-join (EXISTS) or, negated, anti-join (MINUS, NOT EXISTS) of left solutions with right ones.

    `disjoint`: whether solutions without a common bound variable count as compatible: yes for EXISTS, no for MINUS.
    """

    left: PatternNode
    right: PatternNode
    negated: bool
    disjoint: bool

    @property
    def variables(self) -> tuple[str, ...]:
        return self.left.variables

    @property
    def certain(self) -> frozenset[str]:
        return self.left.certain

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        shared = frozenset(self.left.variables) & frozenset(self.right.variables)
        left = self.left.rows(wanted | shared, hints, run)
        if left.size == 0 or (not shared and not self.disjoint):
            return left.only(wanted)
        right = self.right.rows(shared, hints_of(left, self.left.certain, self.right), run)
        mask = matched(left, right, disjoint=self.disjoint)
        return left.take(~mask if self.negated else mask).only(wanted)

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        """By set algebra when the sides share this variable alone."""
        shared = frozenset(self.left.variables) & frozenset(self.right.variables)
        if shared == {variable} and variable in self.right.certain:
            left = self.left.values(variable, among, run)
            right = self.right.values(variable, left, run)
            return without(left, right) if self.negated else both(left, right)
        return values_of_rows(self, variable, among, run)

    def estimate(self, variable: str | None) -> float:
        return self.left.estimate(variable) / 2

    def domain(self, variable: str) -> float:
        return self.left.domain(variable)

    def unbound_share(self, variable: str) -> float:
        return self.left.unbound_share(variable)
