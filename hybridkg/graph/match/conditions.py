"""Tests of one variable as sets of ids: what is surely true, and what must be decided one by one.

Values lie in the order of ids, so nearly all of a test is known from a few binary searches; the rest is `doubt`, and
is decided, value by value, by whoever made the condition (Oxigraph's own comparison, or a look at the bytes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybridkg.errors import QueryLimitError
from hybridkg.graph.match.ids import IdRanges, Mask
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable
from hybridkg.interfaces.graph_index import UNBOUND, Ids

Decide = Callable[[Ids], Mask]
"""For a set of ids in doubt, which are true."""

NOTHING = IdRanges(())

MAX_REQUESTED = 1_000_000
"""Values that Oxigraph is asked about in one step: 3 s on the 2-core machine. Preparing declines far below this what it
can foresee."""


def _never(ids: Ids) -> Mask:
    return np.zeros(len(ids), np.bool_)


@dataclass(frozen=True, eq=False)
class IdTest:
    """A test whose truth depends on the id of one variable.

    Args:
        sure: ids for which it is true.
        doubt: ids that have to be decided; apart from `sure`. It is false for all others, UNBOUND included.
        decide: for a set of ids in doubt, which are true.
        asks: ids in doubt that Oxigraph has to be asked about; of the others we look at the bytes.
    """

    sure: IdRanges
    doubt: IdRanges = NOTHING
    decide: Decide = _never
    asks: IdRanges = NOTHING

    @cached_property
    def span(self) -> IdRanges:
        """No other id can pass."""
        return self.sure | self.doubt if self.doubt.bounds else self.sure

    def of_set(self, ids: Ids, run: PatternRun) -> Ids:
        """The ids of a set that pass."""
        kept = self.span.of_set(ids)
        if not self.doubt.bounds or len(kept) == 0:
            return kept
        doubtful = self.doubt.holds(kept)
        if not doubtful.any():
            return kept
        run.meter.check()
        passed = ~doubtful
        passed[doubtful] = self._decided(kept[doubtful])
        return kept[passed]

    def holds(self, ids: Ids, run: PatternRun) -> Mask:
        """bool[len(ids)]: which pass; in any order, repeats allowed."""
        mask = self.sure.holds(ids)
        if self.doubt.bounds:
            doubtful = self.doubt.holds(ids)
            if doubtful.any():
                run.meter.check()
                values, place = np.unique(ids[doubtful], return_inverse=True)
                mask[doubtful] = self._decided(values)[place]
        return mask

    def _decided(self, ids: Ids) -> Mask:
        if self.asks.bounds and len(ids) > MAX_REQUESTED and (asked := int(self.asks.holds(ids).sum())) > MAX_REQUESTED:
            raise QueryLimitError(
                f"a test of the query would be tried on {asked:,} values one by one",
                hint="compare with a constant, or add a condition that leaves fewer values",
            )
        return self.decide(ids)


@dataclass(frozen=True)
class Order:
    """Where the ids of a segment lie about a constant: below it, equal, above; what is in none is in doubt."""

    below: IdRanges
    equal: IdRanges
    above: IdRanges

    def true(self, op: str) -> IdRanges:
        """Those that surely pass."""
        parts = {
            "=": (self.equal,),
            "!=": (self.below, self.above),
            "<": (self.below,),
            "<=": (self.below, self.equal),
            ">": (self.above,),
            ">=": (self.above, self.equal),
        }[op]
        return parts[0] if len(parts) == 1 else parts[0] | parts[1]

    @property
    def known(self) -> IdRanges:
        """Those that are not in doubt."""
        return self.below | self.equal | self.above


def any_of(conditions: Sequence[IdTest]) -> IdTest:
    """One of them is true."""
    if len(conditions) == 1:
        return conditions[0]
    sure, doubt, asks = NOTHING, NOTHING, NOTHING
    for condition in conditions:
        sure, doubt, asks = sure | condition.sure, doubt | condition.doubt, asks | condition.asks
    doubt = doubt - sure
    return IdTest(sure, doubt, lambda ids: np.logical_or.reduce([_decided(c, ids) for c in conditions]), asks & doubt)


def all_of(conditions: Sequence[IdTest]) -> IdTest:
    """All of them are true."""
    if len(conditions) == 1:
        return conditions[0]
    sure, span, asks = conditions[0].sure, conditions[0].span, conditions[0].asks
    for condition in conditions[1:]:
        sure, span, asks = sure & condition.sure, span & condition.span, asks | condition.asks
    doubt = span - sure
    return IdTest(sure, doubt, lambda ids: _all_decided(conditions, ids), asks & doubt)


def _all_decided(conditions: Sequence[IdTest], ids: Ids) -> Mask:
    """Whether all are true, the ones that ask Oxigraph last and about what is left alone."""
    left = np.ones(len(ids), np.bool_)
    for condition in sorted(conditions, key=lambda c: c.asks.size):
        left[left] = _decided(condition, ids[left])
    return left


def _decided(condition: IdTest, ids: Ids) -> Mask:
    mask = condition.sure.holds(ids)
    doubtful = condition.doubt.holds(ids)
    if doubtful.any():
        mask[doubtful] = condition.decide(ids[doubtful])
    return mask


@dataclass(frozen=True, eq=False)
class OfColumn:
    """A condition of one column."""

    variable: str
    condition: IdTest

    @property
    def variables(self) -> frozenset[str]:
        """What it reads."""
        return frozenset((self.variable,))

    def holds(self, table: SolutionTable, run: PatternRun) -> Mask:
        """bool[table.size]."""
        return self.condition.holds(table.column(self.variable), run)


@dataclass(frozen=True, eq=False)
class SameColumns:
    """Two columns are bound and have the same id, or are bound and have not."""

    left: str
    right: str
    negated: bool

    @property
    def variables(self) -> frozenset[str]:
        """What it reads."""
        return frozenset((self.left, self.right))

    def holds(self, table: SolutionTable, run: PatternRun) -> Mask:
        """bool[table.size]."""
        left, right = table.column(self.left), table.column(self.right)
        equal = (left != right) if self.negated else (left == right)
        return np.asarray(equal & (left != UNBOUND) & (right != UNBOUND))


@dataclass(frozen=True, eq=False)
class Combined:
    """Several tests of rows, all (or any) of which have to be true."""

    tests: tuple[RowTest, ...]
    every: bool

    @property
    def variables(self) -> frozenset[str]:
        """What they read."""
        return frozenset().union(*(test.variables for test in self.tests))

    def holds(self, table: SolutionTable, run: PatternRun) -> Mask:
        """bool[table.size]."""
        mask = np.full(table.size, self.every)
        for test in self.tests:
            found = test.holds(table, run)
            mask = mask & found if self.every else mask | found
        return mask


RowTest = OfColumn | SameColumns | Combined
