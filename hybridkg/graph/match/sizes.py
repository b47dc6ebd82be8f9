"""How many solutions and values a pattern has and what it takes to find them, from counts alone.

A single triple pattern is counted exactly. Otherwise parts are taken as independent and the values of a variable in a
smaller set as contained in the larger one (Selinger et al., SIGMOD 1979); a value that has d neighbours on average has
one in a set of share s with probability 1 - (1 - s)^d. Nothing here reads an array of ids, but for a few binary
searches.
"""

from __future__ import annotations

from collections.abc import Callable

from hybridkg.graph.match.combine import NothingNode, RestrictNode, SelectNode, TableNode, UnionNode
from hybridkg.graph.match.conditions import Condition
from hybridkg.graph.match.edges import Edge, entries
from hybridkg.graph.match.ids import Ranges
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.nodes import Node
from hybridkg.graph.match.optional import OptionalNode, SortedOutNode

DOUBT_SHARE = 0.1
"""So many of the values that a test has to look at one by one are taken to pass it."""

DEPTH = 6
"""How many triple patterns away from a variable are looked at."""


def guess_join(node: JoinNode, variable: str | None) -> float:
    """About how many solutions, or distinct values of a variable, a join has."""
    if variable is not None:
        for edge in node.edges:
            if variable in edge.variables:
                return Counts(node).values(variable, None, frozenset())
    rows = 1.0
    times: dict[str, float] = {}
    for edge in node.edges:
        rows *= _pairs(node, edge)
        for name in edge.variables:
            domain = edge.domain(name)
            if name in times:
                rows /= max(domain, times[name])
            times[name] = max(domain, times.get(name, 1.0))
    for other in node.others:
        rows *= other.guess(None)
        for name in other.variables:
            if name in times:
                rows /= max(times[name], 1.0)
            elif other.guess(name) > 0:
                times[name] = other.guess(name)
    for member in node.members:
        share = min(1.0, member.node.guess(member.variable) / max(1.0, times.get(member.variable, 1.0)))
        rows *= 1.0 - share if member.negated else share
    rows /= 2.0 ** len(node.tests)
    if variable is None:
        return rows
    return min([rows, *(other.guess(variable) for other in node.others if variable in other.variables)])


def _pairs(node: JoinNode, edge: Edge) -> float:
    """About how many solutions an edge has with the tests of its variables."""
    found = entries(edge, node.conditions)
    if not node.conditions:
        return found
    for name in edge.variables:
        condition = node.conditions.get(name)
        if condition is not None and condition.doubt.bounds:
            forward = edge.from_subject(name)
            found = min(found, _passing(condition, lambda ranges: edge.relation.work_ranges(ranges, forward)))  # noqa: B023
    return found


class Counts:
    """Numbers of values of the variables of a join."""

    def __init__(self, node: JoinNode):
        self._node = node

    def values(self, variable: str, via: Edge | None, seen: frozenset[str], *, tested: bool = True) -> float:
        """About how many values a variable has, by all that hangs on it but the edge `via`, and perhaps its tests."""
        node = self._node
        condition = node.conditions.get(variable) if tested else None
        sizes, universe = [], 1.0
        for edge in node.edges:
            if variable not in edge.variables:
                continue
            forward = edge.subject == variable
            universe = max(universe, edge.domain(variable))
            if edge is not via:
                sizes.append(self._by_edge(edge, variable, forward, seen | {variable}))
            if condition is not None:
                sizes.append(_passing(condition, lambda ranges: edge.relation.sources_in(ranges, forward)))  # noqa: B023
        if node.others:
            sizes += [other.guess(variable) for other in node.others if variable in other.certain]
        for member in node.members:
            if member.variable == variable:
                found = min(universe, member.node.guess(variable))
                sizes.append(universe - found if member.negated else found)
        made = universe
        for size in sizes:
            made *= min(1.0, size / universe)
        return made

    def _by_edge(self, edge: Edge, variable: str, forward: bool, seen: frozenset[str]) -> float:
        relation, other = edge.relation, edge.object if forward else edge.subject
        if not isinstance(other, str):
            return edge.least()
        mine = relation.sources(forward)
        if other in seen or len(seen) > DEPTH:
            return mine
        pairs = relation.work(None, forward)
        share = self._share(edge, other, forward, seen)
        if share >= 1.0 or mine == 0:
            return mine
        return float(min(mine * (1.0 - (1.0 - share) ** (pairs / mine)), share * pairs))

    def _share(self, edge: Edge, other: str, forward: bool, seen: frozenset[str]) -> float:
        """The share of the pairs of an edge whose far end is one of the values that the rest leaves."""
        key = edge, forward, seen
        shares = self._node.shares
        share = shares.get(key)
        if share is None:
            share = shares[key] = self._found_share(edge, other, forward, seen)
        return share

    def _found_share(self, edge: Edge, other: str, forward: bool, seen: frozenset[str]) -> float:
        relation = edge.relation
        pairs, domain = relation.work(None, forward), max(1.0, relation.sources(not forward))
        share = min(1.0, self.values(other, edge, seen, tested=False) / domain)
        condition = self._node.conditions.get(other)
        if condition is not None and pairs:
            share *= _passing(condition, lambda ranges: relation.work_ranges(ranges, not forward)) / pairs
        return share

    def work(self, variable: str, via: Edge | None, seen: frozenset[str]) -> float:
        """About how many entries it takes to reduce a variable."""
        total, current = 0.0, float("inf")
        seen |= {variable}
        later = []
        for edge in self._node.edges:
            if variable not in edge.variables or edge is via:
                continue
            forward = edge.subject == variable
            other = edge.object if forward else edge.subject
            if not isinstance(other, str):
                size = edge.least()
                # The first list is a view; of an intersection each id of the smaller set is looked up.
                total += 1.0 if current == float("inf") else min(size, current)
                current = min(current, size)
            elif other in self._node.alone:  # so nothing but this edge
                size = edge.relation.sources(forward)
                total += 1.0 if current == float("inf") else min(size, current)
                current = min(current, size)
            elif other not in seen and len(seen) <= DEPTH:
                later.append((self._alone(edge, variable, forward, seen), edge, forward))
        for alone, edge, forward in sorted(later, key=lambda entry: entry[0]):
            near = current * max(1.0, edge.relation.work(None, forward) / max(1.0, edge.relation.sources(forward)))
            total += min(alone, 2.0 * near)
            current = min(current, self._by_edge(edge, variable, forward, seen))
        return total

    def _alone(self, edge: Edge, variable: str, forward: bool, seen: frozenset[str]) -> float:
        """Entries that it takes to solve what is behind an edge and to carry it back."""
        child = edge.other(variable)
        assert isinstance(child, str)
        return self.work(child, edge, seen) + edge.relation.work(None, not forward) * self._share(
            edge, child, forward, seen
        )


