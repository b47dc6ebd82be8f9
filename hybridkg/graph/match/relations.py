"""Binary relations over ids: what a predicate or a path links, in both directions.

A relation is a set of pairs. `forward` goes from subjects to objects.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from hybridkg.graph.columns import Adjacency, PredicateColumns
from hybridkg.graph.match.ids import NONE, Counts, IdRanges, Mask, distinct, solid
from hybridkg.graph.match.run import PatternRun
from hybridkg.interfaces.graph_index import Ids

Pairs = tuple[Counts, Ids]
"""(index, targets): targets[i] is linked with the id at index[i] of those that were asked about."""


CHUNK = 1 << 21
"""Entries that are looked at in one step: about 50 MB of places and targets, and 10 ms from one look at the clock to
the next."""

FEW = 4
"""Ranges whose ends are looked up one by one."""


class Relation(Protocol):
    """Pairs of ids that can be read from both ends."""

    @property
    def exact(self) -> bool:
        """Whether `work`, `work_ranges` and `sources` are exact."""

    def largest(self, forward: bool) -> float:
        """At most how many pairs an id has; counted once."""

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        """The set of ids that link to something (forward: subjects)."""

    def expand(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        """All pairs of these ids (in any order, repeats allowed), index ascending, targets ascending in each."""

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        """The set of ids that are linked with any id of a set."""

    def reach_ranges(self, ranges: IdRanges, forward: bool, run: PatternRun) -> Ids:
        """The same for a set given as ranges."""

    def work(self, ids: Ids | None, forward: bool) -> float:
        """About how many entries `expand` reads for a set of ids, None for all."""

    def work_ranges(self, ranges: IdRanges, forward: bool) -> float:
        """The same for ranges."""

    def near(self, ids: Ids, forward: bool) -> float:
        """A guess of `work` that looks at no more than a few ids."""

    def near_one(self, i: int, forward: bool) -> float:
        """The same for one id."""

    def sources(self, forward: bool) -> float:
        """About how many ids `ends` has."""

    def sources_in(self, ranges: IdRanges, forward: bool) -> float:
        """How many of them lie in ranges; at least as many as there are."""

    def links(self, sources: Ids, targets: Ids, run: PatternRun) -> Mask:
        """bool[n]: whether each source is linked with the target in the same place."""


def singleton(i: int) -> Ids:
    """The set of one id."""
    return np.array((i,), np.uint32)


def chunks(relation: Relation, ids: Ids, forward: bool) -> Iterator[tuple[int, Ids]]:
    """(place of the first, ids) of parts that are expanded in one step."""
    entries = relation.near(ids, forward) if len(ids) > 1 else 0.0
    if entries <= CHUNK:
        yield 0, ids
        return
    step = max(1, int(len(ids) * CHUNK / entries))
    for first in range(0, len(ids), step):
        yield first, ids[first : first + step]


def spread(starts: Counts, counts: Counts, total: int) -> Counts:
    """Places start, start + 1, ... of each run, one run after the other.

    >>> spread(np.array([7, 2]), np.array([2, 3]), 5).tolist()
    [7, 8, 2, 3, 4]
    """
    if len(starts) == 1:
        return np.arange(starts[0], starts[0] + total)
    ends = counts.cumsum()
    places: Counts = np.arange(total) + (starts - ends + counts).repeat(counts)
    return places


class Side:
    """One direction of a predicate, with its look-ups."""

    __slots__ = ("_ends", "_first", "_largest", "_places", "keys", "mean", "n_keys", "n_targets", "offsets", "targets")

    def __init__(self, adjacency: Adjacency):
        self.keys: Ids = np.asarray(adjacency.keys)
        self.offsets = np.asarray(adjacency.offsets)
        self.targets: Ids = np.asarray(adjacency.targets)
        self._first = int(self.keys[0]) if solid(self.keys) else -1
        self._largest = -1
        self.n_keys, self.n_targets = len(self.keys), len(self.targets)
        self.mean = self.n_targets / max(1, self.n_keys)
        # A view gives a single number several times as fast as its array.
        self._places, self._ends = self.keys.data, self.offsets.data

    def rows(self, ids: Ids) -> tuple[Counts, Counts]:
        """(starts, counts): where the targets of each id lie; counts 0 for an id that has none."""
        if len(self.keys) == 0:
            none = np.zeros(len(ids), np.int64)
            return none, none
        if self._first >= 0:
            at = (ids - np.uint32(self._first)).astype(np.int64)  # below the first it wraps round, and is too large
            held = at < len(self.keys)
        else:
            at = self.keys.searchsorted(ids)
            held = self.keys[np.minimum(at, len(self.keys) - 1)] == ids
        if not held.all():
            at = np.where(held, at, 0)
        starts = self.offsets[at].astype(np.int64)
        counts = self.offsets[at + 1].astype(np.int64)
        counts -= starts
        if not held.all():
            counts *= held
        return starts, counts

    def largest(self) -> int:
        """The most targets of one key."""
        if self._largest < 0:
            self._largest = int((self.offsets[1:] - self.offsets[:-1]).max(initial=0))
        return self._largest

    def one(self, i: int) -> Ids:
        """The targets of one id, a set."""
        at = self._at(i)
        return NONE if at < 0 else self.targets[self._ends[at] : self._ends[at + 1]]

    def count(self, i: int) -> int:
        """How many these are."""
        at = i - self._first if self._first >= 0 else bisect_left(self._places, i)
        held = 0 <= at < self.n_keys and self._places[at] == i
        return self._ends[at + 1] - self._ends[at] if held else 0

    def _at(self, i: int) -> int:
        """The place of a key, -1 where there is none."""
        if self._first >= 0:
            at = i - self._first
            return at if at < self.n_keys else -1
        at = bisect_left(self._places, i)
        return at if at < self.n_keys and self._places[at] == i else -1

    def keys_in(self, ranges: IdRanges) -> list[tuple[int, int]]:
        """Where the keys in each range lie: first and end."""
        if len(ranges.bounds) > FEW:
            return ranges.slices(self.keys)
        places = [(bisect_left(self._places, a), bisect_left(self._places, b)) for a, b in ranges.bounds]
        return [(a, b) for a, b in places if a < b]

    def slices(self, ranges: IdRanges) -> list[tuple[int, int]]:
        """Where their targets lie."""
        return [(self._ends[a], self._ends[b]) for a, b in self.keys_in(ranges)]


class PredicateRelation:
    """The pairs of one predicate."""

    __slots__ = ("_backward", "_forward")
    exact = True

    def __init__(self, predicate: PredicateColumns):
        self._forward, self._backward = Side(predicate.forward), Side(predicate.backward)

    def side(self, forward: bool) -> Side:
        """The adjacency that goes from subjects (forward) or from objects."""
        return self._forward if forward else self._backward

    def largest(self, forward: bool) -> float:
        """As Relation has it."""
        return self.side(forward).largest()

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it."""
        return self.side(forward).keys

    def expand(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        """As Relation has it."""
        side = self.side(forward)
        if len(ids) == 1:
            found = side.one(int(ids[0]))
            run.read(len(found))
            return np.zeros(len(found), np.int64), found
        starts, counts = side.rows(ids)
        total = int(counts.sum())
        run.read(total)
        index = np.arange(len(ids)).repeat(counts)
        return index, side.targets[spread(starts, counts, total)]

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it."""
        side = self.side(forward)
        if len(ids) == 0:
            return NONE
        if len(ids) == 1:
            run.read(1)  # a view of the list: what is done with its entries counts where it is done
            return side.one(int(ids[0]))
        if solid(ids):
            return self.reach_ranges(IdRanges(((int(ids[0]), int(ids[-1]) + 1),)), forward, run)
        starts, counts = side.rows(ids)
        total = int(counts.sum())
        if total <= CHUNK:
            run.read(total)
            return distinct(side.targets[spread(starts, counts, total)])
        ends = counts.cumsum()
        marks = np.zeros(int(side.targets.max()) + 1, np.bool_)
        at = 0
        while at < len(ids):
            until = max(at + 1, int(ends.searchsorted((ends[at - 1] if at else 0) + CHUNK, side="right")))
            some = int(counts[at:until].sum())
            run.read(some)
            marks[side.targets[spread(starts[at:until], counts[at:until], some)]] = True
            at = until
        return np.flatnonzero(marks).astype(np.uint32)

    def reach_ranges(self, ranges: IdRanges, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it."""
        side = self.side(forward)
        parts = side.slices(ranges)
        run.read(sum(b - a for a, b in parts))
        found = [side.targets[a:b] for a, b in parts]
        if not found:
            return NONE
        return distinct(found[0] if len(found) == 1 else np.concatenate(found))

    def work(self, ids: Ids | None, forward: bool) -> float:
        """As Relation has it: exact."""
        side = self._forward if forward else self._backward
        if ids is None:
            return side.n_targets
        if len(ids) == 1:
            return side.count(int(ids[0]))
        if solid(ids):
            return self.work_ranges(IdRanges(((int(ids[0]), int(ids[-1]) + 1),)), forward)
        return float(side.rows(ids)[1].sum())

    def work_ranges(self, ranges: IdRanges, forward: bool) -> float:
        """As Relation has it: exact."""
        return sum([b - a for a, b in self.side(forward).slices(ranges)])

    def near_one(self, i: int, forward: bool) -> float:
        """As Relation has it: exact."""
        return (self._forward if forward else self._backward).count(i)

    def near(self, ids: Ids, forward: bool) -> float:
        """As Relation has it: exact for one id and for a range, else by the mean degree."""
        if len(ids) == 1 or solid(ids):
            return self.work(ids, forward)
        return len(ids) * self.side(forward).mean

    def sources(self, forward: bool) -> float:
        """As Relation has it: exact."""
        return self._forward.n_keys if forward else self._backward.n_keys

    def sources_in(self, ranges: IdRanges, forward: bool) -> float:
        """As Relation has it: exact."""
        return sum([b - a for a, b in self.side(forward).keys_in(ranges)])

    def links(self, sources: Ids, targets: Ids, run: PatternRun) -> Mask:
        """As Relation has it: a binary search in the targets of each source, all searches in step."""
        side = self._forward
        low, counts = side.rows(sources)
        high = low + counts
        last = max(len(side.targets) - 1, 0)
        steps = int(counts.max(initial=0)).bit_length()
        run.read(len(sources) * max(1, steps))
        if len(side.targets) == 0:
            return np.zeros(len(sources), np.bool_)
        end = high.copy()
        for _ in range(steps):
            middle = (low + high) >> 1
            right = (side.targets[np.minimum(middle, last)] < targets) & (low < high)
            low = np.where(right, middle + 1, low)
            high = np.where(right, high, middle)
        mask: Mask = (low < end) & (side.targets[np.minimum(low, last)] == targets)
        return mask
