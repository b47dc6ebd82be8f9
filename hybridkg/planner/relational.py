"""Operators over columns for a plan without ranked predicates."""

from __future__ import annotations

from collections.abc import Callable

from hybridkg.algebra import nodes
from hybridkg.algebra.from_ast import relational_of
from hybridkg.algebra.nodes import Fragment, Plan, walk
from hybridkg.algebra.rules import rewrite_relational
from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.errors import UnsupportedQueryError
from hybridkg.operators.aggregates import PlainGroups
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.count_groups import CountGroups
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.planner.lower import lower
from hybridkg.query import ast

FragmentOperator = Callable[[Fragment], GraphFragment]
"""Makes the operator of a fragment."""


def fragments_of(plan: Plan) -> list[Fragment]:
    """Fragments of a plan."""
    return [part for part in walk(plan) if isinstance(part, Fragment) and part.group.elements]


def is_computed(plan: Plan) -> bool:
    """Whether columns can compute every aggregation of a plan."""
    groups = [part for part in walk(plan) if isinstance(part, nodes.Group)]
    return all(PlainGroups.of(group.keys, group.having, group.projection) is not None for group in groups)


def over_columns(plan: Plan, fragment: FragmentOperator) -> PhysicalOperator | None:
    """Operators of a plan; None if a part of it has none."""
    ready: dict[int, PhysicalOperator] = {}
    for part in walk(plan):
        if isinstance(part, nodes.Group) and isinstance(part.child, Fragment) and part.child.group.elements:
            operator = fragment(part.child)
            groups = PlainGroups.of(part.keys, part.having, part.projection)
            if groups is not None and CountGroups.applies(operator, groups):
                ready[id(part)] = CountGroups(operator, groups)
    try:
        return lower(plan, ready, fragment=fragment)
    except UnsupportedQueryError:
        return None


def of_declined(group: ast.Group, columns: tuple[str, ...], fragment: FragmentOperator) -> PhysicalOperator | None:
    """Operators over columns of a group that no single pattern of the projection expresses: it computes in a sub-select
    or by BIND, say. None if a part of it is declined as well.
    """
    plan = relational_of(ast.SelectQuery(tuple(ast.SelectItem(ast.Var(name)) for name in columns), group))
    plan = None if plan is None else rewrite_relational(plan)
    if plan is None or not is_computed(plan):
        return None
    if any(isinstance(fragment(part).pattern, DeclinedPattern) for part in fragments_of(plan)):
        return None
    return over_columns(plan, fragment)
