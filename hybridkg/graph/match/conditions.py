"""Tests of one variable as sets of ids: a range that passes for sure, and a range in doubt.

Ids are in value order, so a few binary searches decide nearly all of a test. The rest is `doubt`, decided value by
value: by Oxigraph's own comparison, or on the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hybridkg.errors import QueryLimitError
from hybridkg.graph.match.ids import IdRanges, Mask, distinct
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable
from hybridkg.interfaces.graph_index import UNBOUND, Ids

Decide = Callable[[Ids], Mask]
"""For a set of ids in doubt: bool[n], which pass."""

NOTHING = IdRanges(())

MAX_REQUESTED = 1_000_000
"""Values that Oxigraph evaluates in one step: 3 s on the 2-core machine. Compilation declines foreseeable cases at a
lower limit."""


def _never(ids: Ids) -> Mask:
    return np.zeros(len(ids), np.bool_)


@dataclass(frozen=True, eq=False)
class IdTest:
    """A test of one variable as a predicate over ids.

    Args:
        sure: ids that pass.
        doubt: ids to be decided, disjoint from `sure`. All other ids fail, UNBOUND included.
        decide: which ids in doubt pass.
        delegated: ids in doubt that Oxigraph decides; the others are decided on their bytes.
        of_strings: whether most of the delegated ids are decided on their bytes as well.
    """

    sure: IdRanges
    doubt: IdRanges = NOTHING
    decide: Decide = _never
    delegated: IdRanges = NOTHING
    of_strings: bool = False

    @cached_property
    def span(self) -> IdRanges:
        return self.sure | self.doubt if self.doubt.bounds else self.sure

    def of_set(self, ids: Ids, run: PatternRun) -> Ids:
        possible = self.span.of_set(ids)
        if not self.doubt.bounds or len(possible) == 0:
            return possible
        doubtful = self.doubt.holds(possible)
        if not doubtful.any():
            return possible
        run.meter.check()
        passed = ~doubtful
        passed[doubtful] = self._decided(possible[doubtful], run)
        return possible[passed]

    def holds(self, ids: Ids, run: PatternRun) -> Mask:
        """bool[len(ids)]: which ids pass; in any order, repeats allowed."""
        mask = self.sure.holds(ids)
        if self.doubt.bounds:
            doubtful = self.doubt.holds(ids)
            if doubtful.any():
                run.meter.check()
                values = distinct(ids[doubtful])
                mask[doubtful] = self._decided(values, run)[values.searchsorted(ids[doubtful])]
        return mask

    def _decided(self, ids: Ids, run: PatternRun) -> Mask:
        """bool[len(ids)]: which ids in doubt, ascending and distinct, pass; those of the first call are remembered."""
        if id(self) not in run.decided:
            run.decided[id(self)] = ids, self._decide(ids)
            return run.decided[id(self)][1]
        known, passed = run.decided[id(self)]
        at = np.minimum(known.searchsorted(ids), len(known) - 1)
        mask, is_new = passed[at], known[at] != ids
        if is_new.any():
            mask[is_new] = self._decide(ids[is_new])
        return mask

    def _decide(self, ids: Ids) -> Mask:
        if self.delegated.bounds and len(ids) > MAX_REQUESTED:
            values = int(self.delegated.holds(ids).sum())
            if values > MAX_REQUESTED:
                raise QueryLimitError(
                    f"a test of the query would be evaluated on {values:,} values one by one",
                    hint="compare with a constant, or add a condition that leaves fewer values",
                )
        return self.decide(ids)


@dataclass(frozen=True)
class Order:
    """The ids of a segment below, equal to, and above a constant; ids in none of these are in doubt."""

    below: IdRanges
    equal: IdRanges
    above: IdRanges

    def __or__(self, other: Order) -> Order:
        return Order(self.below | other.below, self.equal | other.equal, self.above | other.above)

    def true(self, op: str) -> IdRanges:
        """The ids that pass `value op constant` for sure."""
        match op:
            case "=":
                return self.equal
            case "!=":
                return self.below | self.above
            case "<" | "<=":
                return self.below if op == "<" else self.below | self.equal
        return self.above if op == ">" else self.above | self.equal

    @property
    def decided(self) -> IdRanges:
        return self.below | self.equal | self.above


def any_of(conditions: Sequence[IdTest]) -> IdTest:
    """The disjunction of conditions."""
    if len(conditions) == 1:
        return conditions[0]
    sure, doubt, delegated = NOTHING, NOTHING, NOTHING
    for condition in conditions:
        sure, doubt, delegated = sure | condition.sure, doubt | condition.doubt, delegated | condition.delegated
    doubt = doubt - sure
    decide = lambda ids: np.logical_or.reduce([_decided(c, ids) for c in conditions])
    return IdTest(sure, doubt, decide, delegated & doubt)


def all_of(conditions: Sequence[IdTest]) -> IdTest:
    """The conjunction of conditions."""
    if len(conditions) == 1:
        return conditions[0]
    sure, span, delegated = conditions[0].sure, conditions[0].span, conditions[0].delegated
    for condition in conditions[1:]:
        sure, span, delegated = sure & condition.sure, span & condition.span, delegated | condition.delegated
    doubt = span - sure
    return IdTest(sure, doubt, lambda ids: _all_decided(conditions, ids), delegated & doubt)


def _all_decided(conditions: Sequence[IdTest], ids: Ids) -> Mask:
    """bool[len(ids)]: which ids pass all conditions; Oxigraph decides last, and only what the others leave."""
    left = np.ones(len(ids), np.bool_)
    for condition in sorted(conditions, key=lambda c: c.delegated.size):
        left[left] = _decided(condition, ids[left])
    return left


def _decided(condition: IdTest, ids: Ids) -> Mask:
    mask = condition.sure.holds(ids)
    doubtful = condition.doubt.holds(ids)
    if doubtful.any():
        mask[doubtful] = condition.decide(ids[doubtful])
    return mask


@dataclass(frozen=True, eq=False)
class ColumnTest:
    """A row test of one column."""

    variable: str
    condition: IdTest

    @property
    def variables(self) -> frozenset[str]:
        return frozenset((self.variable,))

    def holds(self, table: SolutionTable, run: PatternRun) -> Mask:
        return self.condition.holds(table.column(self.variable), run)


@dataclass(frozen=True, eq=False)
class SameColumns:
    """The row test that two bound columns have the same id, or (negated) different ids."""

    left: str
    right: str
    negated: bool

    @property
    def variables(self) -> frozenset[str]:
        return frozenset((self.left, self.right))

    def holds(self, table: SolutionTable, run: PatternRun) -> Mask:
        left, right = table.column(self.left), table.column(self.right)
        equal = (left != right) if self.negated else (left == right)
        return np.asarray(equal & (left != UNBOUND) & (right != UNBOUND))


@dataclass(frozen=True, eq=False)
class ColumnsInOrder:
    """The row test that the texts of two bound columns of IRIs are in an order.

    Args:
        left, right: variables.
        compare: of two sort keys.
        keys: sort keys of IRIs.
    """

    left: str
    right: str
    compare: Callable[[Any, Any], Any]
    keys: Callable[[Ids], Any]

    @property
    def variables(self) -> frozenset[str]:
        return frozenset((self.left, self.right))

    def holds(self, table: SolutionTable, run: PatternRun) -> Mask:
        both = np.concatenate([table.column(self.left), table.column(self.right)])
        mask = np.zeros(table.size, np.bool_)
        bound = (both[: table.size] != UNBOUND) & (both[table.size :] != UNBOUND)
        keys = self.keys(both[np.tile(bound, 2)])
        half = len(keys) // 2
        mask[bound] = self.compare(keys[:half], keys[half:])
        return mask


@dataclass(frozen=True, eq=False)
class Combined:
    """The conjunction (`every`) or disjunction of row tests."""

    tests: tuple[RowTest, ...]
    every: bool

    @property
    def variables(self) -> frozenset[str]:
        return frozenset().union(*(test.variables for test in self.tests))

    def holds(self, table: SolutionTable, run: PatternRun) -> Mask:
        mask = np.full(table.size, self.every)
        for test in self.tests:
            passed = test.holds(table, run)
            mask = mask & passed if self.every else mask | passed
        return mask


RowTest = ColumnTest | SameColumns | ColumnsInOrder | Combined
