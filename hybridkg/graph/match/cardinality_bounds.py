"""Bounds on the cardinality of a pattern, and its estimated work in entries, from counts alone.

A single triple pattern is counted exactly; join_cardinality.py estimates the rest.
"""

from __future__ import annotations

from math import inf
from operator import itemgetter

from hybridkg.graph.match.any_predicate import AnyPredicateNode
from hybridkg.graph.match.combine import EmptyNode, RestrictNode, SelectNode, TableNode, UnionNode
from hybridkg.graph.match.edges import Edge, entries
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.join_cardinality import DEPTH, by_edge, share_of
from hybridkg.graph.match.nodes import PatternNode
from hybridkg.graph.match.optional import OptionalNode, SemiJoinNode


def _work(node: JoinNode, variable: str, via: Edge | None, seen: frozenset[str]) -> float:
    """The estimated entries that reducing a variable of a join reads."""
    total, current = 0.0, inf
    seen |= {variable}
    later = []
    for edge in node.edges:
        if variable not in edge.variables or edge is via:
            continue
        forward = edge.subject == variable
        other = edge.object if forward else edge.subject
        if not isinstance(other, str):
            size = edge.least()
            # The first list is a view; an intersection looks up each id of the smaller set.
            total += 1.0 if current == inf else min(size, current)
            current = min(current, size)
        elif other in node.shape.alone:
            size = edge.sources[forward]
            total += 1.0 if current == inf else min(size, current)
            current = min(current, size)
        elif other not in seen and len(seen) <= DEPTH:
            # The entries to solve the subtree of the edge and to reach back from it.
            reach = edge.pairs[not forward] * share_of(node, edge, other, forward, seen)
            later.append((_work(node, other, edge, seen) + reach, edge, other, forward))
    if len(later) > 1:
        later.sort(key=itemgetter(0))
    for bottom_up, edge, other, forward in later:
        top_down = 2.0 * current * max(1.0, edge.pairs[forward] / max(1.0, edge.sources[forward]))
        total += min(bottom_up, top_down)
        current = min(current, by_edge(node, edge, other, forward, seen))
    return total


PAIR = 2.5
"""Entries that a pair of joined rows costs: 0.05 us (operators/context.py, PAIR_US)."""

DELEGATED = 500.0
"""Entries that one value costs for which Oxigraph evaluates a test: 10 us (STRLEN of a title, 2-core machine)."""


def _delegated(node: JoinNode) -> float:
    """The estimated entries for which the tests of Oxigraph count, over all values."""
    total = 0.0
    for name, condition in node.conditions.items():
        if condition.delegated.bounds:
            values = [
                edge.relation.sources_in(condition.delegated, edge.from_subject(name))
                for edge in node.edges
                if name in edge.variables
            ]
            total += DELEGATED * min(values, default=float(condition.delegated.size))
    return total


def work_each_of(node: PatternNode, variable: str) -> float:
    """The estimated entries that a node reads for the rows of one value of a variable."""
    if not isinstance(node, JoinNode):
        return 1.0 + node.estimate(None) / max(1.0, node.estimate(variable))
    bound, size, total, left = {variable}, 1.0, 1.0, [*node.edges]
    while left:
        mean, step, name = inf, None, ""
        for edge in left:
            for one in edge.variables:
                if one in bound:
                    forward = edge.subject == one
                    is_open = isinstance(edge.object if forward else edge.subject, str)
                    own = (edge.pairs[forward] if is_open else edge.least()) / max(1.0, edge.sources[forward])
                    if own < mean:
                        mean, step, name = own, edge, one
        if step is None:
            return total + len(left) + node.estimate(None) / max(1.0, node.estimate(variable))
        left.remove(step)
        other = step.object if step.subject == name else step.subject
        total += size * max(1.0, mean)
        if isinstance(other, str) and other not in bound:
            size *= mean
            if other in node.conditions:
                condition = node.conditions[other]
                total += size * DELEGATED if condition.delegated.bounds else 0.0
                span = condition.span
                size *= step.relation.work_ranges(span, other == step.subject) / max(1.0, step.pairs[True])
        else:
            size *= min(1.0, mean)
        bound.update(step.variables)
    return total


def work_of(node: PatternNode, variable: str | None) -> float:
    """The estimated entries that a node reads for the values of a variable, or for its rows."""
    match node:
        case JoinNode():
            parts: float = sum([work_of(other, None) for other in node.others]) if node.others else 0
            for member in node.members:
                probing = 2.0 * node.estimate(member.variable) * work_each_of(member.node, member.variable)
                parts += min(work_of(member.node, member.variable), probing)
            parts += _delegated(node) if node.conditions else 0.0
            start: str | None = None
            for edge in node.edges:
                if edge.variables:
                    start = start or edge.variables[0]
                    if variable in edge.variables:
                        start = variable
                        break
            if start is None:
                return parts
            if variable is not None:
                return parts + _work(node, start, None, frozenset())
            first = min([entries(edge, node.conditions) for edge in node.edges])
            return parts + first + node.estimate(None) * len(node.edges)
        case AnyPredicateNode():
            return node.work(variable)
        case SelectNode(child):
            return work_of(child, variable)
        case UnionNode(branches):
            merged = sum(branch.estimate(variable) for branch in branches)
            return merged + sum(work_of(branch, variable) for branch in branches)
        case OptionalNode(left, right):
            if variable is not None:
                return work_of(left, variable)
            return work_of(left, None) + work_of(right, None) + PAIR * node.pairs.pairs
        case SemiJoinNode(left, right):
            return work_of(left, None) + work_of(right, None)
        case RestrictNode(child):
            return work_of(child, None)
        case _:
            return node.estimate(None)


