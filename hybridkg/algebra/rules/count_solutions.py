"""Counting of the solutions of a fragment that differ in nothing that is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from hybridkg.algebra.names import FreshNames
from hybridkg.algebra.nodes import Extend, Filter, Fragment, Group, LeftJoin, OrderBy, Plan, Project, Rank, walk
from hybridkg.algebra.rules.narrow_distinct import narrowed, read_by
from hybridkg.algebra.rules.push_filters import differs_by_call
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.algebra.visible import first_subject
from hybridkg.query import ast
from hybridkg.query.walk import has
from hybridkg.query.walk import walk as syntax_of

OF_COUNTED = frozenset(("COUNT", "SUM", "AVG", "MIN", "MAX"))
"""Aggregates that need no more of equal solutions than their number."""


def count_solutions(plan: Plan) -> Plan:
    """Group by ?p (Join(Fragment { ?p :cites ?q . ?r :cites ?q }, x)) -> the fragment counted by ?p and what x has.

    The join of two patterns by a hub has as many solutions as the product of its degrees; their number by the variables
    that something reads is the sum of these products, which the projection finds without listing them. A projection
    repeats what was counted below it, so joins and OPTIONALs make no rows that differ in nothing.

    Valid unless a function differs from call to call, or ranks depend on the number of rows. Two cases stay, because
    operators of their own count or list them in parts: a fragment alone below COUNTs (operators/count_groups.py), and
    one alone below a projection.
    """
    counting = _Counting(plan)
    counted = counting.counted(plan)
    if not counting.counts or any(map(differs_by_call, _expressions(plan))):
        return plan
    return counted


@dataclass
class _Counting:
    whole: Plan
    counts: list[str] = field(default_factory=list)

    @cached_property
    def _names(self) -> FreshNames:
        return FreshNames(read_by(self.whole).union(*(part.variables for part in walk(self.whole))))

    def counted(self, plan: Plan) -> Plan:
        if isinstance(plan, Group) and _counts_below(plan):
            return self._below(plan, first_subject(plan.child))
        if isinstance(plan, Project) and _repeats(plan):
            return self._below(plan, (*plan.columns, *plan.hidden))
        return with_children(plan, self.counted)

    def _below(self, plan: Group | Project, read: tuple[str, ...]) -> Plan:
        if plan.child.variables <= frozenset(read):
            return with_children(plan, self.counted)
        before = len(self.counts)
        child = narrowed(plan.child, read_by(plan).union(read), self._count, self.counted)
        return replace(plan, child=child, counts=(*plan.counts, *self.counts[before:]))

    def _count(self, fragment: Fragment, kept: frozenset[str]) -> Fragment:
        self.counts.append(self._names.name("count"))
        return replace(fragment, kept=kept, counted=self.counts[-1])


def _counts_below(group: Group) -> bool:
    """Whether the solutions of a group may be counted, and are not by the operator of a fragment alone."""
    parts = [node for part in (*group.keys, *group.having, *group.projection) for node in syntax_of(part)]
    aggregates = [node for node in parts if isinstance(node, ast.Aggregate)]
    if any(isinstance(node, ast.Exists) for node in parts):
        return False
    if isinstance(group.child, Fragment) and all(aggregate.name == "COUNT" for aggregate in aggregates):
        return False
    return all(one.name in OF_COUNTED and (one.argument or not one.distinct) for one in aggregates)


def _repeats(project: Project) -> bool:
    """Whether rows of a projection may be repeated, and are joined at all."""
    below = project.child
    while isinstance(below, Rank | OrderBy | Filter | Extend):
        if isinstance(below, Rank) and has(below.expression, ast.RankFunction):
            return False
        below = below.child
    return bool(project.columns) and not project.distinct and not isinstance(below, Fragment)


def _expressions(plan: Plan) -> Iterator[ast.Expression]:
    for part in walk(plan):
        match part:
            case Filter(_, expression) | Extend(_, _, expression) | Rank(_, expression):
                yield expression
            case LeftJoin(_, _, conditions):
                yield from conditions
            case Group(_, keys, having, projection):
                yield from (key.expression for key in keys)
                yield from having
                yield from (item.expression for item in projection if item.expression is not None)