def _passing(condition: Condition, count: Callable[[Ranges], float]) -> float:
    """About how many of something pass a test."""
    sure = count(condition.sure)
    return sure + DOUBT_SHARE * (count(condition.span) - sure) if condition.doubt.bounds else sure


def work_each_of(node: Node, variable: str) -> float:
    """About how many entries a node reads for the rows of one value of a variable."""
    if not isinstance(node, JoinNode):
        return 1.0 + _rows_each(node, variable)
    bound, size, total, left = {variable}, 1.0, 1.0, list(node.edges)
    while left:
        steps = [(_step(edge, name), edge, name) for edge in left for name in edge.variables if name in bound]
        if not steps:
            return total + len(left) + _rows_each(node, variable)
        mean, edge, name = min(steps, key=lambda step: step[0])
        left.remove(edge)
        other = edge.other(name)
        total += size * max(1.0, mean)
        if isinstance(other, str) and other not in bound:
            size *= mean
            if other in node.conditions:
                span = node.conditions[other].span
                size *= edge.relation.work_ranges(span, other == edge.subject) / max(
                    1.0, edge.relation.work(None, True)
                )
        else:
            size *= min(1.0, mean)
        bound.update(edge.variables)
    return total


def _rows_each(node: Node, variable: str) -> float:
    return node.guess(None) / max(1.0, node.guess(variable))


def _step(edge: Edge, name: str) -> float:
    """How many values of its other end an edge gives for one value of a variable, on average."""
    forward = edge.subject == name
    if not isinstance(edge.object if forward else edge.subject, str):
        return edge.least() / max(1.0, edge.relation.sources(forward))
    return edge.relation.work(None, forward) / max(1.0, edge.relation.sources(forward))


def work_of(node: Node, variable: str | None) -> float:
    """About how many entries a node reads for the values of a variable, or for its rows."""
    match node:
        case JoinNode():
            parts: float = sum([work_of(other, None) for other in node.others]) if node.others else 0
            for member in node.members:
                probing = 2.0 * node.guess(member.variable) * work_each_of(member.node, member.variable)
                parts += min(work_of(member.node, member.variable), probing)
            names = [name for edge in node.edges for name in edge.variables]
            if not names:
                return parts
            if variable is not None:
                return parts + Counts(node).work(variable if variable in names else names[0], None, frozenset())
            least = min(entries(edge, node.conditions) for edge in node.edges)
            return parts + least + node.guess(None) * len(node.edges)
        case UnionNode(branches):
            together = sum(branch.guess(variable) for branch in branches)
            return together + sum(work_of(branch, variable) for branch in branches)
        case OptionalNode(left, right):
            return work_of(left, variable) + (0.0 if variable is not None else work_of(right, None))
        case SortedOutNode(left, right):
            return work_of(left, None) + work_of(right, None)
        case RestrictNode(child):
            return work_of(child, None)
        case SelectNode(child):
            return work_of(child, variable)
        case _:
            return node.guess(None)


