"""Pushdown of filters into fragments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hybridkg.algebra.certain_plan import certain_of
from hybridkg.algebra.nodes import Filter, Fragment, Join, LeftJoin, MatchEach, Minus, Plan
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.interfaces.parameter import Substitution, UnboundParameterError
from hybridkg.query import ast
from hybridkg.query.walk import has, variables, walk

PER_ROW = frozenset({"RAND", "UUID", "STRUUID", "BNODE"})
"""Functions whose value differs from call to call, so that pushing would change the number of calls."""


def differs_by_call(expression: ast.Expression) -> bool:
    """Whether an expression calls one of PER_ROW."""
    return any(type(node) is ast.Call and node.function in PER_ROW for node in walk(expression))


def push_filters(plan: Plan) -> Plan:
    """Filter(Join(fragment, x), c) -> Join(fragment with FILTER c, x).

    Valid if every variable of c has the same binding in the fragment as in the join: it is certain in the fragment, or
    the other side cannot bind it. Also through the left side of OPTIONAL and MINUS, which never change the left
    solution, and from the condition of an OPTIONAL into its right side. What cannot be pushed still goes below
    OPTIONAL. Conditions that contain a MATCH stay.
    """
    return _with_pushed(plan, _into)


def push_translated_filters(plan: Plan) -> Plan:
    """`push_filters` of the conditions that the pattern of a fragment can express; the others stay."""
    return _with_pushed(plan, _into_pattern)


def push(plan: Plan, condition: ast.Expression) -> Plan | None:
    """The plan with a condition inside one of its fragments; None if it cannot be pushed."""
    return _push(plan, condition, _into) if _movable(condition) else None


Into = Callable[[Fragment, ast.Expression], Fragment | None]
"""A fragment with a condition inside; None if the condition stays outside."""


def _into(fragment: Fragment, condition: ast.Expression) -> Fragment | None:
    # Elements keep their meaning, because a filter applies to the whole group.
    elements = (*fragment.group.elements, ast.Filter(condition, span=condition.span))
    return replace(fragment, group=ast.Group(elements))


def _into_pattern(fragment: Fragment, condition: ast.Expression) -> Fragment | None:
    pushed = _into(fragment, condition)
    assert pushed is not None
    is_declined_inside = _asks_unbound(condition, fragment) or is_declined(pushed)
    return None if is_declined_inside and not is_declined(fragment) else pushed


def _asks_unbound(condition: ast.Expression, fragment: Fragment) -> bool:
    """Whether a condition has a variable that the fragment cannot bind, whatever its parameters."""
    nodes = [*walk(condition)]
    names = {node.name for node in nodes if isinstance(node, ast.Var)}
    return not names <= fragment.variables and not any(isinstance(node, ast.Exists) for node in nodes)


def is_declined(fragment: Fragment) -> bool:
    """Whether the projection cannot express a fragment, whatever its parameters."""
    try:
        return isinstance(_with_constants(fragment).pattern, DeclinedPattern)
    except UnboundParameterError:
        # Such a filter removes solutions, but it does not make the rest expressible.
        elements = fragment.group.elements
        known = tuple(one for one in elements if not (isinstance(one, ast.Filter) and Substitution(one).parameters))
        return len(known) < len(elements) and is_declined(Fragment(ast.Group(known), fragment.dataset))


def _with_constants(fragment: Fragment) -> Fragment:
    """The fragment with constants in place of the parameters of VALUES, whose values decide nothing."""

    def constant(cell: ast.Iri | ast.Lit | ast.TripleTerm | None) -> ast.Iri | ast.Lit | ast.TripleTerm | None:
        if isinstance(cell, ast.IriParameter | ast.ListParameter):
            return ast.Iri("urn:x")
        return ast.Lit("x") if isinstance(cell, ast.LiteralParameter) else cell

    def change(element: ast.Element) -> ast.Element:
        if not isinstance(element, ast.InlineData):
            return element
        rows = tuple(tuple(map(constant, row)) for row in element.rows)
        return ast.InlineData(element.variables, rows)

    if not any(isinstance(element, ast.InlineData) for element in fragment.group.elements):
        return fragment
    return Fragment(ast.Group(tuple(map(change, fragment.group.elements))), fragment.dataset)


def _with_pushed(plan: Plan, into: Into) -> Plan:
    if isinstance(plan, Filter):
        child = _with_pushed(plan.child, into)
        pushed = _push(child, plan.condition, into) if _movable(plan.condition) else None
        return pushed or _below_optional(plan, child)
    plan = with_children(plan, lambda child: _with_pushed(child, into))
    for condition in plan.conditions if isinstance(plan, LeftJoin) else ():
        assert isinstance(plan, LeftJoin)
        if _movable(condition) and _same_bindings(condition, plan.right, plan.left):
            right = _push(plan.right, condition, _into_pattern)
            others = tuple(other for other in plan.conditions if other is not condition)
            plan = plan if right is None else replace(plan, right=right, conditions=others)
    return plan


def _below_optional(plan: Filter, child: Plan) -> Plan:
    """A filter over another child: on the left side of its OPTIONALs, as far as these bind nothing that it reads."""
    if not isinstance(child, LeftJoin) or not _movable(plan.condition):
        return replace(plan, child=child)
    if not _same_bindings(plan.condition, child.left, child.right):
        return replace(plan, child=child)
    return replace(child, left=_below_optional(plan, child.left))


def _movable(condition: ast.Expression) -> bool:
    return not has(condition, ast.Match, ast.Near, ast.RankBy) and not differs_by_call(condition)


def _push(plan: Plan, condition: ast.Expression, into: Into) -> Plan | None:
    """The plan with the condition inside; None if it cannot be pushed."""
    match plan:
        case Fragment():
            return into(plan, condition)
        case Filter(child, _):
            pushed = _push(child, condition, into)
            return pushed and replace(plan, child=pushed)
        case Join(left, right):
            if _same_bindings(condition, left, right) and (pushed := _push(left, condition, into)):
                return Join(pushed, right)
            if _same_bindings(condition, right, left) and (pushed := _push(right, condition, into)):
                return Join(left, pushed)
        case LeftJoin(left, right, _):
            if _same_bindings(condition, left, right) and (pushed := _push(left, condition, into)):
                return replace(plan, left=pushed)
        case Minus(left, right):
            if pushed := _push(left, condition, into):
                return Minus(pushed, right)
        case MatchEach(child, match):
            if _same_bindings(condition, child, match) and (pushed := _push(child, condition, into)):
                return MatchEach(pushed, match)
    return None


def _same_bindings(condition: ast.Expression, inside: Plan, outside: Plan) -> bool:
    sure = certain_of(inside)
    return all(name in sure or name not in outside.variables for name in variables(condition))
