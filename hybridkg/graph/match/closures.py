"""`path?`, `path*` and `path+`: distinct pairs, found by breadth-first search."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from hybridkg.errors import QueryLimitError
from hybridkg.graph.match.ids import IdRanges, both, either
from hybridkg.graph.match.pair_relation import Keys, PairRelation, packed, unpacked
from hybridkg.graph.match.relations import Pairs, Relation
from hybridkg.graph.match.run import PatternRun
from hybridkg.interfaces.graph_index import Ids
from hybridkg.interfaces.meter import ADJACENCY, Meter

GUESS = 4.0
"""How many times the pairs of a relation its closure is taken to have."""


LOOKED_AT, LEVELS = 256, 8
"""Entries and steps of a search that an estimate makes; a step takes about 10 us."""


@dataclass(frozen=True)
class ClosureOf(PairRelation):
    """Pairs that steps of a relation link.

    Args:
        inner: the relation.
        zero: every term of the graph is linked with itself, too.
        repeated: one step or more; else one.
        nodes: the set of all subjects and objects of the graph.
        n_terms: one more than the largest id.
    """

    inner: Relation
    zero: bool
    repeated: bool
    nodes: Callable[[], Ids]
    n_terms: int

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it."""
        return self.nodes() if self.zero else self.inner.ends(forward, run)

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it: one search from all ids together."""
        found = self.inner.reach(ids, forward, run)
        if self.repeated and len(found):
            found = self._reach_on(found, forward, run)
        return either([both(ids, self.nodes()), found]) if self.zero else found

    def _reach_on(self, first: Ids, forward: bool, run: PatternRun) -> Ids:
        seen = np.zeros(self.n_terms, np.bool_)
        seen[first] = True
        edge, parts = first, [first]
        while len(edge):
            edge = self.inner.reach(edge, forward, run)
            edge = edge[~seen[edge]]
            seen[edge] = True
            parts.append(edge)
        return either(parts)

    def reach_ranges(self, ranges: IdRanges, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it."""
        return self.reach(ranges.of_set(self.ends(forward, run)), forward, run)

    def pairs(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        """As PairRelation has it: a search from each id, all in step."""
        if len(ids) == 1:
            found = self.reach(ids, forward, run)
            return np.zeros(len(found), np.int64), found
        index, targets = self.inner.expand(ids, forward, run)
        edge = packed(index, targets)
        if self.repeated:
            edge = self._pairs_on(edge, forward, run)
        if self.zero:
            held = np.flatnonzero(np.isin(ids, self.nodes()))
            edge = np.unique(np.concatenate([edge, packed(held, ids[held])]))
        return unpacked(edge)

    def _pairs_on(self, first: Keys, forward: bool, run: PatternRun) -> Keys:
        seen = [first]  # sorted runs, each less than half as long as the one before
        edge = first
        while len(edge):
            index, nodes = unpacked(edge)
            step, targets = self.inner.expand(nodes, forward, run)
            edge = np.unique(packed(index[step], targets))
            for part in seen:
                edge = edge[~_held(edge, part)]
            seen.append(edge)
            while len(seen) > 1 and len(seen[-1]) * 2 >= len(seen[-2]):
                last = seen.pop()
                seen[-1] = np.sort(np.concatenate([seen[-1], last]))
            run.room_for(sum(len(part) for part in seen))
        return np.sort(np.concatenate(seen))

    def work(self, ids: Ids | None, forward: bool) -> float:
        """As Relation has it: a guess."""
        whole = self.inner.work(None, forward) * (GUESS if self.repeated else 1.0)
        if ids is None:
            return whole + (self.n_terms if self.zero else 0.0)
        mean = whole / max(1.0, self.inner.sources(forward))
        return len(ids) * (mean + 1.0)

    def near(self, ids: Ids, forward: bool) -> float:
        """As Relation has it: of one id, counted where a short search comes to an end."""
        guess = self.work(ids, forward)
        if len(ids) != 1 or not self.repeated:
            return guess
        found = set(ids.tolist()) if self.zero else set[int]()
        meter = Meter()
        # A closure or a hub within takes a step as far as the graph goes, and no guess tells which.
        meter.cancelled = lambda: meter.counts.get(ADJACENCY, 0) > LOOKED_AT
        with suppress(QueryLimitError):
            if self._looked_up(ids, forward, found, PatternRun(meter, LOOKED_AT)):
                return float(max(1, len(found)))
        return max(guess, float(len(found)))

    def _looked_up(self, edge: Ids, forward: bool, found: set[int], run: PatternRun) -> bool:
        """Adds what a short search from some ids finds; whether it comes to an end."""
        for _ in range(LEVELS):
            if self.inner.near(edge, forward) + len(found) > LOOKED_AT:
                return False
            fresh = [i for i in self.inner.reach(edge, forward, run).tolist() if i not in found]
            if not fresh:
                return True
            found.update(fresh)
            edge = np.array(fresh, np.uint32)
        return False

    def sources(self, forward: bool) -> float:
        """As Relation has it."""
        return float(self.n_terms) if self.zero else self.inner.sources(forward)


def _held(keys: Keys, part: Keys) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if len(part) == 0:
        return np.zeros(len(keys), np.bool_)
    at = part.searchsorted(keys)
    at[at == len(part)] = 0
    return np.asarray(part[at] == keys)
