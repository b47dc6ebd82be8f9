"""The estimated entries that counting a pattern reads, from counts alone."""

from __future__ import annotations

from math import inf

from hybridkg.graph.match.any_predicate import AnyPredicateNode
from hybridkg.graph.match.cardinality_bounds import PAIR, work_of
from hybridkg.graph.match.combine import RestrictNode, SelectNode, UnionNode
from hybridkg.graph.match.count_plan import CountPlan, plan_of
from hybridkg.graph.match.counting import hangs_on
from hybridkg.graph.match.edges import Edge, entries
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.nodes import PatternNode
from hybridkg.graph.match.optional import OptionalNode, SemiJoinNode
from hybridkg.graph.match.triangles import triangle_of


def counts_work_of(node: PatternNode, keys: frozenset[str]) -> float:
    """The estimated entries that the counts of a node by some keys read."""
    match node:
        case JoinNode():
            return _of_join(node, keys & frozenset(node.variables))
        case AnyPredicateNode():
            return _of_any(node, keys & frozenset(node.variables))
        case UnionNode(branches):
            return sum(counts_work_of(branch, keys) for branch in branches)
        case SelectNode(child, variables):
            return counts_work_of(child, frozenset(variables) if node.distinct else keys)
        case OptionalNode(left, right) | SemiJoinNode(left, right):
            pairs = 0.0
            if isinstance(node, OptionalNode) and hangs_on(node, keys) is None:
                pairs = PAIR * node.pairs.pairs
            keys |= frozenset(left.variables) & frozenset(right.variables)
            return pairs + counts_work_of(left, keys) + counts_work_of(right, keys)
        case RestrictNode(child, tests):
            return counts_work_of(child, keys.union(*(test.variables for test in tests)))
        case _:
            return node.estimate(None)


def _of_any(node: AnyPredicateNode, keys: frozenset[str]) -> float:
    if keys <= {node.predicate}:
        return node.work(node.predicate)
    return node.work(next(iter(keys))) if len(keys) == 1 else node.work(None)


def _of_join(node: JoinNode, keys: frozenset[str]) -> float:
    plan = plan_of(node, keys, ())
    total = sum(work_of(member.node, member.variable) for member in node.members)
    total += sum(counts_work_of(other, frozenset((name,))) for name, several in plan.nodes.items() for other in several)
    total += sum(counts_work_of(other, needed) for other, needed in plan.tables)
    total += sum(counts_work_of(other, frozenset()) for other in plan.alone)
    for variable, edges in plan.children.items():
        share = None
        for edge in edges:
            forward = edge.from_subject(variable)
            child = edge.other(variable)
            free = child not in plan.children and child not in plan.constants and child not in node.conditions
            work = edge.sources[forward] if free else edge.pairs[True]
            if work > MIN_SCALED and (plan.constants or node.conditions):
                if share is None:
                    share = min(1.0, node.estimate(variable) / max(1.0, edge.sources[forward]))
                work *= share
            total += work
    for edges in plan.constants.values():
        total += sum(edge.least() for edge in edges)
    if plan.edges or plan.tables:
        total += _of_core(node, plan, keys)
    return total


MIN_SCALED = 1_000
"""Smaller numbers of entries are not scaled by the selectivity of constants and tests."""


def _of_core(node: JoinNode, plan: CountPlan, keys: frozenset[str]) -> float:
    """The estimated entries that listing the core reads: its rows after each edge, the cheapest first."""
    if len(plan.edges) == 3 and len(plan.core) == 3 and not (plan.tables or plan.constants or node.conditions):
        key, *more = [*keys, None]
        triangle = None if len(more) > 1 else triangle_of(plan.edges, key)
        if triangle is not None:
            return triangle.cost
    total = size = 0.0
    bound: set[str] = set()
    for other, needed in plan.tables:
        size = max(1.0, size) * other.estimate(None)
        total, bound = total + size, bound | needed
    left = [*plan.edges, *(edge for name in sorted(plan.core) for edge in plan.constants.get(name, ()))]
    while left:
        edge, growth = left[0], inf
        for one in left:
            if (own := _growth(node, one, bound)) < growth:
                edge, growth = one, own
        left.remove(edge)
        total += max(1.0, size) * max(1.0, growth)
        size = max(1.0, size) * growth
        bound.update(edge.variables)
    return total


def _growth(node: JoinNode, edge: Edge, bound: set[str]) -> float:
    """The estimated rows that an edge makes of each row in which some variables are bound."""
    inside = [name for name in edge.variables if name in bound]
    if not inside:
        return entries(edge, node.conditions)
    growth = edge.least() / max(1.0, edge.sources[edge.from_subject(inside[0])])
    if len(inside) == 2:
        growth /= max(1.0, edge.sources[edge.from_subject(inside[1])])
    return growth
