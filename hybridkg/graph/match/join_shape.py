"""The shape of a join: the variables that its parts share, independent of constants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hybridkg.graph.match.edges import Edge
from hybridkg.graph.match.nodes import PatternNode
from hybridkg.graph.match.reduce import Member


@dataclass(frozen=True, eq=False)
class JoinShape:
    """The properties of a JoinNode that are the same for all values of its parameters.

    `conditions` are the variables with tests of one variable, `n_tests` the number of tests of several.
    """

    edges: tuple[Edge, ...]
    others: tuple[PatternNode, ...]
    conditions: frozenset[str]
    members: tuple[Member, ...]
    n_tests: int

    @cached_property
    def certain(self) -> frozenset[str]:
        names = {name for edge in self.edges for name in edge.variables}
        return frozenset(names).union(*(node.certain for node in self.others))

    @cached_property
    def restricted(self) -> frozenset[str]:
        """The variables of edges: every row of the join has a value that its hints allow."""
        return frozenset(name for edge in self.edges for name in edge.variables)

    @cached_property
    def only(self) -> str | None:
        """The only variable of a node that consists of edges between it and constants; else None."""
        if self.others or self.members or self.n_tests or not self.edges:
            return None
        name, *more = self.edges[0].variables or ("", "")
        alone = not more and all(edge.variables == (name,) and edge.subject != edge.object for edge in self.edges)
        return name if alone else None

    def lookup(self, variable: str) -> Edge | None:
        """The edge of a node that is nothing but one from a variable to at most one value of another; else None."""
        if len(self.edges) != 1 or self.others or self.conditions or self.members or self.n_tests:
            return None
        edge = self.edges[0]
        is_between_two = len(set(edge.variables)) == 2 and variable in edge.variables
        return edge if is_between_two and edge.relation.is_single(edge.from_subject(variable)) else None

    @cached_property
    def _edges_are_a_tree(self) -> bool:
        """Whether the edges between variables form a forest."""
        parent: dict[str, str] = {}

        def root(name: str) -> str:
            while parent.setdefault(name, name) != name:
                name = parent[name]
            return name

        for edge in self.edges:
            names = edge.variables
            if len(names) == 2:
                a, b = root(names[0]), root(names[1])
                if a == b:
                    return False
                parent[a] = b
        return True

    @cached_property
    def joints(self) -> frozenset[str]:
        """The variables of edges, conditions and members, and those of several nodes."""
        names = [name for edge in self.edges for name in edge.variables]
        names += [*self.conditions, *(member.variable for member in self.members)]
        times: dict[str, int] = {}
        for node in self.others:
            for name in node.variables:
                times[name] = times.get(name, 0) + 1
        return frozenset(names).union(name for name, count in times.items() if count > 1)

    @cached_property
    def alone(self) -> frozenset[str]:
        """The variables that a single part constrains."""
        names = [name for edge in self.edges for name in edge.variables]
        names += [*self.conditions, *(member.variable for member in self.members)]
        names += [name for node in self.others for name in node.certain]
        return frozenset(name for name in names if names.count(name) == 1)

    @cached_property
    def degrees(self) -> tuple[tuple[float, ...] | None, ...]:
        """For each edge the maximum degrees of the others, in an order in which each shares a variable with those
        before it; None where there is no such order.
        """
        return tuple(map(self._degrees_from, self.edges))

    def _degrees_from(self, start: Edge) -> tuple[float, ...] | None:
        bound, degrees = set(start.variables), list[float]()
        left = [edge for edge in self.edges if edge is not start]
        while left:
            edge = next((e for e in left if not e.variables or not bound.isdisjoint(e.variables)), None)
            if edge is None:
                return None
            left.remove(edge)
            own = [
                1.0 if bound.issuperset(edge.variables) else edge.relation.largest(edge.from_subject(name))
                for name in edge.variables
                if name in bound
            ]
            degrees.append(min(own, default=1.0))
            bound.update(edge.variables)
        return tuple(degrees)

    def is_tree(self, variable: str) -> bool:
        """Whether semi-joins alone decide the values of a variable (an acyclic join)."""
        if self.n_tests or not self._edges_are_a_tree:
            return False
        joints = self.joints | {variable}
        for node in self.others:
            shared = joints & frozenset(node.variables)
            if len(shared) > 1 or not shared <= node.certain:
                return False
        return True

    @cached_property
    def components(self) -> tuple[frozenset[str], ...]:
        groups = [frozenset(edge.variables) for edge in self.edges if edge.variables]
        groups += [frozenset(node.variables) for node in self.others]
        merged: list[frozenset[str]] = []
        for group in groups:
            apart = [other for other in merged if not other & group]
            merged = [*apart, group.union(*(other for other in merged if other & group))]
        return tuple(merged)
