"""Operators over columns for a plan without ranked predicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hybridkg.algebra import nodes
from hybridkg.algebra.certain_plan import certain_of
from hybridkg.algebra.from_ast import relational_of
from hybridkg.algebra.nodes import Fragment, Plan, walk
from hybridkg.algebra.rules import rewrite_relational
from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.errors import UnsupportedQueryError
from hybridkg.operators.any_solution import AnySolution
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import BindJoin
from hybridkg.operators.count_groups import CountGroups
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.group import plain_groups
from hybridkg.operators.join import shared_by
from hybridkg.operators.left_join import BindLeftJoin
from hybridkg.operators.minus import BindMinus
from hybridkg.planner.lower import left_condition, lower
from hybridkg.query import ast

FragmentOperator = Callable[[Fragment], GraphFragment]
"""Makes the operator of a fragment."""


def fragments_of(plan: Plan) -> list[Fragment]:
    """Fragments of a plan, last that with the triples of the nodes that a DESCRIBE finds."""
    fragments = [part for part in walk(plan) if isinstance(part, Fragment) and part.group.elements]
    return [*fragments, nodes.ALL_TRIPLES] if isinstance(plan, nodes.Describe) else fragments


def asked_of(plan: Plan) -> Fragment | None:
    """The fragment of which a plan wants no more than whether it has a solution; None for any other plan."""
    match plan:
        case nodes.Slice(nodes.Project(Fragment() as child, ()), 0, 1) if child.group.elements:
            return child
    return None


def is_computed(plan: Plan) -> bool:
    """Whether columns can compute every aggregation of a plan."""
    groups = [part for part in walk(plan) if isinstance(part, nodes.Group)]
    return all(plain_groups(group.keys, group.having, group.projection) is not None for group in groups)


@dataclass(frozen=True)
class Probe:
    """A fragment of a join of which only the rows for the values of the other side are needed.

    Args:
        fragment: a side of the join.
        other: the other side.
        variable: bound in every row of both.
    """

    fragment: Fragment
    other: Plan
    variable: str


def probe_of(plan: Plan) -> Probe | None:
    """The probe of a join, an OPTIONAL or a MINUS; None if no side is such a fragment."""
    match plan:
        case nodes.Join(left, right):
            return _probe(right, left) or _probe(left, right)
        case nodes.LeftJoin(left, right) | nodes.Minus(left, right):
            return _probe(right, left)
    return None


def _probe(fragment: Plan, other: Plan) -> Probe | None:
    if not isinstance(fragment, Fragment) or not fragment.group.elements:
        return None
    variable = min(certain_of(fragment) & certain_of(other), default="")
    return Probe(fragment, other, variable) if variable else None


def over_columns(plan: Plan, fragment: FragmentOperator) -> PhysicalOperator | None:
    """Operators of a plan; None if a part of it has none."""
    ready: dict[int, PhysicalOperator] = {}
    try:
        for part in reversed(list(walk(plan))):
            operator = _operator(part, ready, fragment)
            if operator is not None:
                ready[id(part)] = operator
        return lower(plan, ready, fragment=fragment)
    except UnsupportedQueryError:
        return None


def _operator(part: Plan, ready: dict[int, PhysicalOperator], fragment: FragmentOperator) -> PhysicalOperator | None:
    """The operator of a part that columns evaluate in another way than the reference; None for any other part."""
    if (counted := counted_of(part, fragment)) is not None:
        return counted
    if (asked := asked_of(part)) is not None:
        return AnySolution(fragment(asked))
    probe = probe_of(part)
    if probe is None:
        return None
    child, probed = lower(probe.other, ready, fragment=fragment), fragment(probe.fragment)
    shared = shared_by((probe.other, probe.fragment))
    match part:
        case nodes.LeftJoin():
            condition, tests = left_condition(part, fragment)
            return BindLeftJoin(child, probed, probe.variable, condition, tests, shared=shared)
        case nodes.Minus():
            return BindMinus(child, probed, probe.variable, shared=shared)
    return BindJoin(child, probed, probe.variable, shared=shared)


def counted_of(part: Plan, fragment: FragmentOperator) -> CountGroups | None:
    """The operator of an aggregation that only counts the solutions of a fragment; None for any other part."""
    if not isinstance(part, nodes.Group) or not isinstance(part.child, Fragment) or not part.child.group.elements:
        return None
    operator, groups = fragment(part.child), plain_groups(part.keys, part.having, part.projection)
    if groups is None or not CountGroups.applies(operator, groups):
        return None
    return CountGroups(operator, groups)


def of_declined(declined: Fragment, columns: tuple[str, ...], fragment: FragmentOperator) -> PhysicalOperator | None:
    """Operators over columns of a fragment that no single pattern of the projection expresses: it computes in a
    sub-select or by BIND, say. None if a part of it is declined as well, unless it stands in an EXISTS.
    """
    shown = tuple(ast.SelectItem(ast.Var(name)) for name in columns)
    query = ast.SelectQuery(shown, declined.group)
    if declined.counted:
        count = ast.SelectItem(ast.Var(declined.counted), ast.Aggregate("COUNT", None))
        keys = tuple(ast.GroupKey(ast.Var(name)) for name in columns)
        query = ast.SelectQuery((*shown, count), declined.group, modifiers=ast.Modifiers(keys))
    plan = relational_of(query)
    plan = None if plan is None else rewrite_relational(plan)
    if plan is None or not is_computed(plan):
        return None
    if any(isinstance(part.pattern, DeclinedPattern) for part in fragments_of(plan)):
        return None
    return over_columns(plan, fragment)
