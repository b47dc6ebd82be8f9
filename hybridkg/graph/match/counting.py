"""Counting the solutions of a pattern by the values of some variables, without listing what can be summed.

Each node gives the distinct combinations of values with a count. A join sums out what hangs on it like a tree
(join_counting.py) and lists only its core, each row with the product of the weights of its values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybridkg.graph.match.any_predicate import AnyPredicateNode
from hybridkg.graph.match.any_predicate_counting import counted_any, distributed
from hybridkg.graph.match.combine import RestrictNode, SelectNode, UnionNode
from hybridkg.graph.match.grouping import CountedRows, count_rows
from hybridkg.graph.match.ids import Counts, Mask
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.join_counting import JoinCounting, as_join
from hybridkg.graph.match.nodes import Hints, PatternNode, narrowed
from hybridkg.graph.match.optional import OptionalNode, SemiJoinNode, hints_of
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable, all_pairs, concatenated, matched, merged
from hybridkg.graph.match.weigh import FactorOf
from hybridkg.graph.match.weights import product
from hybridkg.interfaces.graph_index import Ids


def counted(
    node: PatternNode, keys: frozenset[str], hints: Hints, run: PatternRun, first: str | None = None
) -> CountedRows:
    """The number of solutions for each combination of values of `keys`; names that the node lacks have no column.

    Rows are ordered by `first` where that costs nothing.

    Raises:
        QueryLimitError: what has to be listed is too large, a count exceeds MAX_COUNT, or the time is over.
    """
    keys &= frozenset(node.variables)
    match node:
        case JoinNode():
            by_predicate = distributed(node, keys, hints, run, counted)
            return by_predicate or JoinCounting(node, keys, hints, {}, run, counted, first).counted()
        case AnyPredicateNode():
            return counted_any(node, keys, hints, run, counted)
        case UnionNode(branches):
            return _union([counted(branch, keys, hints, run) for branch in branches], sorted(keys), run)
        case SelectNode():
            return _select(node, keys, hints, run)
        case OptionalNode():
            return _optional(node, keys, hints, run)
        case RestrictNode(child, tests):
            inner = counted(child, keys.union(*(test.variables for test in tests)), hints, run)
            passed = np.ones(inner.table.size, np.bool_)
            for test in tests:
                passed &= test.holds(inner.table, run)
            return _of_rows(inner, passed, keys)
        case SemiJoinNode(left, right, negated, disjoint):
            shared = frozenset(left.variables) & frozenset(right.variables)
            inner = counted(left, keys | shared, hints, run)
            if inner.table.size == 0 or (not shared and not disjoint):
                return inner
            others = counted(right, shared, hints_of(inner.table, left.certain, right), run).table
            mask = matched(inner.table, others, disjoint=disjoint)
            return _of_rows(inner, ~mask if negated else mask, keys)
        case _:
            return count_rows(node.rows(keys, hints, run), keys)


def _of_rows(inner: CountedRows, mask: Mask, keys: frozenset[str]) -> CountedRows:
    return _regrouped(inner.table.take(mask), keys, inner.counts[mask])


def _regrouped(table: SolutionTable, keys: frozenset[str], counts: Counts) -> CountedRows:
    return count_rows(table, keys, counts, int(counts.max(initial=0)))


def _union(branches: Sequence[CountedRows], names: Sequence[str], run: PatternRun) -> CountedRows:
    if len(branches) == 1:
        return branches[0]
    table = concatenated([branch.table for branch in branches], names, run)
    counts = [branch.counts for branch in branches] or [np.zeros(0, np.int64)]
    return _regrouped(table, frozenset(names), np.concatenate(counts))


def _select(node: SelectNode, keys: frozenset[str], hints: Hints, run: PatternRun) -> CountedRows:
    hints = narrowed(hints, node.certain)
    if not node.distinct:
        return counted(node.child, keys, hints, run)
    names = frozenset(node.variables) & frozenset(node.child.variables)
    if len(names) == 1 and names <= node.certain:
        (name,) = names
        ids = node.child.values(name, hints.get(name), run)
        table = SolutionTable({name: ids}, len(ids))
    else:
        table = counted(node.child, names, hints, run).table
    return count_rows(table, keys)


def _optional(node: OptionalNode, keys: frozenset[str], hints: Hints, run: PatternRun) -> CountedRows:
    """Right sides that hang on one variable are factors of the left side; others are joined by groups."""
    left: PatternNode = node
    factors: dict[str, list[FactorOf]] = {}
    while isinstance(left, OptionalNode) and (name := hangs_on(left, keys)) is not None:
        factors.setdefault(name, []).append(_factor_of(left, name, run))
        left = left.left
    if factors:
        return JoinCounting(as_join(left), keys, hints, factors, run, counted).counted()
    shared = frozenset(node.left.variables) & frozenset(node.right.variables)
    needed = keys.union(shared, *(test.variables for test in node.tests))
    mine = counted(node.left, needed, hints, run)
    its = counted(node.right, needed, hints_of(mine.table, node.left.certain, node.right), run)
    i, j = all_pairs(mine.table, its.table, run)
    pairs = merged(mine.table, its.table, i, j)
    if node.tests:
        passed = np.ones(pairs.size, np.bool_)
        for test in node.tests:
            passed &= test.holds(pairs, run)
        pairs, i, j = pairs.take(passed), i[passed], j[passed]
    alone = np.ones(mine.table.size, np.bool_)
    alone[i] = False
    bound = int(mine.counts.max(initial=0)) * int(its.counts.max(initial=0))
    counts = np.append(product(mine.counts[i], its.counts[j], bound), mine.counts[alone])
    names = [name for name in node.variables if name in keys]
    return _regrouped(concatenated([pairs, mine.table.take(alone)], names, run), keys, counts)


def hangs_on(node: OptionalNode, keys: frozenset[str]) -> str | None:
    """The only variable that both sides share, if it is all that is asked of the right side."""
    shared = frozenset(node.left.variables) & frozenset(node.right.variables)
    if len(shared) != 1 or not shared <= node.left.certain & node.right.certain:
        return None
    own = frozenset(node.right.variables)
    if keys & own - shared or not all(test.variables <= own for test in node.tests):
        return None
    return next(iter(shared))


def _factor_of(node: OptionalNode, name: str, run: PatternRun) -> FactorOf:
    right = RestrictNode(node.right, node.tests) if node.tests else node.right

    def factor(ids: Ids) -> Counts:
        few = len(ids) * 2 < right.estimate(name)
        weights = counted(right, frozenset((name,)), {name: ids} if few else {}, run).weights(name)
        return np.maximum(weights.at(ids), 1)

    return factor
