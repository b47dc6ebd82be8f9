"""About how many solutions and values a join has, from counts alone.

Parts are taken as independent and the values of a variable in a smaller set as contained in the larger one (Selinger
et al., SIGMOD 1979); a value that has d neighbours on average has one in a set of share s with probability
1 - (1 - s)^d. Nothing here reads an array of ids, but for a few binary searches.

Planning asks this for every query, and finds little of it in the processor's caches after another query has run: each
function that is called costs about a microsecond then. So these are few, and each does much.
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
"""So many of the values that a test has to look at one by one are taken to pass it."""

DEPTH = 6
"""How many triple patterns away from a variable are looked at."""


def guess_join(node: JoinNode, variable: str | None) -> float:
    """About how many solutions, or distinct values of a variable, a join has."""
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
    for other in node.others:
        rows *= other.estimate(None)
        for name in other.variables:
            if name in times:
                rows /= max(times[name], 1.0)
            elif other.estimate(name) > 0:
                times[name] = other.estimate(name)
    for member in node.members:
        share = min(1.0, member.node.estimate(member.variable) / max(1.0, times.get(member.variable, 1.0)))
        rows *= 1.0 - share if member.negated else share
    rows /= 2.0 ** len(node.tests)
    if variable is None:
        return rows
    return min([rows, *(other.estimate(variable) for other in node.others if variable in other.variables)])


def _pairs(node: JoinNode, edge: Edge) -> float:
    """About how many solutions an edge has with the tests of its variables."""
    if not node.conditions:
        return edge.least()
    found = entries(edge, node.conditions)
    for name in edge.variables:
        condition = node.conditions.get(name)
        if condition is not None and condition.doubt.bounds:
            forward = edge.from_subject(name)
            found = min(found, _passing(condition, lambda ranges: edge.relation.work_ranges(ranges, forward)))  # noqa: B023
    return found


def _values(node: JoinNode, variable: str, via: Edge | None, seen: frozenset[str], *, tested: bool = True) -> float:
    """About how many values a variable has, by all that hangs on it but the edge `via`, and perhaps its tests."""
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
            found = min(universe, member.node.estimate(variable))
            sizes.append(universe - found if member.negated else found)
    made = universe
    for size in sizes:
        made *= min(1.0, size / universe)
    return made


def by_edge(node: JoinNode, edge: Edge, other: str, forward: bool, seen: frozenset[str]) -> float:
    """About how many values of its near end an edge leaves, by what the join leaves of the far end."""
    mine = edge.sources[forward]
    if other in seen or len(seen) > DEPTH:
        return mine
    pairs = edge.pairs[forward]
    share = share_of(node, edge, other, forward, seen)
    if share >= 1.0 or mine == 0:
        return mine
    return float(min(mine * (1.0 - (1.0 - share) ** (pairs / mine)), share * pairs))


def share_of(node: JoinNode, edge: Edge, other: str, forward: bool, seen: frozenset[str]) -> float:
    """The share of the pairs of an edge whose far end is one of the values that the rest leaves."""
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
    """About how many of something pass a test."""
    sure = count(condition.sure)
    return sure + DOUBT_SHARE * (count(condition.span) - sure) if condition.doubt.bounds else sure
