"""The plan of counting a join: which variables are summed out along a tree, and which core has to be listed.

A variable that is no key and that a single part connects with the rest is summed out; then its neighbour may be such a
variable, and so on (the ear removal of Graham, Yu and Ozsoyoglu). What remains are the keys, the variables that connect
them, and cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hybridkg.graph.match.edges import Edge
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.nodes import PatternNode


@dataclass(frozen=True, eq=False)
class CountPlan:
    """The parts of a join by their role.

    Args:
        children: for each variable, the edges to the variables below it, which are summed out.
        constants, loops: for each variable, its edges to constants and to itself.
        linked: edges between constants.
        edges: edges of the core.
        nodes: for each variable, the nodes that share this one alone with the rest.
        tables: nodes of the core, with the variables of each that others share.
        alone: nodes that share nothing.
        roots: summed-out variables without a parent; one for each component without a core.
        core: the other variables.
    """

    children: Mapping[str, Sequence[Edge]]
    constants: Mapping[str, Sequence[Edge]]
    loops: Mapping[str, Sequence[Edge]]
    linked: Sequence[Edge]
    edges: Sequence[Edge]
    nodes: Mapping[str, Sequence[PatternNode]]
    tables: Sequence[tuple[PatternNode, frozenset[str]]]
    alone: Sequence[PatternNode]
    roots: Sequence[str]
    core: frozenset[str]


def distinct_edges(edges: Sequence[Edge]) -> list[Edge]:
    """The edges without repetitions, which add no solutions: a relation is a set of pairs."""
    return list({(edge.subject, id(edge.relation), edge.object): edge for edge in edges}.values())


def plan_of(node: JoinNode, keys: frozenset[str], fixed: Iterable[str]) -> CountPlan:
    """The plan for some keys.

    Args:
        node: the join.
        keys: variables of the join.
        fixed: variables with further factors or restrictions, which keep the nodes from being counted alone.
    """
    children: dict[str, list[Edge]] = {}
    constants: dict[str, list[Edge]] = {}
    loops: dict[str, list[Edge]] = {}
    linked, edges = [], []
    for edge in distinct_edges(node.edges):
        names = edge.variables
        if len(names) == 2:
            edges.append(edge)
        elif not names:
            linked.append(edge)
        else:
            (loops if edge.subject == edge.object else constants).setdefault(names[0], []).append(edge)
    protected = keys.union(*(test.variables for test in node.tests))
    nodes, tables, alone = _nodes(node, protected.union(fixed))
    for one, needed in tables:
        protected |= needed
        for name in needed - one.certain:  # bound by the edge, if not by the node
            protected = protected.union(*(edge.variables for edge in edges if name in edge.variables))
    variables = {name for edge in node.edges for name in edge.variables} | set(nodes)
    roots = _summed_out(
        edges, children, variables, protected, frozenset(node.conditions).union(constants, fixed, nodes)
    )
    core = protected.union(*(edge.variables for edge in edges))
    return CountPlan(children, constants, loops, linked, edges, nodes, tables, alone, roots, core)


def _nodes(
    node: JoinNode, fixed: frozenset[str]
) -> tuple[dict[str, list[PatternNode]], list[tuple[PatternNode, frozenset[str]]], list[PatternNode]]:
    """The other nodes of a join by the variables that they share: one, several, none."""
    by_variable: dict[str, list[PatternNode]] = {}
    tables: list[tuple[PatternNode, frozenset[str]]] = []
    alone: list[PatternNode] = []
    if not node.others:
        return by_variable, tables, alone
    elsewhere = fixed.union(node.conditions, (member.variable for member in node.members))
    elsewhere = elsewhere.union(*(edge.variables for edge in node.edges))
    open_names = frozenset().union(*(frozenset(other.variables) - other.certain for other in node.others))
    for other in node.others:
        rest = elsewhere.union(*(one.variables for one in node.others if one is not other))
        needed = rest & frozenset(other.variables)
        if not needed:
            alone.append(other)
        elif len(needed) == 1 and not needed & open_names:
            by_variable.setdefault(next(iter(needed)), []).append(other)
        else:
            tables.append((other, needed))
    return by_variable, tables, alone


def _summed_out(
    edges: list[Edge],
    children: dict[str, list[Edge]],
    variables: set[str],
    protected: frozenset[str],
    restricted: frozenset[str],
) -> list[str]:
    """Moves edges to `children` while a variable can be summed out, the cheapest first; returns the roots."""
    at: dict[str, list[Edge]] = {name: [] for name in variables}
    for edge in edges:
        for name in edge.variables:
            at[name].append(edge)
    roots = [name for name in sorted(variables - protected) if not at[name]]
    ready = {name for name in variables - protected if len(at[name]) == 1}
    while ready:
        name = min(ready, key=lambda name: (_cost(at[name][0], name, children, restricted), name))
        ready.discard(name)
        (edge,) = at.pop(name)
        parent = edge.other(name)
        assert isinstance(parent, str)
        edges.remove(edge)
        at[parent].remove(edge)
        children.setdefault(parent, []).append(edge)
        if parent not in protected:
            if len(at[parent]) == 1:
                ready.add(parent)
            elif not at[parent]:
                ready.discard(parent)
                roots.append(parent)
    return roots


def _cost(edge: Edge, name: str, children: Mapping[str, Sequence[Edge]], restricted: frozenset[str]) -> float:
    """The entries that summing out a variable along its edge reads, without regard to tests."""
    if name in children or name in restricted:
        return edge.pairs[True]
    return edge.sources[not edge.from_subject(name)]
