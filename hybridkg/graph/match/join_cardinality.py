"""Join cardinality: estimated solutions and distinct values of a join, from counts alone.

Parts are assumed independent, the smaller value set of a variable contained in the larger (Selinger et al., SIGMOD
1979); a value with d neighbours on average has one in a set of share s with probability 1 - (1 - s)^d. Apart from a few
binary searches, no array of ids is read.

Every query is estimated, mostly with cold processor caches, where each function call costs about a microsecond; hence
few, large functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hybridkg.graph.match.conditions import IdTest
from hybridkg.graph.match.edges import Edge, entries
from hybridkg.graph.match.ids import IdRanges

if TYPE_CHECKING:
    from hybridkg.graph.match.join import JoinNode

DOUBT_SHARE = 0.1
"""The assumed share of the values in doubt that pass a test."""

DEPTH = 6
"""The maximum distance, in triple patterns, from the estimated variable."""


def estimate_join(node: JoinNode, variable: str | None) -> float:
    """The estimated number of solutions, or of distinct values of a variable."""
    if variable is not None:
        for edge in node.edges:
            if variable in edge.variables:
                return _values(node, variable, None, frozenset())
    rows = 1.0
    times: dict[str, float] = {}
    for edge in node.edges:
        rows *= _pairs(node, edge)
        for name in edge.variables:
            domain = max(1.0, edge.domain(edge.subject == name))
            if name in times:
                rows /= max(domain, times[name])
            times[name] = max(domain, times.get(name, 1.0))
    loose: dict[str, float] = {}
    for other in node.others:
        rows *= other.estimate(None)
        for name in other.variables:
            is_unbound = 0.0 if name in other.certain else other.unbound_share(name)
            values = other.estimate(name)
            if name in times:
                is_unbound = 1.0 - (1.0 - is_unbound) * (1.0 - loose.get(name, 0.0))
                rows *= is_unbound + (1.0 - is_unbound) / max(times[name], values, 1.0)
            if values > 0:
                times[name] = max(values, times.get(name, values))
            if is_unbound:
                loose[name] = is_unbound
    for member in node.members:
        share = min(1.0, member.node.estimate(member.variable) / max(1.0, times.get(member.variable, 1.0)))
        rows *= 1.0 - share if member.negated else share
    rows /= 2.0 ** len(node.tests)
    if variable is None:
        return rows
    return min([rows, *(other.estimate(variable) for other in node.others if variable in other.variables)])


def _pairs(node: JoinNode, edge: Edge) -> float:
    """The estimated solutions of an edge with the tests of its variables."""
    if not node.conditions:
        return edge.least()
    pairs = entries(edge, node.conditions)
    for name in edge.variables:
        condition = node.conditions.get(name)
        if condition is not None and condition.doubt.bounds:
            forward = edge.from_subject(name)
            pairs = min(pairs, _passing(condition, lambda ranges: edge.relation.work_ranges(ranges, forward)))  # noqa: B023
    return pairs


def _values(node: JoinNode, variable: str, via: Edge | None, seen: frozenset[str], *, tested: bool = True) -> float:
    """The estimated values of a variable, from all its parts except the edge `via`, and optionally its tests."""
    condition = node.conditions.get(variable) if tested else None
    sizes, universe = [], 1.0
    for edge in node.edges:
        if variable not in edge.variables:
            continue
        forward = edge.subject == variable
        universe = max(universe, edge.domain(forward) if edge.is_type else edge.sources[forward])
        if edge is not via:
            other = edge.object if forward else edge.subject
            sizes.append(
                by_edge(node, edge, other, forward, seen | {variable}) if isinstance(other, str) else edge.least()
            )
        if condition is not None:
            sizes.append(_passing(condition, lambda ranges: edge.relation.sources_in(ranges, forward)))  # noqa: B023
    if node.others:
        sizes += [other.estimate(variable) for other in node.others if variable in other.certain]
    for member in node.members:
        if member.variable == variable:
            size = min(universe, member.node.estimate(variable))
            sizes.append(universe - size if member.negated else size)
    estimate = universe
    for size in sizes:
        estimate *= min(1.0, size / universe)
    return estimate


def by_edge(node: JoinNode, edge: Edge, other: str, forward: bool, seen: frozenset[str]) -> float:
    """The estimated values of one end of an edge, given those that the rest of the join leaves to `other`."""
    mine = edge.sources[forward]
    if other in seen or len(seen) > DEPTH:
        return mine
    pairs = edge.pairs[forward]
    share = share_of(node, edge, other, forward, seen)
    if share >= 1.0 or mine == 0:
        return mine
    return float(min(mine * (1.0 - (1.0 - share) ** (pairs / mine)), share * pairs))


def share_of(node: JoinNode, edge: Edge, other: str, forward: bool, seen: frozenset[str]) -> float:
    """The selectivity of the rest of the join on the pairs of an edge, through its end `other`."""
    key = edge, forward, seen
    share = node.shares.get(key)
    if share is None:
        domain = max(1.0, edge.sources[not forward])
        share = min(1.0, _values(node, other, edge, seen, tested=False) / domain)
        condition, pairs = node.conditions.get(other), edge.pairs[forward]
        if condition is not None and pairs:
            share *= _passing(condition, lambda ranges: edge.relation.work_ranges(ranges, not forward)) / pairs
        node.shares[key] = share
    return share


def _passing(condition: IdTest, count: Callable[[IdRanges], float]) -> float:
    sure = count(condition.sure)
    return sure + DOUBT_SHARE * (count(condition.span) - sure) if condition.doubt.bounds else sure
