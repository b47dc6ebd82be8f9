"""The base class of relations that are computed from the pairs of a set of ids."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.match.ids import NONE, Counts, IdRanges, Mask, distinct
from hybridkg.graph.match.relations import NeighbourRuns, Pairs, RunTable, chunks, singleton, spread
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.weights import IdWeights, run_sums
from hybridkg.interfaces.graph_index import Ids
from hybridkg.storage.distinct import sorted_distinct

Keys = NDArray[np.uint64]
"""Pairs as numbers: index in the upper half, id in the lower."""


def packed(index: Counts, targets: Ids) -> Keys:
    keys = index.astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= targets
    return keys


def unpacked(keys: Keys) -> Pairs:
    return (keys >> np.uint64(32)).astype(np.int64), keys.astype(np.uint32)


class PairRelation:
    """A Relation derived from `pairs`, `ends`, `work` and `sources`, which subclasses implement."""

    exact = False

    def largest(self, forward: bool) -> float:
        return float("inf")

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        raise NotImplementedError

    def pairs(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        """`Relation.expand` of a set."""
        raise NotImplementedError

    def work(self, ids: Ids | None, forward: bool) -> float:
        raise NotImplementedError

    def expand(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        if len(ids) < 2 or (ids[1:] > ids[:-1]).all():
            return self.pairs(ids, forward, run)
        values, place = np.unique(ids, return_inverse=True)
        index, targets = self.pairs(values, forward, run)
        counts = np.bincount(index, minlength=len(values))
        starts = counts.cumsum() - counts
        counts, starts = counts[place], starts[place]
        total = int(counts.sum())
        run.room_for(total)
        return np.arange(len(ids)).repeat(counts), targets[spread(starts, counts, total)]

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        return distinct(self.pairs(ids, forward, run)[1]) if len(ids) else NONE

    def reach_one(self, i: int, forward: bool, run: PatternRun) -> Ids:
        return self.reach(singleton(i), forward, run)

    def reach_ranges(self, ranges: IdRanges, forward: bool, run: PatternRun) -> Ids:
        return self.reach(ranges.of_set(self.ends(forward, run)), forward, run)

    def work_ranges(self, ranges: IdRanges, forward: bool) -> float:
        return min(self.work(None, forward), self.work(None, forward) / 3 + ranges.size)

    def near_one(self, i: int, forward: bool) -> float:
        return self.near(singleton(i), forward)

    def near(self, ids: Ids, forward: bool) -> float:
        return self.work(ids, forward)

    def sources(self, forward: bool) -> float:
        raise NotImplementedError

    def sources_in(self, ranges: IdRanges, forward: bool) -> float:
        return min(self.sources(forward), float(ranges.size))

    def links(self, sources: Ids, targets: Ids, run: PatternRun) -> Mask:
        """Expanded from the end with fewer distinct ids."""
        if len(sources) == 0:
            return np.zeros(0, np.bool_)
        heads, tails = sorted_distinct(sources), sorted_distinct(targets)
        forward = len(heads) <= len(tails)
        values, starts, ends = (heads, sources, targets) if forward else (tails, targets, sources)
        keys = packed(*self.pairs(values, forward, run))
        if len(keys) == 0:
            return np.zeros(len(sources), np.bool_)
        requested = packed(values.searchsorted(starts), ends)
        at = keys.searchsorted(requested)
        at[at == len(keys)] = 0
        mask: Mask = keys[at] == requested
        return mask

    def is_single(self, forward: bool) -> bool:
        return False

    def lookup(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        raise NotImplementedError

    def single_column(self, forward: bool) -> tuple[int, Ids] | None:
        raise NotImplementedError

    def tally(self, ids: Ids | None, forward: bool, weights: IdWeights | None, run: PatternRun) -> IdWeights:
        ids = self.ends(forward, run) if ids is None else ids
        sums = np.zeros(len(ids), np.int64)
        for first, part in chunks(self, ids, forward):
            index, targets = self.pairs(part, forward, run)
            run.room_for(len(targets))
            starts = np.flatnonzero(np.append(True, index[1:] != index[:-1])) if len(index) else index
            if weights is None:
                sums[first + index[starts]] = np.diff(starts, append=len(index))
            else:
                sums[first + index[starts]] = run_sums(weights.at(targets), starts, weights.bound * len(targets))
        return IdWeights.of(ids, sums)

    def runs(self, ids: Ids, forward: bool) -> NeighbourRuns | None:
        return None

    def run_table(self, forward: bool) -> RunTable | None:
        return None
