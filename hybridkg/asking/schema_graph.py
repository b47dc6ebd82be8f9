"""The graph of classes: which predicates lead from instances of a class to instances of another, and how many do.

A node with several classes counts as an instance of the rarest of them. All numbers come from the projection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import GraphIndex, Ids, PredicatePath, Scan, Variable
from hybridkg.interfaces.meter import Meter
from hybridkg.rdf.terms import NamedNode

MAX_CLASSES = 500
"""Classes, the most frequent ones."""

MAX_PREDICATES = 1_000
MAX_ALTERNATIVES = 4
"""Predicates of a step by any of them."""

MAX_EDGES = 50_000_000
"""Triples of a predicate; more would take too much memory, 8 bytes each."""


@dataclass(frozen=True)
class SchemaStep:
    """A step between classes: `edges` triples along a predicate, or against it with `inverse`, or by `others`."""

    predicate: str
    inverse: bool
    source: str
    target: str
    edges: int
    others: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True)
class SchemaGraph:
    """The steps between the classes of a graph.

    Args:
        classes: instances by class, most frequent first.
        steps: from each class, most edges first. A symmetric predicate has steps in one direction only.
        degrees: uint32[nodes], the edges of each node in both directions.
        class_of: int32[nodes], the number of the class of each node in `names`; -1 for none.
        left_out: predicates with more than MAX_EDGES triples.
    """

    classes: Mapping[str, int]
    steps: Mapping[str, tuple[SchemaStep, ...]]
    degrees: NDArray[np.uint32]
    class_of: NDArray[np.int32]
    left_out: tuple[str, ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The IRIs of the classes, in order."""
        return tuple(self.classes)

    def kind(self, id: int) -> str | None:
        """The class of a node; None for none."""
        number = int(self.class_of[id])
        return None if number < 0 else self.names[number]

    def leads_to_one(self, step: SchemaStep) -> bool:
        """Whether the predicate leads from the source to instances of the target only."""
        same = [
            one for one in self.steps[step.source] if (one.predicate, one.inverse) == (step.predicate, step.inverse)
        ]
        return len(same) == 1


def read_schema_graph(
    graph: GraphIndex, classes: Mapping[str, int], predicates: Mapping[str, int], types: Iterable[str]
) -> SchemaGraph:
    """Counts the edges between classes.

    Args:
        graph: the projection.
        classes: instances by class.
        predicates: triples by predicate, without those of `types`.
        types: predicates that lead to classes.
    """
    frequent = sorted(classes.items(), key=lambda one: (-one[1], one[0]))[:MAX_CLASSES]
    names = [iri for iri, _ in frequent]
    class_of = np.full(graph.n_nodes, -1, np.int32)
    for number, iri in enumerate(names):  # rarer classes overwrite
        for predicate in types:
            class_of[instances(graph, predicate, iri)] = number
    degrees = np.zeros(graph.n_nodes, np.uint32)
    steps: dict[str, list[SchemaStep]] = {iri: [] for iri in names}
    left_out = []
    for predicate in sorted(predicates, key=lambda iri: (-predicates[iri], iri))[:MAX_PREDICATES]:
        if not graph.has_nodes_only(predicate):
            continue
        if predicates[predicate] > MAX_EDGES:
            left_out.append(predicate)
            continue
        compiled = graph.compile(Scan(Variable("s"), PredicatePath(predicate), Variable("o")))
        if compiled is None:
            continue
        heads, tails = compiled.rows(("s", "o"), Meter(), max_rows=MAX_EDGES).columns
        for ends in (heads, tails):
            degrees += np.bincount(ends, minlength=graph.n_nodes).astype(np.uint32)[: graph.n_nodes]
        symmetric = is_symmetric(heads, tails)
        for source, target, edges in _pairs(class_of[heads], class_of[tails], len(names)):
            steps[names[source]].append(SchemaStep(predicate, False, names[source], names[target], edges))
            if not symmetric:
                steps[names[target]].append(SchemaStep(predicate, True, names[target], names[source], edges))
    for iri, some in steps.items():
        some.extend(_any_of([step for step in some if step.target == iri]))
    ordered = {
        iri: tuple(sorted(some, key=lambda step: (-step.edges, step.predicate, step.inverse, step.target, step.others)))
        for iri, some in steps.items()
    }
    return SchemaGraph(dict(frequent), ordered, degrees, class_of, tuple(left_out))


def _any_of(some: Sequence[SchemaStep]) -> list[SchemaStep]:
    """The step by any of several predicates between nodes of one class, in both directions; none for one predicate."""
    if not 1 < len({step.predicate for step in some}) <= MAX_ALTERNATIVES:
        return []
    first, *others = sorted(some, key=lambda step: (step.predicate, step.inverse))
    edges = sum(step.edges for step in some)
    return [replace(first, edges=edges, others=tuple((step.predicate, step.inverse) for step in others))]


def instances(graph: GraphIndex, predicate: str, iri: str) -> Ids:
    """Ids of the instances of a class, ascending."""
    compiled = graph.compile(Scan(Variable("s"), PredicatePath(predicate), NamedNode(iri)))
    return np.zeros(0, np.uint32) if compiled is None else compiled.candidates("s", Meter())


def is_symmetric(heads: Ids, tails: Ids) -> bool:
    """Whether each pair is there in both directions.

    >>> is_symmetric(np.array([1, 2], np.uint32), np.array([2, 1], np.uint32))
    True
    """
    forward = (heads.astype(np.uint64) << np.uint64(32)) | tails
    backward = (tails.astype(np.uint64) << np.uint64(32)) | heads
    return bool(np.array_equal(np.sort(forward), np.sort(backward)))


def _pairs(heads: NDArray[np.int32], tails: NDArray[np.int32], size: int) -> Iterable[tuple[int, int, int]]:
    """(class, class, edges) of the edges whose ends both have a class."""
    known = (heads >= 0) & (tails >= 0)
    codes, counts = np.unique(heads[known].astype(np.int64) * size + tails[known], return_counts=True)
    for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
        yield code // size, code % size, count
