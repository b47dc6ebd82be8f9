"""Counting the solutions of a join: trees are summed out, and the core is listed with weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from hybridkg.graph.match.combine import TableNode
from hybridkg.graph.match.compose import count_paths
from hybridkg.graph.match.conditions import RowTest, SameColumns, all_of
from hybridkg.graph.match.count_plan import plan_of
from hybridkg.graph.match.edges import Edge, End
from hybridkg.graph.match.grouping import CountedRows, count_rows, grouped
from hybridkg.graph.match.ids import Counts, both, distinct
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.nodes import Hints, PatternNode, narrowed
from hybridkg.graph.match.reduce import Member
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import ONE, SolutionTable, concatenated
from hybridkg.graph.match.triangles import count_triangles, triangle_of
from hybridkg.graph.match.weigh import FactorOf, Weigher, WeightsOf
from hybridkg.graph.match.weights import IdWeights, product, refuse_overflow
from hybridkg.interfaces.graph_index import Ids

BLOCK_ROWS = 2_000_000
"""Estimated rows of a core that are listed together: a fifth of the limit, because estimates may be too low."""

ROW = " row"
"""The prefix of columns with the row numbers of counted tables."""

MAX_SUBTRACTED = 3
"""Tests `?a != ?b` of one join that are counted by subtraction; each doubles the work."""

Factors = Mapping[str, Sequence[FactorOf]]
CountOf = Callable[[PatternNode, frozenset[str], Hints, PatternRun], CountedRows]


def as_join(node: PatternNode) -> JoinNode:
    return node if isinstance(node, JoinNode) else JoinNode.of((), (node,), {}, (), (), node.variables)


class JoinCounting:
    """One count of a join.

    Args:
        node: the join.
        keys: variables of the join.
        hints: for variables that the join always binds, the only ids that count.
        factors: for such variables, further numbers of solutions of each value.
        run: the context.
        count: counts another node.
        first: the key by which the rows are best ordered.
    """

    def __init__(
        self,
        node: JoinNode,
        keys: frozenset[str],
        hints: Hints,
        factors: Factors,
        run: PatternRun,
        count: CountOf,
        first: str | None = None,
    ):
        self._first = first
        self._node, self._keys, self._hints, self._factors, self._run = node, keys, hints, factors, run
        self._count = count
        self._plan = plan = plan_of(node, keys, {*factors, *hints})
        members: dict[str, list[Member]] = {}
        for member in node.members:
            members.setdefault(member.variable, []).append(member)
        nodes = {name: [self._weights_of(one, name) for one in several] for name, several in plan.nodes.items()}
        self._weigher = Weigher(
            plan.children, plan.constants, plan.loops, node.conditions, members, hints, nodes, factors, run
        )

    def _weights_of(self, node: PatternNode, name: str) -> WeightsOf:
        def weights(among: Ids | None) -> IdWeights:
            hints = narrowed(self._hints, node.certain)
            if among is not None and len(among) * 2 < max(node.estimate(name), 64.0):
                hints = {**hints, name: among}
            return self._count(node, frozenset((name,)), hints, self._run).weights(name)

        return weights

    def counted(self) -> CountedRows:
        """The counts by the keys.

        Raises:
            QueryLimitError: the core is too large, a count exceeds MAX_COUNT, or the time is over.
        """
        test = self._subtractable()
        if test is not None:
            return self._subtracted(test)
        total = self._scalar()
        parts: list[CountedRows] = []
        for core in self._components() if total else ():
            parts.append(self._counted_core(core))
            if parts[-1].table.size == 0:
                total = 0
                break
        if not total:
            none = np.empty(0, np.uint32)
            columns = {name: none for name in self._node.variables if name in self._keys}
            return CountedRows(SolutionTable(columns, 0), np.zeros(0, np.int64))
        refuse_overflow(total)
        whole = CountedRows(SolutionTable({}, 1), np.array([total]))
        for part in parts:
            whole = self._crossed(whole, part)
        return whole

    def _crossed(self, left: CountedRows, right: CountedRows) -> CountedRows:
        n, m = left.table.size, right.table.size
        if not left.table.columns:
            (factor,) = left.counts.tolist()
            refuse_overflow(factor * right.bound)
            return right if factor == 1 else CountedRows(right.table, right.counts * factor)
        self._run.room_for(n * m)
        columns = {name: np.repeat(column, m) for name, column in left.table.columns.items()}
        columns.update((name, np.tile(column, n)) for name, column in right.table.columns.items())
        counts = product(np.repeat(left.counts, m), np.tile(right.counts, n), left.bound * right.bound)
        return CountedRows(SolutionTable(columns, n * m), counts)

    # --- what has no core ------------------------------------------------------------

    def _scalar(self) -> int:
        """The number of solutions of the components without a core, together; 0 if a test without variables fails."""
        plan, run, total = self._plan, self._run, 1
        if not all(test.holds(ONE, run).all() for test in self._node.tests if not test.variables):
            return 0
        for edge in plan.linked:
            if not self._node.linked(edge, run):
                return 0
        for node in plan.alone:
            found = self._count(node, frozenset(), narrowed(self._hints, node.certain), run)
            total *= int(found.counts.sum())
        for root in plan.roots:
            if total:
                total *= self._tree(root)
        return total

    def _tree(self, root: str) -> int:
        """The number of solutions of a tree; that of a single edge is known."""
        children = self._plan.children.get(root, ())
        if len(children) == 1 and children[0].exact and self._is_plain(children[0], root):
            return int(children[0].relation.work(None, True))
        return self._weigher.weights(root, None).total()

    def _is_plain(self, edge: Edge, root: str) -> bool:
        child = edge.other(root)
        assert isinstance(child, str)
        return self._weigher.is_free(child) and not self._weigher.is_restricted(root) and root not in self._factors

    # --- the core --------------------------------------------------------------------

    def _components(self) -> list[frozenset[str]]:
        """The variables of the core by connected component."""
        groups = [frozenset((name,)) for name in sorted(self._plan.core)]
        links = [frozenset(edge.variables) for edge in self._plan.edges]
        links += [needed for _, needed in self._plan.tables]
        links += [test.variables for test in self._node.tests if test.variables]
        for link in links:
            joined = frozenset[str]().union(*(group for group in groups if group & link))
            groups = [joined, *(group for group in groups if not group & link)]
        return groups

    def _counted_core(self, core: frozenset[str]) -> CountedRows:
        edges = [edge for edge in self._plan.edges if edge.variables[0] in core]
        tables = [(node, needed) for node, needed in self._plan.tables if needed & core]
        if len(edges) == 3 and not tables and (found := self._triangles(core, edges)) is not None:
            return found
        if len(edges) == 2 and not tables and (found := self._paths(core, edges)) is not None:
            return found
        composed: list[CountedRows] = []
        if len(edges) > 3 and len(edges) >= len(core):
            core, edges, composed = self._composed(core, edges)
        (name, *more) = core
        if more or tables or any(name in test.variables for test in self._node.tests):
            return self._listed(core, edges, tables, composed)
        weights = self._weigher.weights(name, None)
        table = SolutionTable({name: weights.ids}, len(weights.ids))
        if name in self._keys:
            return CountedRows(table, weights.listed)
        return count_rows(table, self._keys, weights.listed, weights.bound)

    def _triangles(self, core: frozenset[str], edges: Sequence[Edge]) -> CountedRows | None:
        """The counts of a component that is a triangle with at most one key; None for another one."""
        key, *more = [*(self._keys & core), None]
        if len(more) > 1 or any(test.variables & core for test in self._node.tests):
            return None
        triangle = triangle_of(edges, key)
        return None if triangle is None else count_triangles(triangle, key, self._weigher, self._run)

    def _paths(self, core: frozenset[str], edges: Sequence[Edge]) -> CountedRows | None:
        """The counts of a component that is a path between two keys; None for another one."""
        middle = core - self._keys
        if len(core) != 3 or len(middle) != 1 or any(test.variables & core for test in self._node.tests):
            return None
        (v,) = middle
        if not all(v in edge.variables for edge in edges):
            return None
        if all(edge.relation.is_single(edge.from_subject(v)) for edge in edges):
            return None  # two columns, which cost nothing to list
        from_x, to_y = sorted(edges, key=lambda edge: (edge.other(v) != self._first, str(edge.other(v))))
        x = from_x.other(v)
        assert isinstance(x, str)
        return count_paths(x, from_x, to_y, self._weigher, self._run)

    def _composed(
        self, core: frozenset[str], edges: list[Edge]
    ) -> tuple[frozenset[str], list[Edge], list[CountedRows]]:
        """(core, edges, counted paths): a cyclic component with paths x - v - y counted by their ends, v no key.

        Only where nothing restricts the component, because all paths of the graph are counted.
        """
        composed: list[CountedRows] = []
        kept = self._keys.union(*(test.variables for test in self._node.tests))
        kept = kept.union(*(needed for _, needed in self._plan.tables))
        if any(self._weigher.is_restricted(name) or self._weigher.is_selective(name) for name in core):
            return core, edges, composed
        ways: list[tuple[int, str, Edge, Edge]] = []
        for v in sorted(core - kept):
            mine = [edge for edge in edges if v in edge.variables]
            if len(mine) == 2 and mine[0].other(v) != mine[1].other(v):
                left, right = (edge.relation.tally(None, edge.from_subject(v), None, self._run) for edge in mine)
                ways.append(((left * right).total(), v, mine[0], mine[1]))
        for _, v, from_x, to_y in sorted(ways, key=lambda way: way[:2]):
            x = from_x.other(v)
            if from_x in edges and to_y in edges and isinstance(x, str):
                found = count_paths(x, from_x, to_y, self._weigher, self._run, ends=False)
                if found is not None:
                    composed.append(found)
                    edges = [edge for edge in edges if edge is not from_x and edge is not to_y]
                    core -= {v}
        return core, edges, composed

    def _listed(
        self,
        core: frozenset[str],
        edges: list[Edge],
        tables: list[tuple[PatternNode, frozenset[str]]],
        composed: Sequence[CountedRows],
    ) -> CountedRows:
        """Lists the solutions of a component of the core in blocks, each with the product of its weights.

        Tables are nodes with the variables that they share; `composed` are paths that are counted by their ends.
        """
        node, plan, weigher, run = self._node, self._plan, self._weigher, self._run
        nodes: list[PatternNode] = []
        row_counts: dict[str, CountedRows] = {}
        counted = [self._count(other, needed, narrowed(self._hints, other.certain), run) for other, needed in tables]
        for number, found in enumerate((*counted, *composed)):
            row = f"{ROW}{number}"
            columns = {**found.table.columns, row: np.arange(found.table.size, dtype=np.uint32)}
            nodes.append(TableNode(SolutionTable(columns, found.table.size)))
            row_counts[row] = found
        for name in sorted(core):
            edges += [*plan.constants.get(name, ()), *plan.loops.get(name, ())]
        bound = {name for edge in edges for name in edge.variables}.union(*(needed for _, needed in tables))
        bound = bound.union(*(found.table.columns for found in composed))
        before: dict[str, IdWeights] = {}
        after: list[str] = []
        for name in sorted(core):
            if name not in bound:
                before[name] = weights = weigher.weights(name, None)
                nodes.append(TableNode(SolutionTable({name: weights.ids}, len(weights.ids))))
            elif weigher.is_selective(name):
                before[name] = weigher.below(name, self._hints.get(name))
            else:
                if name in self._hints:
                    before[name] = IdWeights(self._hints[name])
                if weigher.has_below(name):
                    after.append(name)
        join = JoinNode.of(
            tuple(edges),
            tuple(nodes),
            {name: condition for name, condition in node.conditions.items() if name in core},
            tuple(member for member in node.members if member.variable in core),
            tuple(test for test in node.tests if test.variables & core),
            (*sorted(core), *row_counts),
        )
        blocks = [self._list_block(join, block, after, row_counts) for block in self._blocks(join, before)]
        if len(blocks) == 1:
            return blocks[0]
        names = [name for name in join.variables if name in self._keys]
        whole = concatenated([block.table for block in blocks], names, run)
        counts = np.concatenate([block.counts for block in blocks])
        return count_rows(whole, self._keys, counts, max(block.bound for block in blocks))

    def _blocks(self, join: JoinNode, before: dict[str, IdWeights]) -> Iterator[dict[str, IdWeights]]:
        """The weights with one variable, a key if there is one, restricted to parts of about BLOCK_ROWS rows."""
        parts = ceil(join.estimate(None) / BLOCK_ROWS)
        if parts <= 1 or not join.edges:
            yield before
            return
        ends = [(name, edge) for edge in join.edges for name in edge.variables]
        name, edge = max(ends, key=lambda end: (end[0] in self._keys, end[1].sources[end[1].from_subject(end[0])]))
        ids = before[name].ids if name in before else edge.relation.ends(edge.from_subject(name), self._run)
        step = max(1, ceil(len(ids) / parts))
        for first in range(0, max(1, len(ids)), step):
            part = ids[first : first + step]
            yield {**before, name: before[name].only(part) if name in before else IdWeights(part)}

    def _list_block(
        self,
        join: JoinNode,
        before: Mapping[str, IdWeights],
        after: Sequence[str],
        row_counts: Mapping[str, CountedRows],
    ) -> CountedRows:
        """The counts of the solutions whose values have weights in `before`; `after` are weighed then."""
        weigher, run = self._weigher, self._run
        hints = {name: weights.ids for name, weights in before.items() if name in join.certain}
        wanted = frozenset((*self._keys, *before, *after, *row_counts)) & frozenset(join.variables)
        table = join.rows(wanted, hints, run)
        weighted = _Product()
        for row, found in row_counts.items():
            weighted.multiply(found.counts[table.columns[row]], found.bound)
        for name, weights in before.items():
            weighted.multiply(weights.at(table.columns[name]), weights.bound)
        for name in after:
            column = table.columns[name]
            weights = weigher.below(name, distinct(column))
            weighted.multiply(weights.at(column), weights.bound)
        return count_rows(table, self._keys, weighted.counts, weighted.bound)

    # --- tests -----------------------------------------------------------------------

    def _subtractable(self) -> SameColumns | None:
        """A test `?a != ?b`, neither in another node and one of them no key, where tests make more variables listed."""
        tests = self._node.tests
        if not tests or len(tests) > MAX_SUBTRACTED or not all(isinstance(test, SameColumns) for test in tests):
            return None
        free = plan_of(_without(self._node, *tests), self._keys, {*self._factors, *self._hints})
        if len(free.core) == len(self._plan.core):
            return None
        outside = {name for node in self._node.others for name in node.variables}
        fixed = outside | self._keys | {member.variable for member in self._node.members}
        for test in tests:
            assert isinstance(test, SameColumns)
            if (
                test.negated
                and test.left != test.right
                and not test.variables <= fixed
                and not test.variables & outside
            ):
                return test
        return None

    def _subtracted(self, test: SameColumns) -> CountedRows:
        """The solutions without the test, less those in which both variables are the same."""
        fixed = self._keys | {member.variable for member in self._node.members}
        left, right = (test.right, test.left) if test.left in fixed else (test.left, test.right)
        run, keys = self._run, self._keys
        join = _without(self._node, test)
        whole = JoinCounting(join, keys, self._hints, self._factors, run, self._count).counted()
        hints = {name: ids for name, ids in self._hints.items() if name != left}
        if left in self._hints:
            hints[right] = both(hints[right], self._hints[left]) if right in hints else self._hints[left]
        factors = {name: several for name, several in self._factors.items() if name != left}
        if left in self._factors:
            factors[right] = [*factors.get(right, ()), *self._factors[left]]
        equal = JoinCounting(_unified(join, left, right), keys, hints, factors, run, self._count).counted()
        names = list(whole.table.columns)
        columns = [np.append(whole.table.columns[name], equal.table.columns[name]) for name in names]
        found, counts = grouped(columns, *_signed(whole, equal))
        rest = counts > 0
        table = SolutionTable(dict(zip(names, found, strict=True)), len(counts)).take(rest)
        return CountedRows(table, counts[rest])


def _signed(whole: CountedRows, less: CountedRows) -> tuple[int, Counts, int]:
    """(rows, counts, bound) of what `grouped` sums to a difference."""
    counts = np.append(whole.counts, -less.counts)
    return len(counts), counts, whole.bound


def _without(node: JoinNode, *without: RowTest) -> JoinNode:
    """The join without some of its tests."""
    tests = [test for test in node.tests if not any(test is one for one in without)]
    return JoinNode.of(node.edges, node.others, node.conditions, node.members, tuple(tests), node.variables)


def _unified(node: JoinNode, left: str, right: str) -> JoinNode:
    """The join with `right` in place of `left`, which only edges, tests and conditions have."""

    def of(end: End) -> End:
        return right if end == left else end

    edges = [Edge(of(e.subject), e.relation, of(e.object), is_type=e.is_type, like=e) for e in node.edges]
    tests = [
        SameColumns(str(of(t.left)), str(of(t.right)), t.negated) for t in node.tests if isinstance(t, SameColumns)
    ]
    conditions = {name: condition for name, condition in node.conditions.items() if name != left}
    if left in node.conditions:
        mine = node.conditions[left]
        conditions[right] = all_of([conditions[right], mine]) if right in conditions else mine
    return JoinNode.of(tuple(edges), node.others, conditions, node.members, tuple(tests), node.variables)


@dataclass
class _Product:
    """A running product of weights of rows; None where all are 1."""

    counts: Counts | None = None
    bound: int = 1

    def multiply(self, counts: Counts, bound: int) -> None:
        self.bound *= bound
        self.counts = counts if self.counts is None else product(self.counts, counts, self.bound)
