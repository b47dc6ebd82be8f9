"""Counting the solutions of a triple pattern with a variable predicate: sizes of predicates, or counts of each."""

from __future__ import annotations

import numpy as np

from hybridkg.graph.match.any_predicate import AnyPredicateNode
from hybridkg.graph.match.combine import ordered_union
from hybridkg.graph.match.grouping import CountedRows, count_rows
from hybridkg.graph.match.ids import Counts
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.join_counting import CountOf
from hybridkg.graph.match.nodes import Hints, narrowed
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable, concatenated
from hybridkg.interfaces.graph_index import Ids

MIN_DISTRIBUTED = 1_000
"""Solutions for each predicate above which a join is counted by predicate: one count takes about 0.1 ms, as long as
listing and grouping that many rows."""


def counted_any(
    node: AnyPredicateNode, keys: frozenset[str], hints: Hints, run: PatternRun, count: CountOf
) -> CountedRows:
    """The counts by some variables of the node; `count` counts the triple pattern of one predicate.

    Raises:
        QueryLimitError: a count exceeds MAX_COUNT, or the time is over.
    """
    ids, own = node.ids(hints, run), frozenset((node.predicate,))
    if keys <= own and _has_sizes(node) and hints.keys() & node.certain <= own:
        sizes = _sizes(node, ids, run)
        filled = sizes > 0
        columns = {node.predicate: ids[filled]} if keys else {}
        table = SolutionTable(columns, int(np.count_nonzero(filled)))
        return count_rows(table, keys, sizes[filled], int(sizes.max(initial=0)))
    alone = JoinNode.of((), (), node.edge_conditions, (), (), ())
    return _each_predicate(node, ids, alone, keys, hints, run, count)


def distributed(
    node: JoinNode, keys: frozenset[str], hints: Hints, run: PatternRun, count: CountOf
) -> CountedRows | None:
    """The counts of a join by predicate, each predicate counted by itself, so that nothing has to be listed.

    None where the variable predicate is no key or joins, and for small joins.
    """
    among = [other for other in node.others if isinstance(other, AnyPredicateNode) and other.predicate in keys]
    if len(among) != 1 or node.estimate(None) < MIN_DISTRIBUTED * max(1.0, among[0].estimate(among[0].predicate)):
        return None
    (one,) = among
    others = tuple(other for other in node.others if other is not one)
    parts = (*node.edges, *others, *node.tests)
    joined = {name for part in parts for name in part.variables} | {member.variable for member in node.members}
    if one.predicate in joined:
        return None
    conditions = {name: test for name, test in node.conditions.items() if name != one.predicate}
    rest = JoinNode.of(node.edges, others, conditions, node.members, node.tests, ())
    return _each_predicate(one, one.ids(hints, run), rest, keys, hints, run, count)


def _each_predicate(
    node: AnyPredicateNode,
    ids: Ids,
    rest: JoinNode,
    keys: frozenset[str],
    hints: Hints,
    run: PatternRun,
    count: CountOf,
) -> CountedRows:
    """The counts of a join of the triple pattern of each predicate with the rest of a join."""
    parts: list[CountedRows] = []
    tables: list[SolutionTable] = []
    for i, edge in node.edges(ids):
        edges = (*rest.edges, edge)
        names = ordered_union([*(one.variables for one in edges), *(other.variables for other in rest.others)])
        join = JoinNode.of(edges, rest.others, rest.conditions, rest.members, rest.tests, names)
        part = count(join, keys & frozenset(names), narrowed(hints, join.certain), run)
        columns = dict(part.table.columns)
        if node.predicate in keys:
            columns[node.predicate] = np.full(part.table.size, i, np.uint32)
        parts.append(part)
        tables.append(SolutionTable(columns, part.table.size))
    table = concatenated(tables, sorted(keys), run)
    counts = np.concatenate([part.counts for part in parts]) if parts else np.zeros(0, np.int64)
    return count_rows(table, keys, counts, int(counts.max(initial=0)))


def _has_sizes(node: AnyPredicateNode) -> bool:
    """Whether the solutions of each predicate are known without counting."""
    return not node.edge_conditions and not node.is_repeated and len(node.variables) > 1


def _sizes(node: AnyPredicateNode, ids: Ids, run: PatternRun) -> Counts:
    """int64[len(ids)]: the solutions of each predicate."""
    run.read(len(ids))
    return np.array([edge.least() for _, edge in node.edges(ids)], np.int64)
