"""Paths as relations; every kind is a set of pairs.

Oxigraph 0.5.13 gives no pair of an alternative twice, at whatever depth, and takes a term to be linked with itself by
a path of length zero exactly when the graph has it as a subject or an object (the paths of the law's generator).
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import Adjacency, PredicateColumns, ProjectionColumns
from hybridkg.graph.match.closures import ClosureOf
from hybridkg.graph.match.ids import IdRanges, Mask, either
from hybridkg.graph.match.pair_relation import PairRelation, packed, unpacked
from hybridkg.graph.match.relations import Pairs, Relation
from hybridkg.graph.match.relations import PredicateRelation as LinkRelation
from hybridkg.graph.match.run import PatternRun
from hybridkg.interfaces.graph_index import AlternativePath, Closure, Ids, InversePath, Path, PredicatePath, Steps

MAX_DEPTH = 30
"""How deep a path may be nested."""

MAX_PARTS = 200
"""How many parts it may have."""


@dataclass(frozen=True)
class InverseOf:
    """The pairs of another relation, turned round."""

    inner: Relation

    @property
    def exact(self) -> bool:
        """As Relation has it."""
        return self.inner.exact

    def largest(self, forward: bool) -> float:
        """As Relation has it."""
        return self.inner.largest(not forward)

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it."""
        return self.inner.ends(not forward, run)

    def expand(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        """As Relation has it."""
        return self.inner.expand(ids, not forward, run)

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it."""
        return self.inner.reach(ids, not forward, run)

    def reach_ranges(self, ranges: IdRanges, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it."""
        return self.inner.reach_ranges(ranges, not forward, run)

    def work(self, ids: Ids | None, forward: bool) -> float:
        """As Relation has it."""
        return self.inner.work(ids, not forward)

    def work_ranges(self, ranges: IdRanges, forward: bool) -> float:
        """As Relation has it."""
        return self.inner.work_ranges(ranges, not forward)

    def near(self, ids: Ids, forward: bool) -> float:
        """As Relation has it."""
        return self.inner.near(ids, not forward)

    def near_one(self, i: int, forward: bool) -> float:
        """As Relation has it."""
        return self.inner.near_one(i, not forward)

    def sources(self, forward: bool) -> float:
        """As Relation has it."""
        return self.inner.sources(not forward)

    def sources_in(self, ranges: IdRanges, forward: bool) -> float:
        """As Relation has it."""
        return self.inner.sources_in(ranges, not forward)

    def links(self, sources: Ids, targets: Ids, run: PatternRun) -> Mask:
        """As Relation has it."""
        return self.inner.links(targets, sources, run)


@dataclass(frozen=True)
class AlternativeOf(PairRelation):
    """The pairs of any of several relations."""

    inner: tuple[Relation, ...]

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it."""
        return either([relation.ends(forward, run) for relation in self.inner])

    def pairs(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        """As PairRelation has it."""
        found = np.concatenate([packed(*relation.expand(ids, forward, run)) for relation in self.inner])
        return unpacked(np.unique(found))

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it."""
        return either([relation.reach(ids, forward, run) for relation in self.inner])

    def work(self, ids: Ids | None, forward: bool) -> float:
        """As Relation has it."""
        return sum(relation.work(ids, forward) for relation in self.inner)

    def sources(self, forward: bool) -> float:
        """As Relation has it."""
        return sum(relation.sources(forward) for relation in self.inner)


@dataclass(frozen=True)
class StepsOf(PairRelation):
    """What one relation after the other links."""

    inner: tuple[Relation, ...]

    def _in_order(self, forward: bool) -> tuple[Relation, ...]:
        return self.inner if forward else self.inner[::-1]

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it: from the far end back."""
        *first, last = self._in_order(forward)
        found = last.ends(forward, run)
        for relation in reversed(first):
            found = relation.reach(found, not forward, run)
        return found

    def pairs(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        """As PairRelation has it."""
        index: NDArray[np.int64] = np.arange(len(ids))
        targets = ids
        for relation in self._in_order(forward):
            step, targets = relation.expand(targets, forward, run)
            keys = np.unique(packed(index[step], targets))
            index, targets = unpacked(keys)
        return index, targets

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        """As Relation has it."""
        for relation in self._in_order(forward):
            ids = relation.reach(ids, forward, run)
        return ids

    def work(self, ids: Ids | None, forward: bool) -> float:
        """As Relation has it: by mean degrees."""
        total, size = 0.0, None if ids is None else float(len(ids))
        for relation in self._in_order(forward):
            whole, sources = relation.work(None, forward), max(1.0, relation.sources(forward))
            size = whole if size is None else size * whole / sources
            total += size
        return total

    def sources(self, forward: bool) -> float:
        """As Relation has it."""
        return self._in_order(forward)[0].sources(forward)


class Relations:
    """The relations of a projection, by path."""

    def __init__(self, columns: ProjectionColumns):
        self._columns = columns
        self._links: dict[str, LinkRelation] = {}
        self._nodes: Ids | None = None
        self._lock = Lock()
        none = Adjacency(np.empty(0, np.uint32), np.zeros(1, np.uint32), np.empty(0, np.uint32))
        self._none = LinkRelation(PredicateColumns(none, none))

    def of(self, path: Path) -> Relation | None:
        """The relation of a path, or None where the projection cannot say what it links."""
        if isinstance(path, PredicatePath):
            return self._link(path.predicate)
        return self._made(path, [MAX_PARTS], 0)

    def _made(self, path: Path, left: list[int], depth: int) -> Relation | None:
        left[0] -= 1
        if left[0] < 0 or depth > MAX_DEPTH:
            return None
        match path:
            case PredicatePath(predicate):
                return self._link(predicate)
            case InversePath(inner):
                made = self._made(inner, left, depth + 1)
                return None if made is None else InverseOf(made)
            case AlternativePath(paths) | Steps(paths):
                parts = [self._made(inner, left, depth + 1) for inner in paths]
                known = tuple(part for part in parts if part is not None)
                if not parts or len(known) < len(parts):
                    return None
                return AlternativeOf(known) if isinstance(path, AlternativePath) else StepsOf(known)
            case Closure(inner, least, most):
                made = self._made(inner, left, depth + 1)
                if made is None or (least, most) not in ((0, 1), (0, None), (1, None)):
                    return None
                if least == 0 and self._columns.omitted:
                    return None  # terms that only triples left out have are linked with themselves, too
                return ClosureOf(made, least == 0, most is None, self._all_nodes, self._columns.terms.n_terms)

    def _link(self, iri: str) -> LinkRelation | None:
        if iri in self._columns.omitted:
            return None
        found = self._links.get(iri)
        if found is None:
            predicate = self._columns.predicates.get(iri)
            found = self._none if predicate is None else LinkRelation(predicate)
            if predicate is not None:
                self._links[iri] = found
        return found

    def _all_nodes(self) -> Ids:
        """The set of subjects and objects; found once."""
        with self._lock:
            if self._nodes is None:
                marks = np.zeros(self._columns.terms.n_terms, np.bool_)
                for predicate in self._columns.predicates.values():
                    for adjacency in (predicate.forward, predicate.backward):
                        marks[np.asarray(adjacency.keys)] = True
                self._nodes = np.flatnonzero(marks).astype(np.uint32)
            return self._nodes
