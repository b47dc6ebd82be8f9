"""Counting triangles, three variables that are linked pairwise, by intersecting sorted neighbours.

For each pair of one relation, the neighbours that both ends share are counted, so no pair of the other two relations is
listed: the bound of a worst-case optimal join (Ngo, Porat, Ré and Rudra, PODS 2012) for this shape. Where the third
variable is single-valued, this compares two columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from hybridkg.graph.match.compiled_loops import KERNEL
from hybridkg.graph.match.edges import Edge
from hybridkg.graph.match.grouping import CountedRows
from hybridkg.graph.match.ids import BITMAP_SHARE, Counts
from hybridkg.graph.match.relations import CHUNK, NeighbourRuns, RunTable, in_runs, spread
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable
from hybridkg.graph.match.weigh import Weigher
from hybridkg.graph.match.weights import MAX_COUNT, NO_WEIGHTS, IdWeights
from hybridkg.interfaces.graph_index import UNBOUND, Ids


@dataclass(frozen=True)
class Triangle:
    """The triangle a - b - v: `base` is listed, and the v that both ends of a pair have are intersected."""

    a: str
    b: str
    v: str
    base: Edge
    own: Edge
    its: Edge

    @property
    def cost(self) -> float:
        """The estimated steps: for each pair, the fewer of the neighbours of both ends are searched in the others."""
        own = self.own.pairs[True] / max(1.0, self.own.sources[self.own.from_subject(self.a)])
        its = self.its.pairs[True] / max(1.0, self.its.sources[self.its.from_subject(self.b)])
        fewer, more = sorted((max(1.0, own), max(1.0, its)))
        return self.base.pairs[True] * (1.0 + fewer * (1.0 + log2(more / fewer)))


def triangle_of(edges: Sequence[Edge], key: str | None) -> Triangle | None:
    """The cheapest way to count a triangle by one of its variables, or altogether; None for another shape."""
    if len(edges) != 3 or len({frozenset(edge.variables) for edge in edges}) != 3:
        return None
    if len({name for edge in edges for name in edge.variables}) != 3:
        return None
    ways = []
    for i, base in enumerate(edges):
        one, other = edges[i - 1], edges[i - 2]
        for a, b in (base.variables, base.variables[::-1]):
            if key != b:
                own, its = (one, other) if a in one.variables else (other, one)
                v = own.other(a)
                assert isinstance(v, str)
                ways.append(Triangle(a, b, v, base, own, its))
    return min(ways, key=lambda way: way.cost)


def count_triangles(triangle: Triangle, key: str | None, weigher: Weigher, run: PatternRun) -> CountedRows | None:
    """The counts of a triangle by `key`; None where it has to be listed: relations that are not stored, sparse ids.

    A sum that might exceed MAX_COUNT is left to the listing, which adds exactly.
    """
    base, own = triangle.base, triangle.own
    a, b, v = (
        weigher.weights(name, None, edge) if weigher.is_restricted(name) or weigher.has_below(name) else None
        for name, edge in ((triangle.a, base), (triangle.b, base), (triangle.v, own))
    )
    ids = base.relation.ends(base.from_subject(triangle.a), run) if a is None else a.ids
    neighbours = base.relation.runs(ids, base.from_subject(triangle.a))
    third = _third_of(triangle, ids, run)
    if neighbours is None or third is None:
        return None
    bound, n = third.bound(neighbours.counts), int(neighbours.counts.sum())
    for weights in (a, b, v):
        if weights is not None:
            bound *= weights.bound
            if len(weights.ids) == 0:
                return CountedRows(SolutionTable({} if key is None else {key: weights.ids}, 0), NO_WEIGHTS)
            if weights is not a and not weights.is_dense_for(n):
                return None
    if bound > MAX_COUNT:
        return None
    low, thirds = 0, NO_WEIGHTS
    if key == triangle.v and n:
        ends = own.relation.ends(not own.from_subject(triangle.a), run)
        if len(ends):
            low = int(ends[0])
            if int(ends[-1]) - low > BITMAP_SHARE * n:
                return None
            thirds = np.zeros(int(ends[-1]) - low + 1, np.int64)
    sums = _Counting(neighbours, third, None if a is None else a.counts, b, v, thirds, low).sums(run)
    if key == triangle.v:
        places = np.flatnonzero(thirds)
        return CountedRows(SolutionTable({key: (places + low).astype(np.uint32)}, len(places)), thirds[places])
    if a is not None and a.counts is not None:
        sums = sums * a.counts
    if key is None:
        return CountedRows(SolutionTable({}, int(sums.any())), sums.sum(keepdims=True)[: int(sums.any())])
    found = IdWeights.of(ids, sums)
    return CountedRows(SolutionTable({key: found.ids}, len(found.ids)), found.listed)


@dataclass(frozen=True, eq=False)
class _Columns:
    """The third variable where a and b have one at most: `own` of each a, `its` of each b from the id `low` on."""

    own: Ids
    low: int
    its: Ids

    def bound(self, counts: Counts) -> float:
        """An upper bound on the triangles, given the number of b of each a."""
        return float(counts.sum())

    def read(self, counts: Counts) -> Counts:
        """The entries that the kernel reads for each a."""
        return counts

    def pairs(self, counts: Counts) -> Counts:
        """The pairs of b and v of each a."""
        return counts

    def arrays(self, part: slice) -> tuple[Any, ...]:
        return self.own[part], self.low, self.its

    def common(self, part: slice, index: Counts, b: Ids) -> tuple[Counts, Ids, Ids]:
        """(place of a, b, v) of the triangles of some pairs."""
        place = b.astype(np.int64) - self.low
        present = (place >= 0) & (place < len(self.its))
        index, b = index[present], b[present]
        v = self.own[part][index]
        found = (self.its[place[present]] == v) & (v != UNBOUND)
        return index[found], b[found], v[found]


@dataclass(frozen=True, eq=False)
class _Lists:
    """The third variable as neighbours: `own` of each a, `its` of each b."""

    own: NeighbourRuns
    its: RunTable

    def bound(self, counts: Counts) -> float:
        """As for columns."""
        return float((counts.astype(np.float64) * self.own.counts).sum())

    def read(self, counts: Counts) -> Counts:
        """As for columns."""
        return counts + self.own.counts

    def pairs(self, counts: Counts) -> Counts:
        """As for columns."""
        return counts * self.own.counts

    def arrays(self, part: slice) -> tuple[Any, ...]:
        return self.own.starts[part], self.own.counts[part], self.own.targets, *self.its

    def common(self, part: slice, index: Counts, b: Ids) -> tuple[Counts, Ids, Ids]:
        """(place of a, b, v) of the triangles of some pairs: every v of a is looked up among those of b."""
        pair, v = _expanded(self.own.starts[part][index], self.own.counts[part][index], self.own.targets)
        index, b, offsets = index[pair], b[pair], self.its.offsets
        place = b.astype(np.int64) - self.its.low
        present = (place >= 0) & (place < len(offsets) - 1)
        index, b, v, place = index[present], b[present], v[present], place[present]
        found = in_runs(offsets[place], offsets[place + 1] - offsets[place], self.its.targets, v)
        return index[found], b[found], v[found]


def _third_of(triangle: Triangle, ids: Ids, run: PatternRun) -> _Columns | _Lists | None:
    """The third variable of the ids of a and of all b; None for relations that are not stored."""
    own, its = triangle.own, triangle.its
    from_a, from_b = own.from_subject(triangle.a), its.from_subject(triangle.b)
    if own.relation.is_single(from_a) and its.relation.is_single(from_b):
        column = its.relation.single_column(from_b)
        return None if column is None else _Columns(own.relation.lookup(ids, from_a, run), *column)
    runs, table = own.relation.runs(ids, from_a), its.relation.run_table(from_b)
    return None if runs is None or table is None else _Lists(runs, table)


@dataclass(frozen=True, eq=False)
class _Counting:
    """The arrays of one count.

    Args:
        neighbours: for each a, its b.
        third: the v of each a and of each b.
        weights: of each a; None for ones.
        b, v: the weights of b and v; None for ones.
        thirds, low: gets, if not empty, the sums by v, from the id `low` on.
    """

    neighbours: NeighbourRuns
    third: _Columns | _Lists
    weights: Counts | None
    b: IdWeights | None
    v: IdWeights | None
    thirds: Counts
    low: int

    def sums(self, run: PatternRun) -> Counts:
        """int64[a]: the sum of each a, without its own weight."""
        counts = self.neighbours.counts
        read = self.third.read(counts)
        kernel = KERNEL.for_work(int(read.sum()))
        steps = (read if kernel else self.third.pairs(counts)).cumsum()
        sums = np.zeros(len(read), np.int64)
        at = 0
        while at < len(read):
            before = int(steps[at - 1]) if at else 0
            until = max(at + 1, int(steps.searchsorted(before + CHUNK, side="right")))
            part = slice(at, until)
            run.read(int(read[part].sum()))
            if kernel is None:
                sums[part] = self._part(part)
            else:
                weights = NO_WEIGHTS if self.weights is None else self.weights[part]
                count = kernel.sum_equal if isinstance(self.third, _Columns) else kernel.sum_common
                count(
                    self.neighbours.starts[part], counts[part], self.neighbours.targets,
                    *self.third.arrays(part), weights,
                    *(self.b.dense if self.b is not None else (NO_WEIGHTS, 0)),
                    *(self.v.dense if self.v is not None else (NO_WEIGHTS, 0)),
                    sums[part], self.thirds, self.low,
                )  # fmt: skip
            at = until
        return sums

    def _part(self, part: slice) -> Counts:
        """The sums of some a, by numpy."""
        index, b = _expanded(self.neighbours.starts[part], self.neighbours.counts[part], self.neighbours.targets)
        index, b, v = self.third.common(part, index, b)
        weights = np.ones(len(index), np.int64) if self.b is None else self.b.at(b)
        if self.v is not None:
            weights = weights * self.v.at(v)
        sums = np.zeros(part.stop - part.start, np.int64)
        np.add.at(sums, index, weights)
        if len(self.thirds):
            weights = weights if self.weights is None else weights * self.weights[part][index]
            np.add.at(self.thirds, v.astype(np.int64) - self.low, weights)
        return sums


def _expanded(starts: Counts, counts: Counts, targets: Ids) -> tuple[Counts, Ids]:
    return np.arange(len(starts)).repeat(counts), targets[spread(starts, counts, int(counts.sum()))]