def bounds_of(node: PatternNode, variable: str | None) -> tuple[float, float]:
    """(lower, upper) bound on the solutions, or on the distinct values of a variable."""
    match node:
        case JoinNode():
            return _bounds_of_join(node, variable)
        case AnyPredicateNode():
            return node.bounds(variable)
        case SelectNode(child, _, distinct):
            low, high = bounds_of(child, variable)
            return (min(low, 1.0) if distinct and variable is None else low), high
        case EmptyNode():
            return 0.0, 0.0
        case TableNode(table):
            return (float(table.size), float(table.size)) if variable is None else (0.0, float(table.size))
        case UnionNode(branches):
            bounds = [bounds_of(branch, variable) for branch in branches]
            low = sum(low for low, _ in bounds) if variable is None else max((low for low, _ in bounds), default=0.0)
            return low, sum(high for _, high in bounds)
        case OptionalNode(left) if variable is not None and variable in left.certain:
            return bounds_of(left, variable)
        case OptionalNode(left, right):
            low, high = bounds_of(left, None)
            return low, high * max(1.0, bounds_of(right, None)[1])
        case SemiJoinNode(child) | RestrictNode(child):
            return 0.0, bounds_of(child, variable)[1]
    return 0.0, inf


def _bounds_of_join(node: JoinNode, variable: str | None) -> tuple[float, float]:
    if len(node.edges) == 1 and not (node.others or node.members or node.tests):
        edge = node.edges[0]
        if edge.exact and len(edge.variables) == 1 and not node.conditions and edge.subject != edge.object:
            return edge.least(), edge.least()  # one value for each triple with the constant
        return _bounds_of_edge(node, edge, variable)
    high = 1.0
    if variable is None:
        for edge in node.edges:
            high *= _max_solutions(node, edge)
        for other in node.others:
            high *= bounds_of(other, None)[1]
        return 0.0, min(high, _by_degrees(node, high))
    high = inf
    for edge in node.edges:
        if variable in edge.variables:
            high = min(high, _high_at_edge(node, edge, variable))
    for other in node.others:
        if variable in other.certain:
            high = min(high, bounds_of(other, variable)[1])
    return 0.0, high


def _by_degrees(node: JoinNode, high: float) -> float:
    """An upper bound on solutions: those of one edge times the maximum degree of each further edge."""
    if node.others or not node.edges:
        return high
    tightest = inf
    for start, degrees in zip(node.edges, node.shape.degrees, strict=True):
        if degrees is not None:
            size = _max_solutions(node, start)
            for degree in degrees:
                size *= degree
            tightest = min(tightest, size)
    return tightest


def _high_at_edge(node: JoinNode, edge: Edge, variable: str) -> float:
    forward = edge.subject == variable
    if not node.conditions and edge.exact:
        return min(edge.sources[forward], edge.least())
    high = min(edge.sources[forward], _max_solutions(node, edge))
    if variable in node.conditions:
        high = min(high, edge.relation.sources_in(node.conditions[variable].span, forward))
    return high


def _bounds_of_edge(node: JoinNode, edge: Edge, variable: str | None) -> tuple[float, float]:
    """The bounds of a single edge: exact for a predicate when the tests concern one end and leave no doubt."""
    if variable is not None:
        high = _high_at_edge(node, edge, variable)
        other = edge.other(variable)
        exact = edge.exact and edge.subject != edge.object
        if not exact or node.conditions.get(variable, None) is not None or other in node.conditions:
            sure = node.conditions.get(variable)
            if exact and sure is not None and isinstance(other, str) and other not in node.conditions:
                return edge.relation.sources_in(sure.sure, edge.from_subject(variable)), high
            return 0.0, high
        return high, high
    high = _max_solutions(node, edge)
    if not edge.exact or edge.subject == edge.object or len(node.conditions) > 1:
        return 0.0, high
    if (len(edge.variables) == 1 and node.conditions) or len(edge.variables) == 0:
        return 0.0, high
    for name, condition in node.conditions.items():
        return edge.relation.work_ranges(condition.sure, edge.from_subject(name)), high
    return high, high


def _max_solutions(node: JoinNode, edge: Edge) -> float:
    if edge.exact:
        return entries(edge, node.conditions)
    sizes = [edge.sources[edge.subject == name] for name in edge.variables]
    return sizes[0] * sizes[1] if len(sizes) == 2 else sizes[0] if sizes else 1.0
