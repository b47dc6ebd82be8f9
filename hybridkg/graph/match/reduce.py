"""Semi-join reduction: the values that a variable can have, without building rows.

The algorithm is that of Yannakakis (VLDB 1981) over a tree of triple patterns, rooted at the requested variable. Each
subtree is solved alone and joined back (bottom up), or restricted to the current values first (top down), whichever
reads fewer entries. For a cyclic pattern, a spanning tree gives supersets: hints for a join, not answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from hybridkg.graph.match.conditions import IdTest
from hybridkg.graph.match.edges import Conditions, Edge, of_constant
from hybridkg.graph.match.ids import both, inside, without
from hybridkg.graph.match.nodes import Hints, PatternNode
from hybridkg.graph.match.relations import Relation, chunks
from hybridkg.graph.match.run import PatternRun
from hybridkg.interfaces.graph_index import Ids

PROBE_COST = 2.0
"""The cost of testing an entry for membership of a set, relative to marking it."""

DECISION_COST = 1_000.0
"""The cost of a value that Oxigraph decides, relative to marking an entry: 7 to 30 us against 0.01."""

FEW = 1_000
"""Values of a part, such as VALUES, that restricts a variable before its edges are followed."""


@dataclass(frozen=True, eq=False)
class Member:
    """EXISTS or MINUS over one shared variable: its values are (or, negated, are not) values of the node."""

    variable: str
    node: PatternNode
    negated: bool


@dataclass
class Reducer:
    """The semi-join reduction of one pattern.

    `others` constrain their certain variables, `hints` are known supersets of values; edges without variables are
    ignored. `sets` gets the reduced values of each visited variable.
    """

    edges: Sequence[Edge]
    conditions: Conditions
    members: Sequence[Member]
    others: Sequence[PatternNode]
    hints: Hints
    run: PatternRun
    sets: dict[str, Ids] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._at: dict[str, list[Edge]] = {}
        self._applied: set[tuple[str, int]] = set()
        for edge in self.edges:
            for variable in edge.variables:
                self._at.setdefault(variable, []).append(edge)

    def solve(self, variable: str, among: Ids | None, seen: frozenset[str] = frozenset()) -> Ids | None:
        """The values of a variable that its subtree without the `seen` variables allows; None for any."""
        current = among
        if variable in self.hints:
            current = meet(current, self.hints[variable], self.run)
        condition = self.conditions.get(variable)
        seen |= {variable}
        constants: list[Edge] = []
        children: list[Edge] = []
        loops: list[Edge] = []
        for edge in self._at.get(variable, ()):
            other = edge.object if edge.subject == variable else edge.subject
            if not isinstance(other, str):
                constants.append(edge)
            elif other not in seen:
                children.append(edge)
            elif other == variable:
                loops.append(edge)
        if constants:
            current = listed(constants, variable, current, self.run)
        if self.others:
            current = self._nodes(variable, current, FEW)
        if condition is not None and current is not None:
            current, condition = condition.of_set(current, self.run), None
        if len(children) > 1:
            children.sort(key=lambda edge: self._estimate(edge, variable, seen) + self._decisions(edge, variable))
        for edge in children:
            child = edge.other(variable)
            if child in seen or (current is not None and len(current) == 0):
                continue  # a cycle: left to the join
            assert isinstance(child, str)
            current = self._through(edge, variable, child, current, condition, seen)
            if edge is not children[-1]:
                seen |= self._below(child, seen)
            if condition is not None:
                current, condition = condition.of_set(current, self.run), None
        if current is None and (condition is not None or any(m.variable == variable for m in self.members)):
            current = self._any(variable)
        for edge in loops:
            ids = edge.relation.ends(True, self.run) if current is None else current
            current = ids[edge.relation.links(ids, ids, self.run)]
        if self.others or self.members:
            current = self._others(variable, current)
        if condition is not None and current is not None:
            current = condition.of_set(current, self.run)
        if current is not None:
            self.sets[variable] = meet(self.sets.get(variable), current, self.run)
        return current

    def _below(self, variable: str, seen: frozenset[str]) -> frozenset[str]:
        """The variables reachable from one without the seen ones, and these."""
        reached, waiting = set(seen), [variable]
        while waiting:
            at = waiting.pop()
            reached.add(at)
            waiting += [
                other
                for edge in self._at.get(at, ())
                if isinstance(other := edge.other(at), str) and other not in reached
            ]
        return frozenset(reached)

    def _free(self, variable: str) -> bool:
        """Whether nothing but one edge and a condition restricts a variable."""
        return (
            variable not in self.hints
            and len(self._at[variable]) == 1
            and not (self.members and any(member.variable == variable for member in self.members))
            and not (self.others and any(variable in node.certain for node in self.others))
        )

    def _estimate(self, edge: Edge, variable: str, seen: frozenset[str], depth: int = 4) -> float:
        """The estimated entries to join the solved subtree of an edge back to the variable."""
        child = edge.other(variable)
        assert isinstance(child, str)
        relation, forward = edge.relation, edge.from_subject(variable)
        work = relation.work(None, not forward)
        size = self.size(child, edge, seen | {variable}, depth)
        if size is not None:
            ends = relation.sources(not forward)
            work = min(work, size * max(1.0, work / max(1.0, ends)))
        condition = self.conditions.get(child)
        if condition is not None:
            work = min(work, relation.work_ranges(condition.span, not forward))
        return work

    def size(self, variable: str, without_edge: Edge | None, seen: frozenset[str], depth: int) -> float | None:
        """The estimated values that the rest of a subtree leaves to a variable; None when nothing limits them."""
        sizes = [float(len(self.hints[variable]))] if variable in self.hints else []
        for edge in self._at.get(variable, ()):
            if edge is without_edge:
                continue
            other = edge.other(variable)
            forward = edge.from_subject(variable)
            if isinstance(other, int):
                sizes.append(edge.listed(not forward))
            elif other not in seen and depth > 0:
                subtree = self._estimate(edge, variable, seen | {other}, depth - 1)
                sizes.append(min(edge.relation.sources(forward), subtree))
        if self.others:
            sizes += [node.estimate(variable) for node in self.others if variable in node.certain]
        return min(sizes, default=None)

    def _through(
        self, edge: Edge, variable: str, child: str, current: Ids | None, condition: IdTest | None, seen: frozenset[str]
    ) -> Ids:
        """The values that an edge links with the values that its subtree leaves to the child."""
        relation, forward, run = edge.relation, edge.subject == variable, self.run
        mine = self.conditions.get(child)
        if self._free(child):
            if mine is None:
                return meet(current, relation.ends(forward, run), run)
            if current is None:
                return self._from_values(relation, forward, mine)
            near, decisions = relation.near(current, forward), self._decisions(edge, variable)
            if relation.work_ranges(mine.span, not forward) + decisions < PROBE_COST * near + min(
                decisions, DECISION_COST * near
            ):
                return meet(current, self._from_values(relation, forward, mine), run)
            return self._probe(relation, forward, current, None, mine)
        if current is not None:
            down = relation.near(current, forward)
            if down * PROBE_COST < self._estimate(edge, variable, seen):
                members = self.solve(child, relation.reach(current, forward, run), seen)
                assert members is not None
                return self._joined(relation, forward, current, members)
        members = self.solve(child, None, seen)
        if members is None:
            return meet(current, relation.ends(forward, run), run)
        if current is None:
            return relation.reach(members, not forward, run)
        return self._joined(relation, forward, current, members)

    def _decisions(self, edge: Edge, variable: str) -> float:
        """Cost of what Oxigraph decides to test all values at the other end of an edge."""
        child = edge.other(variable)
        condition = self.conditions.get(child) if isinstance(child, str) else None
        if condition is None or not condition.delegated.bounds:
            return 0.0
        backward = not edge.from_subject(variable)
        values = min(edge.relation.work_ranges(condition.delegated, backward), edge.relation.sources(backward))
        return DECISION_COST * values

    def _from_values(self, relation: Relation, forward: bool, mine: IdTest) -> Ids:
        if not mine.doubt.bounds:
            return relation.reach_ranges(mine.sure, not forward, self.run)
        return relation.reach(mine.of_set(relation.ends(not forward, self.run), self.run), not forward, self.run)

    def _joined(self, relation: Relation, forward: bool, current: Ids, members: Ids) -> Ids:
        """The semi-join of the current values with a set of targets, from the side that reads fewer entries."""
        if PROBE_COST * relation.near(current, forward) < relation.near(members, not forward):
            return self._probe(relation, forward, current, members, None)
        return both(current, relation.reach(members, not forward, self.run))

    def _probe(
        self, relation: Relation, forward: bool, current: Ids, members: Ids | None, condition: IdTest | None
    ) -> Ids:
        hits = np.zeros(len(current), np.bool_)
        for first, part in chunks(relation, current, forward):
            index, targets = relation.expand(part, forward, self.run)
            mask = inside(targets, members) if members is not None else None
            if condition is not None:
                passed = condition.holds(targets, self.run)
                mask = passed if mask is None else mask & passed
            hits[first + (index if mask is None else index[mask])] = True
        return current[hits]

    def _any(self, variable: str) -> Ids | None:
        """The values of a variable by its first edge; None without an edge."""
        edges = self._at.get(variable, ())
        return edges[0].relation.ends(edges[0].from_subject(variable), self.run) if edges else None

    def _nodes(self, variable: str, current: Ids | None, most: float) -> Ids | None:
        """Values restricted by the nodes that bind the variable to at most so many, each of them once."""
        for place, node in enumerate(self.others):
            if variable not in node.certain or (variable, place) in self._applied or node.estimate(variable) > most:
                continue
            if current is None or len(current):
                self._applied.add((variable, place))
                current = meet(current, node.values(variable, current, self.run), self.run)
        return current

    def _others(self, variable: str, current: Ids | None) -> Ids | None:
        current = self._nodes(variable, current, inf)
        for member in self.members:
            if member.variable == variable and current is not None and len(current):
                values = member.node.values(variable, current, self.run)
                current = without(current, values) if member.negated else both(current, values)
        return current


def meet(left: Ids | None, right: Ids, run: PatternRun) -> Ids:
    """The intersection of two sets, None for all; counts a lookup for each id of the smaller one."""
    if left is None:
        return right
    run.read(min(len(left), len(right)))
    return both(left, right)


def listed(edges: Sequence[Edge], variable: str, among: Ids | None, run: PatternRun) -> Ids | None:
    """The values of a variable that every edge links with the constant at its other end, restricted to `among`."""
    for ids in sorted([of_constant(edge, variable, run) for edge in edges], key=len):
        among = meet(among, ids, run)
    return among
