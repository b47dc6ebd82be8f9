"""Counting, below an aggregation, of the solutions of a fragment that differ in nothing that is read."""

from __future__ import annotations

from dataclasses import replace

from hybridkg.algebra.names import FreshNames
from hybridkg.algebra.nodes import Fragment, Group, Plan, walk
from hybridkg.algebra.rules.narrow_distinct import narrowed, read_by
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.algebra.visible import first_subject
from hybridkg.query import ast
from hybridkg.query.walk import walk as syntax_of

OF_COUNTED = frozenset(("COUNT", "SUM", "AVG", "MIN", "MAX"))
"""Aggregates that need no more of equal solutions than their number."""


def count_solutions(plan: Plan) -> Plan:
    """Group by ?p (Join(Fragment { ?p :cites ?q . ?r :cites ?q }, x)) -> the fragment counted by ?p and what x has.

    The join of two patterns by a hub has as many solutions as the product of its degrees; their number by the variables
    that something reads is the sum of these products, which the projection finds without listing them. A fragment alone
    whose aggregates are counts stays: operators/count_groups.py has its groups.
    """
    if not any(isinstance(part, Group) for part in walk(plan)):
        return plan
    return _counted(plan, FreshNames(read_by(plan).union(*(part.variables for part in walk(plan)))))


def _counted(plan: Plan, names: FreshNames) -> Plan:
    if not isinstance(plan, Group) or not (aggregates := _aggregates(plan)):
        return with_children(plan, lambda child: _counted(child, names))
    if isinstance(plan.child, Fragment) and {aggregate.name for aggregate in aggregates} == {"COUNT"}:
        return plan
    counts: list[str] = []

    def count(fragment: Fragment, kept: frozenset[str]) -> Fragment:
        counts.append(names.name("count"))
        return replace(fragment, kept=kept, counted=counts[-1])

    read = read_by(plan).union(first_subject(plan.child))
    child = narrowed(plan.child, read, count, lambda part: _counted(part, names))
    return replace(plan, child=child, counts=(*plan.counts, *counts))


def _aggregates(group: Group) -> list[ast.Aggregate]:
    """The aggregates of a group if solutions may be counted below all of them; else none."""
    parts = [node for part in (*group.keys, *group.having, *group.projection) for node in syntax_of(part)]
    aggregates = [node for node in parts if isinstance(node, ast.Aggregate)]
    if any(isinstance(node, ast.Exists) for node in parts):
        return []
    able = all(one.name in OF_COUNTED and (one.argument or not one.distinct) for one in aggregates)
    return aggregates if able else []
