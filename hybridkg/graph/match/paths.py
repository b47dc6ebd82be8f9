"""Property paths as relations: each a set of pairs.

As in Oxigraph 0.5.13, an alternative has no duplicate pairs at any depth, and a zero-length path links a term with
itself exactly when it is a subject or an object of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import Adjacency, PredicateColumns, ProjectionColumns
from hybridkg.graph.match.any_predicate import PredicateTable
from hybridkg.graph.match.closures import ClosureOf
from hybridkg.graph.match.ids import IdRanges, Mask, either
from hybridkg.graph.match.pair_relation import PairRelation, packed, unpacked
from hybridkg.graph.match.relations import NeighbourRuns, Pairs, PredicateRelation, Relation, RunTable
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.weights import IdWeights
from hybridkg.graph.predicate_terms import PredicateTerms
from hybridkg.interfaces.graph_index import AlternativePath, Closure, Ids, InversePath, Path, PredicatePath, Steps
from hybridkg.storage.distinct import sorted_distinct

MAX_DEPTH = 30
"""The maximum nesting depth of a path."""

MAX_PARTS = 200
"""The maximum number of parts of a path."""


@dataclass(frozen=True)
class InverseOf:
    """The inverse of a relation."""

    inner: Relation

    @property
    def exact(self) -> bool:
        return self.inner.exact

    def largest(self, forward: bool) -> float:
        return self.inner.largest(not forward)

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        return self.inner.ends(not forward, run)

    def expand(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        return self.inner.expand(ids, not forward, run)

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        return self.inner.reach(ids, not forward, run)

    def reach_one(self, i: int, forward: bool, run: PatternRun) -> Ids:
        return self.inner.reach_one(i, not forward, run)

    def reach_ranges(self, ranges: IdRanges, forward: bool, run: PatternRun) -> Ids:
        return self.inner.reach_ranges(ranges, not forward, run)

    def work(self, ids: Ids | None, forward: bool) -> float:
        return self.inner.work(ids, not forward)

    def work_ranges(self, ranges: IdRanges, forward: bool) -> float:
        return self.inner.work_ranges(ranges, not forward)

    def near(self, ids: Ids, forward: bool) -> float:
        return self.inner.near(ids, not forward)

    def near_one(self, i: int, forward: bool) -> float:
        return self.inner.near_one(i, not forward)

    def sources(self, forward: bool) -> float:
        return self.inner.sources(not forward)

    def sources_in(self, ranges: IdRanges, forward: bool) -> float:
        return self.inner.sources_in(ranges, not forward)

    def links(self, sources: Ids, targets: Ids, run: PatternRun) -> Mask:
        return self.inner.links(targets, sources, run)

    def is_single(self, forward: bool) -> bool:
        return self.inner.is_single(not forward)

    def lookup(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        return self.inner.lookup(ids, not forward, run)

    def single_column(self, forward: bool) -> tuple[int, Ids] | None:
        return self.inner.single_column(not forward)

    def tally(self, ids: Ids | None, forward: bool, weights: IdWeights | None, run: PatternRun) -> IdWeights:
        return self.inner.tally(ids, not forward, weights, run)

    def runs(self, ids: Ids, forward: bool) -> NeighbourRuns | None:
        return self.inner.runs(ids, not forward)

    def run_table(self, forward: bool) -> RunTable | None:
        return self.inner.run_table(not forward)


@dataclass(frozen=True)
class AlternativeOf(PairRelation):
    """The union of relations."""

    inner: tuple[Relation, ...]

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        return either([relation.ends(forward, run) for relation in self.inner])

    def pairs(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        keys = np.concatenate([packed(*relation.expand(ids, forward, run)) for relation in self.inner])
        return unpacked(sorted_distinct(keys))

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        return either([relation.reach(ids, forward, run) for relation in self.inner])

    def work(self, ids: Ids | None, forward: bool) -> float:
        return sum(relation.work(ids, forward) for relation in self.inner)

    def sources(self, forward: bool) -> float:
        return sum(relation.sources(forward) for relation in self.inner)


@dataclass(frozen=True)
class StepsOf(PairRelation):
    """The composition of relations."""

    inner: tuple[Relation, ...]

    def _in_order(self, forward: bool) -> tuple[Relation, ...]:
        return self.inner if forward else self.inner[::-1]

    def ends(self, forward: bool, run: PatternRun) -> Ids:
        *first, last = self._in_order(forward)
        ids = last.ends(forward, run)
        for relation in reversed(first):
            ids = relation.reach(ids, not forward, run)
        return ids

    def pairs(self, ids: Ids, forward: bool, run: PatternRun) -> Pairs:
        index: NDArray[np.int64] = np.arange(len(ids))
        targets = ids
        for relation in self._in_order(forward):
            step, targets = relation.expand(targets, forward, run)
            keys = sorted_distinct(packed(index[step], targets))
            index, targets = unpacked(keys)
        return index, targets

    def reach(self, ids: Ids, forward: bool, run: PatternRun) -> Ids:
        for relation in self._in_order(forward):
            ids = relation.reach(ids, forward, run)
        return ids

    def work(self, ids: Ids | None, forward: bool) -> float:
        """Estimated from mean degrees."""
        total, size = 0.0, None if ids is None else float(len(ids))
        for relation in self._in_order(forward):
            whole, sources = relation.work(None, forward), max(1.0, relation.sources(forward))
            size = whole if size is None else size * whole / sources
            total += size
        return total

    def sources(self, forward: bool) -> float:
        return self._in_order(forward)[0].sources(forward)


class Relations:
    """The relations of the paths of a projection."""

    def __init__(self, columns: ProjectionColumns):
        self._columns = columns
        self._of_predicates: dict[str, PredicateRelation] = {}
        self._nodes: Ids | None = None
        self._table: PredicateTable | None = None
        self._lock = Lock()
        none = Adjacency(np.empty(0, np.uint32), np.zeros(1, np.uint32), np.empty(0, np.uint32))
        self._none = PredicateRelation(PredicateColumns(none, none))

    def of(self, path: Path) -> Relation | None:
        """The relation of a path; None for a path that the projection cannot answer."""
        if isinstance(path, PredicatePath):
            return self._of_predicate(path.predicate)
        return self._compiled(path, [MAX_PARTS], 0)

    def _compiled(self, path: Path, left: list[int], depth: int) -> Relation | None:
        left[0] -= 1
        if left[0] < 0 or depth > MAX_DEPTH:
            return None
        match path:
            case PredicatePath(predicate):
                return self._of_predicate(predicate)
            case InversePath(inner):
                relation = self._compiled(inner, left, depth + 1)
                return None if relation is None else InverseOf(relation)
            case AlternativePath(paths) | Steps(paths):
                parts = [self._compiled(inner, left, depth + 1) for inner in paths]
                relations = tuple(part for part in parts if part is not None)
                if not parts or len(relations) < len(parts):
                    return None
                return AlternativeOf(relations) if isinstance(path, AlternativePath) else StepsOf(relations)
            case Closure(inner, minimum, maximum):
                relation = self._compiled(inner, left, depth + 1)
                if relation is None or (minimum, maximum) not in ((0, 1), (0, None), (1, None)):
                    return None
                if minimum == 0 and self._columns.omitted:
                    return None  # terms of omitted triples are linked with themselves, too
                return ClosureOf(relation, minimum == 0, maximum is None, self._all_nodes, self._columns.terms.n_terms)

    def all(self, terms: PredicateTerms) -> PredicateTable | None:
        """All predicates with their ids; None if some triples are not in the projection, or predicates have no ids."""
        if self._columns.omitted or len(terms.predicates) < len(self._columns.predicates):
            return None
        with self._lock:
            if self._table is None:
                relations = [self._of_predicate(iri) for iri in terms.predicates]
                self._table = PredicateTable(terms.predicate_ids, [one for one in relations if one is not None])
            return self._table

    def _of_predicate(self, iri: str) -> PredicateRelation | None:
        if iri in self._columns.omitted:
            return None
        relation = self._of_predicates.get(iri)
        if relation is None:
            predicate = self._columns.predicates.get(iri)
            if predicate is None:
                return self._none
            relation = self._of_predicates[iri] = PredicateRelation(predicate)
        return relation

    def _all_nodes(self) -> Ids:
        with self._lock:
            if self._nodes is None:
                marks = np.zeros(self._columns.terms.n_terms, np.bool_)
                for predicate in self._columns.predicates.values():
                    for adjacency in (predicate.forward, predicate.backward):
                        marks[np.asarray(adjacency.keys)] = True
                self._nodes = np.flatnonzero(marks).astype(np.uint32)
            return self._nodes
