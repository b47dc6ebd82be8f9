"""Closures `path?`, `path*` and `path+`: distinct pairs by breadth-first search."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from hybridkg.errors import QueryLimitError
from hybridkg.graph.match.ids import NONE, IdRanges, both, either
from hybridkg.graph.match.pair_relation import Keys, PairRelation, packed, unpacked
from hybridkg.graph.match.relations import Pairs, Relation
from hybridkg.graph.match.run import PatternRun
from hybridkg.interfaces.graph_index import Ids
from hybridkg.interfaces.meter import ADJACENCY, Meter
from hybridkg.storage.distinct import sorted_distinct

CLOSURE_FACTOR = 4.0
"""The estimated ratio of the pairs of a closure to those of its relation."""

FEW = 256
"""Ids that a search holds in a set of Python, before it takes a table of all terms: 1 MB for 100,000 papers, whose
pages take longer than the search."""

MAX_PROBED, LEVELS = 256, 8
"""Entries and steps of the search of an estimate; a step takes about 10 us."""


@dataclass(frozen=True)
class ClosureOf(PairRelation):
    """The closure of a relation: one step, or more if `repeated`.

    With `zero`, every subject and object of the graph (`nodes`) is linked with itself, too. Ids are below `n_terms`.
    """

    inner: Relation
    zero: bool
    repeated: bool
    nodes: Callable[[], Ids]
    n_terms: int

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        return self.nodes() if self.zero else self.inner.ends(forward, run)

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        """One search from all ids together."""
        targets = self.inner.reach(ids, forward, run)
        if self.repeated and len(targets):
            targets = self._reach_on(targets, forward, run)
        return either([both(ids, self.nodes()), targets]) if self.zero else targets

    def _reach_on(self, first: Ids, forward: bool, run: PatternRun) -> Ids:
        known, edge = self._reach_few(first, forward, run)
        if not len(edge):
            return known
        seen = np.zeros(self.n_terms, np.bool_)
        seen[known] = True
        parts = [known]
        while len(edge):
            edge = edge[~seen[edge]]
            seen[edge] = True
            parts.append(edge)
            edge = self.inner.reach(edge, forward, run)
        return either(parts)

    def _reach_few(self, known: Ids, forward: bool, run: PatternRun) -> tuple[Ids, Ids]:
        """(ids reached so far, ids of the next step): until all are reached, or more than FEW."""
        edge = self.inner.reach(known, forward, run)
        if len(known) + len(edge) > FEW:
            return known, edge
        seen = {*known.tolist()}
        while len(seen) + len(edge) <= FEW:
            fresh = [i for i in edge.tolist() if i not in seen]
            if not fresh:
                edge = NONE
                break
            seen.update(fresh)
            edge = self.inner.reach(np.array(fresh, np.uint32), forward, run)
        return np.array(sorted(seen), np.uint32), edge

    def reach_ranges(self, ranges: IdRanges, forward: bool, run: PatternRun) -> Ids:
        return self.reach(ranges.of_set(self.ends(forward, run)), forward, run)

    def pairs(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        """A search from each id, all in step."""
        if len(ids) == 1:
            targets = self.reach(ids, forward, run)
            return np.zeros(len(targets), np.int64), targets
        index, targets = self.inner.expand(ids, forward, run)
        edge = packed(index, targets)
        if self.repeated:
            edge = self._pairs_on(edge, forward, run)
        if self.zero:
            places = np.flatnonzero(np.isin(ids, self.nodes()))
            edge = sorted_distinct(np.concatenate([edge, packed(places, ids[places])]))
        return unpacked(edge)

    def _pairs_on(self, first: Keys, forward: bool, run: PatternRun) -> Keys:
        seen = [first]  # sorted runs, each less than half as long as the one before
        edge = first
        while len(edge):
            index, nodes = unpacked(edge)
            step, targets = self.inner.expand(nodes, forward, run)
            edge = sorted_distinct(packed(index[step], targets))
            for part in seen:
                edge = edge[~_held(edge, part)]
            seen.append(edge)
            while len(seen) > 1 and len(seen[-1]) * 2 >= len(seen[-2]):
                last = seen.pop()
                seen[-1] = np.sort(np.concatenate([seen[-1], last]))
            run.room_for(sum(len(part) for part in seen))
        return np.sort(np.concatenate(seen))

    def work(self, ids: Ids | None, forward: bool) -> float:
        whole = self.inner.work(None, forward) * (CLOSURE_FACTOR if self.repeated else 1.0)
        if ids is None:
            return whole + (self.n_terms if self.zero else 0.0)
        mean = whole / max(1.0, self.inner.sources(forward))
        return len(ids) * (mean + 1.0)

    def near(self, ids: Ids, forward: bool) -> float:
        """Counted for one id when a search of at most MAX_PROBED entries completes; else estimated."""
        estimate = self.work(ids, forward)
        if len(ids) != 1 or not self.repeated:
            return estimate
        reached = set(ids.tolist()) if self.zero else set[int]()
        meter = Meter()
        # One step of an inner closure or of a hub can read any number of entries, and no estimate bounds it.
        meter.cancelled = lambda: meter.counts.get(ADJACENCY, 0) > MAX_PROBED
        with suppress(QueryLimitError):
            if self._probe(ids, forward, reached, PatternRun(meter, MAX_PROBED)):
                return float(max(1, len(reached)))
        return max(estimate, float(len(reached)))

    def _probe(self, edge: Ids, forward: bool, reached: set[int], run: PatternRun) -> bool:
        """Adds the ids that a short search reaches; returns whether the search completes."""
        for _ in range(LEVELS):
            if self.inner.near(edge, forward) + len(reached) > MAX_PROBED:
                return False
            fresh = [i for i in self.inner.reach(edge, forward, run).tolist() if i not in reached]
            if not fresh:
                return True
            reached.update(fresh)
            edge = np.array(fresh, np.uint32)
        return False

    def sources(self, forward: bool) -> float:
        return float(self.n_terms) if self.zero else self.inner.sources(forward)


def _held(keys: Keys, part: Keys) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if len(part) == 0:
        return np.zeros(len(keys), np.bool_)
    at = part.searchsorted(keys)
    at[at == len(part)] = 0
    return np.asarray(part[at] == keys)
