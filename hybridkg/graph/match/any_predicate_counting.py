"""Counting the solutions of a triple pattern with a variable predicate: sizes of predicates, or counts of each."""

from __future__ import annotations

import numpy as np

from hybridkg.graph.match.any_predicate import AnyPredicateNode
from hybridkg.graph.match.grouping import CountedRows, count_rows
from hybridkg.graph.match.ids import Counts
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.join_counting import CountOf
from hybridkg.graph.match.nodes import Hints, narrowed
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable, concatenated
from hybridkg.interfaces.graph_index import Ids


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
    parts: list[CountedRows] = []
    tables: list[SolutionTable] = []
    for i, edge in node.edges(ids):
        names = frozenset(edge.variables)
        join = JoinNode.of((edge,), (), node.edge_conditions, (), (), edge.variables)
        part = count(join, keys & names, narrowed(hints, names), run)
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
