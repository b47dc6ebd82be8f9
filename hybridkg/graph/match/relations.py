"""Binary relations over ids: the pairs of a predicate or a path, read from subjects (`forward`) or from objects."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import Adjacency, PredicateColumns
from hybridkg.graph.match.compiled_loops import KERNEL
from hybridkg.graph.match.ids import BITMAP_SHARE, NONE, Counts, IdRanges, Mask, both, distinct, solid
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.weights import MAX_COUNT, IdWeights, run_sums
from hybridkg.interfaces.graph_index import UNBOUND, Ids

Pairs = tuple[Counts, Ids]
"""(index, targets): targets[i] is linked with the requested id at index[i]."""

CHUNK = 1 << 21
"""Entries that are read in one step: about 50 MB of places and targets, 10 ms between checks of the time limit."""

FEW_IDS, FEW_TARGETS = 256, 1024
"""Ids, and targets with repeats, whose set one compiled loop makes: 1.8 us for 50 targets of 20 ids, numpy 6.6."""

FEW = 4
"""Up to this many ranges are looked up one by one."""


class NeighbourRuns(NamedTuple):
    """The neighbours of some ids: those of the ith are targets[starts[i] : starts[i] + counts[i]], ascending."""

    starts: Counts
    counts: Counts
    targets: Ids


class RunTable(NamedTuple):
    """The neighbours of all ids from `low` on: those of low + i are targets[offsets[i] : offsets[i + 1]], ascending.

    Without offsets, each id has one neighbour at most: targets[i], UNBOUND for none.
    """

    low: int
    offsets: Counts
    targets: Ids


class Relation(Protocol):
    """A set of pairs of ids, readable from both ends."""

    @property
    def exact(self) -> bool:
        """Whether `work`, `work_ranges` and `sources` are exact."""

    def largest(self, forward: bool) -> float:
        """The maximum degree: an upper bound on the pairs of one id."""

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        """The set of ids with a pair (forward: subjects)."""

    def expand(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        """All pairs of ids (in any order, repeats allowed); index ascending, targets ascending within each."""

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        """The set of targets of a set of ids."""

    def reach_one(self, i: int, forward: bool, run: PatternRun) -> Ids:
        """`reach` of one id."""

    def reach_ranges(self, ranges: IdRanges, forward: bool, run: PatternRun) -> Ids:
        """`reach` of a set given as ranges."""

    def work(self, ids: Ids | None, forward: bool) -> float:
        """The estimated entries that `expand` reads for a set of ids, None for all."""

    def work_ranges(self, ranges: IdRanges, forward: bool) -> float:
        """`work` of a set given as ranges."""

    def near(self, ids: Ids, forward: bool) -> float:
        """An estimate of `work` that reads at most a few ids."""

    def near_one(self, i: int, forward: bool) -> float:
        """`near` of one id."""

    def sources(self, forward: bool) -> float:
        """The estimated size of `ends`."""

    def sources_in(self, ranges: IdRanges, forward: bool) -> float:
        """An upper bound on the ids of `ends` in ranges."""

    def links(self, sources: Ids, targets: Ids, run: PatternRun) -> Mask:
        """bool[n]: whether sources[i] is linked with targets[i]."""

    def is_single(self, forward: bool) -> bool:
        """Whether it is known that no id has more than one pair."""

    def lookup(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        """uint32[len(ids)]: the target of each id, in any order, UNBOUND for none; only where `is_single`."""

    def single_column(self, forward: bool) -> tuple[int, Ids] | None:
        """(low, targets): the target of each id from `low` on, UNBOUND for none; None as for `run_table`.

        Only for a relation that `is_single`.
        """

    def tally(self, ids: Ids | None, forward: bool, weights: IdWeights | None, run: PatternRun) -> IdWeights:
        """The sum of the weights of the targets of each id of a set (None: of all ids); without weights, the degrees.

        Raises:
            QueryLimitError: a sum exceeds MAX_COUNT.
        """

    def runs(self, ids: Ids, forward: bool) -> NeighbourRuns | None:
        """The neighbours of ids in any order, as they are stored; None for a relation that is computed."""

    def run_table(self, forward: bool) -> RunTable | None:
        """The neighbours of all ids; None for a relation that is computed, or whose ids are too far apart."""


def singleton(i: int) -> Ids:
    return np.array((i,), np.uint32)


def chunks(relation: Relation, ids: Ids, forward: bool) -> Iterator[tuple[int, Ids]]:
    """(place of the first, ids) of parts of about CHUNK entries."""
    entries = relation.near(ids, forward) if len(ids) > 1 else 0.0
    if entries <= CHUNK:
        yield 0, ids
        return
    step = max(1, int(len(ids) * CHUNK / entries))
    for first in range(0, len(ids), step):
        yield first, ids[first : first + step]


def spread(starts: Counts, counts: Counts, total: int) -> Counts:
    """The concatenated places start, start + 1, ... of runs.

    >>> spread(np.array([7, 2]), np.array([2, 3]), 5).tolist()
    [7, 8, 2, 3, 4]
    """
    if len(starts) == 1:
        return np.arange(starts[0], starts[0] + total)
    ends = counts.cumsum()
    places: Counts = np.arange(total) + (starts - ends + counts).repeat(counts)
    return places


def in_runs(starts: Counts, counts: Counts, targets: Ids, wanted: Ids) -> Mask:
    """bool[n]: whether wanted[i] is in the ascending run targets[starts[i] : starts[i] + counts[i]].

    >>> targets = np.array([3, 8, 5], np.uint32)
    >>> in_runs(np.array([0, 2]), np.array([2, 1]), targets, np.array([8, 8], np.uint32)).tolist()
    [True, False]
    """
    if len(targets) == 0:
        return np.zeros(len(wanted), np.bool_)
    if (kernel := KERNEL.for_work(len(wanted))) is not None:
        mask = np.empty(len(wanted), np.bool_)
        kernel.in_runs(starts, counts, targets, wanted, mask)
        return mask
    low, end, last = starts, starts + counts, len(targets) - 1
    high = end
    for _ in range(int(counts.max(initial=0)).bit_length()):  # binary searches, all in step
        middle = (low + high) >> 1
        right = (targets[np.minimum(middle, last)] < wanted) & (low < high)
        low = np.where(right, middle + 1, low)
        high = np.where(right, high, middle)
    return np.asarray((low < end) & (targets[np.minimum(low, last)] == wanted))


class Side:
    """One direction of a predicate, with its lookups."""

    __slots__ = (
        "_ends", "_largest", "_places", "first", "is_single", "keys", "mean", "n_keys", "n_targets", "offsets",
        "targets",
    )  # fmt: skip

    def __init__(self, adjacency: Adjacency):
        self.keys: Ids = np.asarray(adjacency.keys)
        self.offsets = np.asarray(adjacency.offsets)
        self.targets: Ids = np.asarray(adjacency.targets)
        self.first = int(self.keys[0]) if solid(self.keys) else -1
        self._largest = -1
        self.n_keys, self.n_targets = len(self.keys), len(self.targets)
        self.mean = self.n_targets / max(1, self.n_keys)
        self.is_single = self.n_keys == self.n_targets
        """Whether each key has exactly one target."""
        # Reading one number from a memoryview is several times as fast as from the array.
        self._places, self._ends = self.keys.data, self.offsets.data

    def rows(self, ids: Ids) -> tuple[Counts, Counts]:
        """(starts, counts): the run of `targets` of each id; counts 0 for an id without targets."""
        if self.n_keys == 0:
            none = np.zeros(len(ids), np.int64)
            return none, none
        if self.is_all(ids):
            return self.offsets[:-1].astype(np.int64), self._counts()
        if self.first >= 0 and self.offsets.dtype == np.uint32 and (kernel := KERNEL.for_work(len(ids))) is not None:
            starts, counts = np.empty(len(ids), np.int64), np.empty(len(ids), np.int64)
            kernel.runs_of(np.ascontiguousarray(ids), self.first, self.offsets, starts, counts)
            return starts, counts
        at, present = self._places_of(ids)
        everywhere = bool(present.all())
        places = at.astype(np.int64) if everywhere else np.where(present, at, 0).astype(np.int64)
        starts = self.offsets[places].astype(np.int64)
        counts = self.offsets[places + 1].astype(np.int64)
        counts -= starts
        if not everywhere:
            counts *= present
        return starts, counts

    def _places_of(self, ids: Ids) -> tuple[NDArray[Any], Mask]:
        """(places, mask): the place of each id among the keys, right where the mask is true."""
        if self.first >= 0:
            near = ids - np.uint32(self.first)  # ids below the first wrap around to large numbers
            return near, near < np.uint32(self.n_keys)
        at = self.keys.searchsorted(ids)
        np.minimum(at, self.n_keys - 1, out=at)
        return at, self.keys[at] == ids

    def largest(self) -> int:
        """The maximum number of targets of a key; computed once."""
        if self._largest < 0:
            self._largest = int((self.offsets[1:] - self.offsets[:-1]).max(initial=0))
        return self._largest

    def has_any(self, ids: Ids) -> bool:
        """Whether an id of a set has a target."""
        if self.n_keys == 0 or len(ids) == 0:
            return False
        if len(ids) <= FEW:
            return any(self._at(i) >= 0 for i in ids.tolist())
        return bool(self._places_of(ids)[1].any())

    def reach_few(self, ids: Ids, run: PatternRun) -> Ids | None:
        """The set of the targets of some ids, if they are at most FEW_TARGETS with repeats and a kernel is loaded."""
        if self.offsets.dtype != np.uint32 or (kernel := KERNEL.for_work(len(ids))) is None:
            return None
        room = np.empty(FEW_TARGETS, np.uint32)
        found = kernel.reach(np.ascontiguousarray(ids), self.keys, self.first, self.offsets, self.targets, room)
        if found < 0:
            return None
        run.read(found >> 32)
        return room[: found & 0xFFFF_FFFF]

    def lookup(self, ids: Ids) -> Ids:
        """uint32[len(ids)]: the target of each id of a side that `is_single`; UNBOUND where it has none."""
        if self.n_keys == 0:
            return np.full(len(ids), UNBOUND, np.uint32)
        if self.is_all(ids):
            return self.targets
        if self.first >= 0 and (kernel := KERNEL.for_work(len(ids))) is not None:
            found = np.empty(len(ids), np.uint32)
            kernel.look_up(np.ascontiguousarray(ids), self.first, self.targets, found)
            return found
        at, present = self._places_of(ids)
        if present.all():
            return np.asarray(self.targets[at])
        return np.where(present, self.targets[np.where(present, at, 0)], UNBOUND)

    def _counts(self) -> Counts:
        """int64[n_keys]: the number of targets of each key."""
        return np.asarray(np.subtract(self.offsets[1:], self.offsets[:-1], dtype=np.int64, casting="unsafe"))

    def is_all(self, ids: Ids) -> bool:
        """Whether a set is that of all keys."""
        return ids is self.keys or (len(ids) == self.n_keys and np.array_equal(ids, self.keys))

    def degrees(self, ids: Ids | None) -> IdWeights:
        """The number of targets of each id of a set; None for all keys."""
        if self.is_single:
            return IdWeights(self.keys if ids is None else both(self.keys, ids))
        if ids is None or self.is_all(ids):
            return IdWeights(self.keys, self._counts(), self.largest())
        return IdWeights.of(ids, self.rows(ids)[1])

    def column(self) -> tuple[int, Ids] | None:
        """(low, targets) of a side that `is_single`: the target of each id from `low` on; None as for `run_table`."""
        if self.n_keys == 0 or self.first >= 0:
            return max(0, self.first), self.targets
        low, high = int(self.keys[0]), int(self.keys[-1])
        if high - low > BITMAP_SHARE * self.n_targets:
            return None
        column = np.full(high - low + 1, UNBOUND, np.uint32)
        column[self.keys - np.uint32(low)] = self.targets
        return low, column

    def run_table(self) -> RunTable | None:
        """The targets by id, with an empty run for each id without any; None where most ids would have none."""
        if self.n_keys == 0 or self.first >= 0:
            return RunTable(max(0, self.first), self.offsets.astype(np.int64), self.targets)
        low, high = int(self.keys[0]), int(self.keys[-1])
        if high - low > BITMAP_SHARE * self.n_targets:
            return None
        offsets = np.zeros(high - low + 2, np.int64)
        offsets[self.keys - np.uint32(low) + np.uint32(1)] = self._counts()
        return RunTable(low, offsets.cumsum(out=offsets), self.targets)

    def one(self, i: int) -> Ids:
        at = self._at(i)
        return NONE if at < 0 else self.targets[self._ends[at] : self._ends[at + 1]]

    def count(self, i: int) -> int:
        at = i - self.first if self.first >= 0 else bisect_left(self._places, i)
        present = 0 <= at < self.n_keys and self._places[at] == i
        return self._ends[at + 1] - self._ends[at] if present else 0

    def _at(self, i: int) -> int:
        if self.first >= 0:
            at = i - self.first
            return at if at < self.n_keys else -1
        at = bisect_left(self._places, i)
        return at if at < self.n_keys and self._places[at] == i else -1

    def keys_in(self, ranges: IdRanges) -> list[tuple[int, int]]:
        """The places first..end of the keys in each range."""
        if len(ranges.bounds) > FEW:
            return ranges.slices(self.keys)
        places = [(bisect_left(self._places, a), bisect_left(self._places, b)) for a, b in ranges.bounds]
        return [(a, b) for a, b in places if a < b]

    def slices(self, ranges: IdRanges) -> list[tuple[int, int]]:
        """The places first..end of the targets of the keys in each range."""
        return [(self._ends[a], self._ends[b]) for a, b in self.keys_in(ranges)]


class PredicateRelation:
    """The relation of one predicate; counts are exact."""

    __slots__ = ("_backward", "_forward")
    exact = True

    def __init__(self, predicate: PredicateColumns):
        self._forward, self._backward = Side(predicate.forward), Side(predicate.backward)

    def side(self, forward: bool) -> Side:
        """One direction; what most queries read chooses it without this call."""
        return self._forward if forward else self._backward

    def largest(self, forward: bool) -> float:
        return self.side(forward).largest()

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        return self.side(forward).keys

    def expand(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        side = self._forward if forward else self._backward
        if len(ids) == 1:
            targets = side.one(int(ids[0]))
            run.read(len(targets))
            return np.zeros(len(targets), np.int64), targets
        starts, counts = side.rows(ids)
        total = int(counts.sum())
        run.read(total)
        if (kernel := KERNEL.for_work(len(ids) + total)) is not None:
            index, targets = np.empty(total, np.int64), np.empty(total, np.uint32)
            kernel.expand(starts, counts, side.targets, index, targets)
            return index, targets
        index = np.arange(len(ids)).repeat(counts)
        return index, side.targets[spread(starts, counts, total)]

    def reach_one(self, i: int, forward: bool, run: PatternRun) -> Ids:
        run.read(1)  # a view: its entries are counted where they are used
        return (self._forward if forward else self._backward).one(i)

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        side = self._forward if forward else self._backward
        if len(ids) == 0:
            return NONE
        if len(ids) == 1:
            return self.reach_one(int(ids[0]), forward, run)
        if solid(ids):
            return self.reach_ranges(IdRanges(((int(ids[0]), int(ids[-1]) + 1),)), forward, run)
        if len(ids) <= FEW_IDS and (few := side.reach_few(ids, run)) is not None:
            return few
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
        side = self.side(forward)
        parts = side.slices(ranges)
        run.read(sum(b - a for a, b in parts))
        targets = [side.targets[a:b] for a, b in parts]
        if not targets:
            return NONE
        return distinct(targets[0] if len(targets) == 1 else np.concatenate(targets))

    def work(self, ids: Ids | None, forward: bool) -> float:
        side = self._forward if forward else self._backward
        if ids is None:
            return side.n_targets
        if len(ids) == 1:
            return side.count(int(ids[0]))
        if solid(ids):
            return self.work_ranges(IdRanges(((int(ids[0]), int(ids[-1]) + 1),)), forward)
        return float(side.rows(ids)[1].sum())

    def work_ranges(self, ranges: IdRanges, forward: bool) -> float:
        return sum([b - a for a, b in self.side(forward).slices(ranges)])

    def near_one(self, i: int, forward: bool) -> float:
        return (self._forward if forward else self._backward).count(i)

    def near(self, ids: Ids, forward: bool) -> float:
        """Exact for one id and for a range, else by the mean degree."""
        n = len(ids)
        if n == 1 or solid(ids):
            return self.work(ids, forward)
        return n * (self._forward if forward else self._backward).mean

    def sources(self, forward: bool) -> float:
        return self._forward.n_keys if forward else self._backward.n_keys

    def sources_in(self, ranges: IdRanges, forward: bool) -> float:
        return sum([b - a for a, b in self.side(forward).keys_in(ranges)])

    def links(self, sources: Ids, targets: Ids, run: PatternRun) -> Mask:
        """By lookup where one side is single-valued, else by binary searches in the targets of all sources in step."""
        side = self._forward
        if side.is_single:
            return np.asarray(self.lookup(sources, True, run) == targets)
        if self._backward.is_single:
            return np.asarray(self.lookup(targets, False, run) == sources)
        starts, counts = side.rows(sources)
        run.read(len(sources) * max(1, int(counts.max(initial=0)).bit_length()))
        return in_runs(starts, counts, side.targets, targets)

    def is_single(self, forward: bool) -> bool:
        return (self._forward if forward else self._backward).is_single

    def lookup(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        run.read(len(ids))
        return (self._forward if forward else self._backward).lookup(ids)

    def single_column(self, forward: bool) -> tuple[int, Ids] | None:
        return self.side(forward).column()

    def has_any(self, ids: Ids, forward: bool) -> bool:
        """Whether an id of a set has a pair."""
        return self.side(forward).has_any(ids)

    def tally(self, ids: Ids | None, forward: bool, weights: IdWeights | None, run: PatternRun) -> IdWeights:
        side = self.side(forward)
        if weights is None:
            run.read(side.n_keys if ids is None else len(ids))
            return side.degrees(ids)
        if side.is_single:
            keys = side.keys if ids is None else both(side.keys, ids)
            run.read(len(keys))
            return IdWeights.of(keys, weights.at(side.lookup(keys)))
        ids = side.keys if ids is None else ids
        starts, counts = side.rows(ids)
        present = counts > 0
        if not present.all():
            ids, starts, counts = ids[present], starts[present], counts[present]
        ends, bound = counts.cumsum(), weights.bound * side.largest()
        sums = np.empty(len(ids), np.int64)
        at = before = 0
        while at < len(ids):
            until = max(at + 1, int(ends.searchsorted(before + CHUNK, side="right")))
            total = int(ends[until - 1]) - before
            run.read(total)
            first = int(starts[at])
            bounded = bound <= MAX_COUNT and weights.is_dense_for(total)
            if bounded and (kernel := KERNEL.for_work(total)) is not None:
                part = slice(at, until)
                kernel.sum_neighbours(starts[part], counts[part], side.targets, *weights.dense, sums[part])
            elif int(starts[until - 1] + counts[until - 1]) - first == total:
                runs = ends[at:until] - counts[at:until] - before
                sums[at:until] = run_sums(weights.at(side.targets[first : first + total]), runs, bound)
            else:
                targets = side.targets[spread(starts[at:until], counts[at:until], total)]
                runs = ends[at:until] - counts[at:until] - before
                sums[at:until] = run_sums(weights.at(targets), runs, bound)
            at, before = until, before + total
        return IdWeights.of(ids, sums)

    def runs(self, ids: Ids, forward: bool) -> NeighbourRuns | None:
        side = self.side(forward)
        return NeighbourRuns(*side.rows(ids), side.targets)

    def run_table(self, forward: bool) -> RunTable | None:
        return self.side(forward).run_table()
