"""Joins of triple patterns and other nodes, with the tests of their variables.

A table is extended along one triple pattern at a time, cheapest first. Before a large step, semi-joins with the other
parts (reduce.py) reduce the values of its variables, so that no dangling rows are built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from hybridkg.graph.match.any_predicate import AnyPredicateNode
from hybridkg.graph.match.conditions import RowTest
from hybridkg.graph.match.edges import Conditions, Edge, allowed, enumerated, expanded, looked_up, of_constant, source
from hybridkg.graph.match.ids import NONE, Mask, both, distinct, inside
from hybridkg.graph.match.join_cardinality import estimate_join, share_of
from hybridkg.graph.match.join_shape import JoinShape
from hybridkg.graph.match.nodes import Hints, PatternNode
from hybridkg.graph.match.reduce import Member, Reducer, listed
from hybridkg.graph.match.relations import singleton
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import ONE, SolutionTable, joined
from hybridkg.interfaces.graph_index import Ids

LARGE = 20_000
"""Estimated rows above which reduction costs less than it saves."""

NEAR = 1_000
"""A table with fewer rows is only extended along edges that share a variable with it."""

KEPT = 0.9
"""Share of the pairs of a step that other parts keep, above which reduction costs more than it saves."""

PROBE_SHARE = 4.0
"""A hash join replaces extending each row when it reads this many times fewer entries."""


@dataclass(frozen=True, eq=False)
class JoinNode:
    """The join of edges (triple patterns) and other nodes, restricted by tests.

    Args:
        conditions: tests of one certain variable, by variable.
        members: EXISTS and MINUS that share one certain variable.
        tests: tests of several certain variables.
        shape: properties that do not depend on constants.
        estimates, shares: caches of estimates by variable, and of selectivities of edges.
    """

    edges: tuple[Edge, ...]
    others: tuple[PatternNode, ...]
    conditions: Conditions
    members: tuple[Member, ...]
    tests: tuple[RowTest, ...]
    variables: tuple[str, ...]
    shape: JoinShape
    estimates: dict[str | None, float] = field(default_factory=dict, init=False, repr=False)
    shares: dict[tuple[Edge, bool, frozenset[str]], float] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        edges: tuple[Edge, ...],
        others: tuple[PatternNode, ...],
        conditions: Conditions,
        members: tuple[Member, ...],
        tests: tuple[RowTest, ...],
        variables: tuple[str, ...],
    ) -> JoinNode:
        shape = JoinShape(edges, others, frozenset(conditions), members, len(tests))
        return cls(edges, others, conditions, members, tests, variables, shape)

    @property
    def certain(self) -> frozenset[str]:
        return self.shape.certain

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        return _Joining(self, wanted, dict(hints), run).rows()

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        """By semi-joins when the parts form a tree, else from rows."""
        if self.shape.only == variable:
            ids = listed(self.edges, variable, among, run)
            assert ids is not None
            condition = self.conditions.get(variable)
            return ids if condition is None else condition.of_set(ids, run)
        if self.shape.is_tree(variable):
            return self._reduced(variable, among, {}, run)
        hints = {} if among is None else {variable: among}
        ids = distinct(self.rows(frozenset((variable,)), hints, run).columns[variable])
        return ids if among is None else both(ids, among)

    def values_where(self, variable: str, among: Ids | None, hints: Hints, run: PatternRun) -> Ids | None:
        """`values` with other variables restricted to the hints; None when semi-joins alone do not decide it."""
        if not self.shape.is_tree(variable) or not all(any(name in e.variables for e in self.edges) for name in hints):
            return None
        return self._reduced(variable, among, hints, run)

    def _reduced(self, variable: str, among: Ids | None, hints: Hints, run: PatternRun) -> Ids:
        for names in self.shape.components:
            if variable not in names and not self.has_any(names, hints, run):
                return NONE
        for edge in self.edges:
            if not edge.variables and not self.linked(edge, run):
                return NONE
        ids = self.reducer(hints, run).solve(variable, among)
        assert ids is not None
        return ids

    def estimate(self, variable: str | None) -> float:
        estimate = self.estimates.get(variable)
        if estimate is None:
            estimate = self.estimates[variable] = estimate_join(self, variable)
        return estimate

    def domain(self, variable: str) -> float:
        domains = [edge.domain(edge.subject == variable) for edge in self.edges if variable in edge.variables]
        domains += [other.domain(variable) for other in self.others if variable in other.variables]
        return max(domains, default=0.0)

    def unbound_share(self, variable: str) -> float:
        if variable in self.certain:
            return 0.0
        shares = [other.unbound_share(variable) for other in self.others if variable in other.variables]
        return min(shares, default=0.0)

    def has_any(self, names: frozenset[str], hints: Hints, run: PatternRun) -> bool:
        joints = [name for name in self.variables if name in names and name in self.shape.joints]
        if joints:
            ids = self.reducer(hints, run).solve(joints[0], None)
            return ids is not None and len(ids) > 0
        return all(node.rows(frozenset(), {}, run).size > 0 for node in self.others if set(node.variables) <= names)

    def linked(self, edge: Edge, run: PatternRun) -> bool:
        assert isinstance(edge.subject, int)
        assert isinstance(edge.object, int)
        return bool(edge.relation.links(singleton(edge.subject), singleton(edge.object), run)[0])

    def reducer(
        self,
        hints: Hints,
        run: PatternRun,
        edges: Sequence[Edge] | None = None,
        others: Sequence[PatternNode] | None = None,
    ) -> Reducer:
        edges = self.edges if edges is None else edges
        return Reducer(edges, self.conditions, self.members, self.others if others is None else others, hints, run)


class _Joining:
    """The state of one evaluation of a JoinNode."""

    def __init__(self, node: JoinNode, wanted: frozenset[str], hints: dict[str, Ids], run: PatternRun):
        self._node, self._wanted, self._sets, self._run = node, wanted, hints, run
        self._edges, self._others = list(node.edges), list(node.others)
        self._members, self._tests = list(node.members), list(node.tests)
        self._is_one_edge = len(node.edges) == 1 and not node.others and not node.members
        self._table = ONE
        self._reduced: set[str] = set()
        self._bound: set[str] = set()
        """Columns without UNBOUND. Others (VALUES with UNDEF, say) are joined, not extended."""

    def rows(self) -> SolutionTable:
        while (self._edges or self._others) and self._table.size:
            self._check_tests()
            self._step()
        self._check_tests()
        if self._table.size == 0:
            none = np.empty(0, np.uint32)
            return SolutionTable({name: none for name in self._node.variables if name in self._wanted}, 0)
        return self._table.only(self._wanted)

    def _check_tests(self) -> None:
        if not (self._tests or self._members):
            return
        for test in [test for test in self._tests if test.variables <= self._bound]:
            self._table = self._table.take(test.holds(self._table, self._run))
            self._tests.remove(test)
        for member in [member for member in self._members if member.variable in self._bound]:
            column = self._table.columns[member.variable]
            mask = inside(column, member.node.values(member.variable, distinct(column), self._run))
            self._table = self._table.take(~mask if member.negated else mask)
            self._members.remove(member)

    def _step(self) -> None:
        """Joins one more edge or node: filters first, then the one with the fewest estimated rows."""
        if self._is_one_edge:
            self._extend(self._edges.pop())
            return
        best: Edge | PatternNode | None = None
        lowest = float("inf")
        near = [edge for edge in self._edges if not self._bound.isdisjoint(edge.variables)]
        for edge in near if near and self._table.size < NEAR else self._edges:
            if (cost := self._cost(edge)) < lowest:
                best, lowest = edge, cost
        for node in self._others:
            if (cost := self._cost_of_node(node)) < lowest:
                best, lowest = node, cost
        assert best is not None
        if isinstance(best, Edge):
            if lowest > LARGE and self._grows(best) and self._reduce(best):
                return
            self._edges.remove(best)
            self._extend(best)
        else:
            self._others.remove(best)
            self._join_node(best)
            self._cut()

    def _cost(self, edge: Edge) -> float:
        columns = self._bound
        subject = not isinstance(edge.subject, str) or edge.subject in columns
        object_ = not isinstance(edge.object, str) or edge.object in columns
        if subject and object_:
            return 0.0
        here = edge.subject if edge.subject in columns else edge.object if edge.object in columns else None
        if here is None:
            cost = source(edge, self._sets, self._node.conditions).work
            if self._table is not ONE:
                return (cost + 1.0) * max(1.0, self._table.size) * 2.0
            # Away from a restricted variable, rows are made that its values do not have.
            is_near = not self._sets or any(name in self._sets for name in edge.variables)
            return cost if is_near else cost + self._node.estimate(None)
        forward = edge.subject == here
        relation = edge.relation
        return self._table.size * relation.work(None, forward) / max(1.0, relation.sources(forward))

    def _cost_of_node(self, node: PatternNode) -> float:
        rows = node.estimate(None)
        if isinstance(node, AnyPredicateNode) and (names := node.certain & self._bound):
            return min(rows, self._table.size * node.rows_each(names))
        if self._table is ONE or any(name in self._table.columns for name in node.variables):
            return rows
        return (rows + 1.0) * max(1.0, self._table.size) * 2.0

    def _grows(self, edge: Edge) -> bool:
        """Whether the table may have more rows after a step than before."""
        ends = ((True, edge.subject), (False, edge.object))
        return not any(end in self._bound and edge.relation.is_single(forward) for forward, end in ends)

    def _reduce(self, edge: Edge) -> bool:
        """Reduces the values at the start of a large step; False if that was done before."""
        columns = {name: self._table.columns[name] for name in self._bound if name in self._table.columns}
        if len(self._node.edges) == 1 and not self._others and not self._members:
            return False
        start = next((name for name in edge.variables if name in columns), None)
        if start is None:
            start = min(edge.variables, key=lambda name: len(self._sets[name]) if name in self._sets else float("inf"))
        if start in self._reduced or self._keeps_pairs(edge, start):
            return False
        self._reduced.add(start)
        among = distinct(columns[start]) if start in columns else self._sets.get(start)
        reducer = self._node.reducer(self._sets, self._run, self._edges, self._others)
        reduced = reducer.solve(start, among, frozenset(self._table.columns) - {start})
        for name, ids in reducer.sets.items():
            self._sets[name] = both(self._sets[name], ids) if name in self._sets else ids
            if name not in columns:
                self._reduced.add(name)
        if start in columns and reduced is not None and among is not None and len(reduced) < len(among):
            self._table = self._table.take(inside(columns[start], reduced))
        return True

    def _keeps_pairs(self, edge: Edge, start: str) -> bool:
        """Whether the rest of the join is expected to keep nearly all pairs of an edge, so reduction saves little."""
        node, ends = self._node, frozenset(edge.variables)
        shares = (share_of(node, edge, end, end == edge.object, ends - {end}) for end in edge.variables)
        return self._sets.keys() <= {start} and prod(shares) > KEPT

    def _extend(self, edge: Edge) -> None:
        columns, run = self._table.columns, self._run
        subject = edge.subject in self._bound if isinstance(edge.subject, str) else None
        object_ = edge.object in self._bound if isinstance(edge.object, str) else None
        open_ends = [name for name in edge.variables if name in columns and name not in self._bound]
        self._bound.update(edge.variables)
        if subject is not False and object_ is not False:
            self._table = self._table.take(self._filtered(edge), self._needed())
            return
        if not open_ends and (subject or object_) and edge.relation.is_single(bool(subject)):
            self._look_up(edge, bool(subject))
            return
        if open_ends or not (subject or object_) or self._hash_join_is_cheaper(edge):
            self._table = joined(self._table, enumerated(edge, self._sets, self._node.conditions, run), run)
            self._cut()
            return
        here, there = (edge.subject, edge.object) if subject else (edge.object, edge.subject)
        assert isinstance(here, str)
        assert isinstance(there, str)
        index, targets = expanded(edge, columns[here], bool(subject), self._sets, self._node.conditions, run)
        needed = self._needed()
        extended = {name: column[index] for name, column in columns.items() if name in needed}
        if there in needed:
            extended[there] = targets
        self._table = SolutionTable(extended, len(targets))

    def _look_up(self, edge: Edge, forward: bool) -> None:
        """Extends the table along an edge with at most one target for each row."""
        here, there = (edge.subject, edge.object) if forward else (edge.object, edge.subject)
        assert isinstance(here, str)
        assert isinstance(there, str)
        columns, conditions = self._table.columns, self._node.conditions
        mask, targets = looked_up(edge, columns[here], forward, self._sets, conditions, self._run)
        needed = self._needed()
        extended = {name: column for name, column in columns.items() if name in needed}
        if there in needed:
            extended[there] = targets
        table = SolutionTable(extended, len(targets))
        self._table = table if mask is None else table.take(mask)

    def _filtered(self, edge: Edge) -> Mask:
        """bool[rows]: which rows satisfy an edge between bound variables and constants."""
        columns, run, size = self._table.columns, self._run, self._table.size
        ends = (edge.subject, edge.object)
        if isinstance(edge.subject, str) and isinstance(edge.object, str):
            return edge.relation.links(columns[edge.subject], columns[edge.object], run)
        for here, there in (ends, ends[::-1]):
            if isinstance(here, str) and not isinstance(there, str):
                return inside(columns[here], of_constant(edge, here, run))
        return np.full(size, self._node.linked(edge, run))

    def _hash_join_is_cheaper(self, edge: Edge) -> bool:
        size = self._table.size
        if size < 1_000:
            return False
        enumeration = source(edge, self._sets, self._node.conditions)
        if enumeration.ids is None and enumeration.span is None:
            return False
        return enumeration.work * PROBE_SHARE < self._cost(edge)

    def _join_node(self, node: PatternNode) -> None:
        hints = {name: ids for name, ids in self._sets.items() if name in node.certain}
        for name in node.certain:
            column = self._table.columns.get(name)
            if column is not None and name in self._bound and self._table.size * 2 < max(node.estimate(None), 64.0):
                hints[name] = distinct(column)
        needed = self._needed() | frozenset(self._table.columns) | frozenset(self._node.conditions)
        table = node.rows(needed & frozenset(node.variables), hints, self._run)
        for name in node.certain:
            if name not in table.columns:
                continue
            mask = allowed(table.columns[name], name, self._sets, self._node.conditions, self._run)
            if mask is not None:
                table = table.take(mask)
        self._table = joined(self._table, table, self._run)
        self._bound |= node.certain

    def _needed(self) -> frozenset[str]:
        needed = set(self._wanted)
        for part in (*self._edges, *self._others, *self._tests):
            needed.update(part.variables)
        for member in self._members:
            needed.add(member.variable)
        return frozenset(needed)

    def _cut(self) -> None:
        self._table = self._table.only(self._needed())