def bounds_of(node: Node, variable: str | None) -> tuple[float, float]:
    """(low, high) of solutions or of distinct values of a variable."""
    match node:
        case JoinNode():
            return _bounds_of_join(node, variable)
        case NothingNode():
            return 0.0, 0.0
        case TableNode(table):
            return (float(table.size), float(table.size)) if variable is None else (0.0, float(table.size))
        case UnionNode(branches):
            found = [bounds_of(branch, variable) for branch in branches]
            low = sum(low for low, _ in found) if variable is None else max((low for low, _ in found), default=0.0)
            return low, sum(high for _, high in found)
        case OptionalNode(left) if variable is not None and variable in left.certain:
            return bounds_of(left, variable)
        case OptionalNode(left, right):
            low, high = bounds_of(left, None)
            return low, high * max(1.0, bounds_of(right, None)[1])
        case SortedOutNode(child) | RestrictNode(child):
            return 0.0, bounds_of(child, variable)[1]
        case SelectNode(child, _, distinct):
            low, high = bounds_of(child, variable)
            return (min(low, 1.0) if distinct and variable is None else low), high
    return 0.0, float("inf")


def _bounds_of_join(node: JoinNode, variable: str | None) -> tuple[float, float]:
    if len(node.edges) == 1 and not (node.others or node.members or node.tests):
        edge = node.edges[0]
        if edge.relation.exact and len(edge.variables) == 1 and not node.conditions and edge.subject != edge.object:
            return edge.least(), edge.least()  # one value for each triple with the constant
        return _bounds_of_edge(node, edge, variable)
    if variable is None:
        high = 1.0
        for edge in node.edges:
            high *= _most(node, edge)
        for other in node.others:
            high *= bounds_of(other, None)[1]
        return 0.0, min(high, _by_degrees(node, high))
    sizes = [_high_at_edge(node, edge, variable) for edge in node.edges if variable in edge.variables]
    sizes += [bounds_of(other, variable)[1] for other in node.others if variable in other.certain]
    return 0.0, min(sizes, default=float("inf"))


def _by_degrees(node: JoinNode, high: float) -> float:
    """Solutions at most: those of one edge times the largest degree of each further one; a plain chain or star."""
    if node.others or not node.edges:
        return high
    least = float("inf")
    for start in node.edges:
        bound, size = set(start.variables), _most(node, start)
        left = [edge for edge in node.edges if edge is not start]
        while left:
            edge = next((e for e in left if not e.variables or not bound.isdisjoint(e.variables)), None)
            if edge is None:
                size = float("inf")
                break
            left.remove(edge)
            size *= min(
                [1.0 if bound.issuperset(edge.variables) else edge.relation.largest(edge.from_subject(name))
                 for name in edge.variables if name in bound], default=1.0,
            )  # fmt: skip
            bound.update(edge.variables)
        least = min(least, size)
    return least


def _high_at_edge(node: JoinNode, edge: Edge, variable: str) -> float:
    forward = edge.from_subject(variable)
    found = min(edge.relation.sources(forward), _most(node, edge))
    if variable in node.conditions:
        found = min(found, edge.relation.sources_in(node.conditions[variable].span, forward))
    return found


def _bounds_of_edge(node: JoinNode, edge: Edge, variable: str | None) -> tuple[float, float]:
    """Exact where the relation is a predicate and tests leave no doubt and concern one end."""
    if variable is not None:
        high = _high_at_edge(node, edge, variable)
        other = edge.other(variable)
        known = edge.relation.exact and edge.subject != edge.object
        if not known or node.conditions.get(variable, None) is not None or other in node.conditions:
            sure = node.conditions.get(variable)
            if known and sure is not None and isinstance(other, str) and other not in node.conditions:
                return edge.relation.sources_in(sure.sure, edge.from_subject(variable)), high
            return 0.0, high
        return high, high
    high = _most(node, edge)
    if not edge.relation.exact or edge.subject == edge.object or len(node.conditions) > 1:
        return 0.0, high
    if (len(edge.variables) == 1 and node.conditions) or len(edge.variables) == 0:
        return 0.0, high
    for name, condition in node.conditions.items():
        return edge.relation.work_ranges(condition.sure, edge.from_subject(name)), high
    return high, high


def _most(node: JoinNode, edge: Edge) -> float:
    """Solutions of an edge at most."""
    if edge.relation.exact:
        return entries(edge, node.conditions)
    sizes = [edge.relation.sources(edge.from_subject(name)) for name in edge.variables]
    return sizes[0] * sizes[1] if len(sizes) == 2 else sizes[0] if sizes else 1.0
