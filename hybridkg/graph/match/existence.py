"""Whether a pattern has a solution, without listing all of them.

A join with many solutions is evaluated for blocks of the values of one variable, each block larger than the one before,
and stops at the first block with a solution: where solutions are frequent it reads a few entries, where there is none
about as much as a listing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hybridkg.graph.match.any_predicate import AnyPredicateNode
from hybridkg.graph.match.cardinality_bounds import work_of
from hybridkg.graph.match.combine import EmptyNode, RestrictNode, SelectNode, UnionNode
from hybridkg.graph.match.edges import Edge, of_constant
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.nodes import PatternNode
from hybridkg.graph.match.optional import OptionalNode, SemiJoinNode
from hybridkg.graph.match.relations import PredicateRelation
from hybridkg.graph.match.run import PatternRun
from hybridkg.interfaces.graph_index import Ids

FEW_SOLUTIONS = 5_000
"""Estimated solutions that are listed at once: they cost less than a second evaluation."""

FIRST_BLOCK = 64
"""Values in the first block."""

GROWTH = 16
"""Each block has so many times the values of the one before: five blocks reach four million."""


def has_any(node: PatternNode, run: PatternRun) -> bool:
    """Whether a node has a solution."""
    match node:
        case EmptyNode():
            return False
        case UnionNode(branches):
            return any(has_any(branch, run) for branch in branches)
        case OptionalNode(left=child) | SelectNode(child=child):
            return has_any(child, run)
        case AnyPredicateNode() if node.is_exact:
            return node.size > 0
    start = None if node.estimate(None) <= FEW_SOLUTIONS else _start(node)
    if start is None:
        return node.rows(frozenset(), {}, run).size > 0
    name = start.variable
    return any(node.rows(frozenset((name,)), {name: block}, run).size > 0 for block in _blocks(start.ids(run)))


def any_work(node: PatternNode) -> float:
    """The estimated entries that `has_any` reads, if solutions are spread evenly."""
    match node:
        case UnionNode(branches):
            return min((any_work(branch) for branch in branches), default=0.0)
        case OptionalNode(left=child) | SelectNode(child=child):
            return any_work(child)
        case AnyPredicateNode() if node.is_exact:
            return 1.0
    work = work_of(node, None)
    if node.estimate(None) <= FEW_SOLUTIONS or (start := _start(node)) is None:
        return work
    return work * min(1.0, FIRST_BLOCK / max(1.0, start.size))


class _Start(NamedTuple):
    """The values of a variable of one edge, of which every solution has one; `size` is their number."""

    edge: Edge
    variable: str
    size: float

    def ids(self, run: PatternRun) -> Ids:
        forward, other = self.edge.from_subject(self.variable), self.edge.other(self.variable)
        if isinstance(other, str):
            return self.edge.relation.ends(forward, run)
        return of_constant(self.edge, self.variable, run)


def _start(node: PatternNode) -> _Start | None:
    """The edge and variable with the fewest values; None without a predicate that all solutions have."""
    while isinstance(node, RestrictNode | SemiJoinNode):
        node = node.child if isinstance(node, RestrictNode) else node.left
    if not isinstance(node, JoinNode):
        return None
    found: list[_Start] = []
    for edge in node.edges:
        if not isinstance(edge.relation, PredicateRelation):
            continue  # the ends of a path are not known before it is followed
        for name in edge.variables:
            forward = edge.from_subject(name)
            is_open = isinstance(edge.other(name), str)
            found.append(_Start(edge, name, edge.sources[forward] if is_open else edge.listed(not forward)))
    return min(found, key=lambda one: one.size, default=None)


def _blocks(ids: Ids) -> Iterator[Ids]:
    first, size = 0, FIRST_BLOCK
    while first < len(ids):
        yield ids[first : first + size]
        first, size = first + size, size * GROWTH
