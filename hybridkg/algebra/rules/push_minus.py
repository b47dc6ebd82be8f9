"""Pushdown of MINUS into fragments, and below OPTIONAL."""

from __future__ import annotations

from dataclasses import replace

from hybridkg.algebra.certain import certain
from hybridkg.algebra.certain_plan import certain_of
from hybridkg.algebra.nodes import Extend, Filter, Fragment, Join, LeftJoin, MatchEach, Minus, Plan
from hybridkg.algebra.rules.push_filters import is_declined
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.query import ast


def push_minus(plan: Plan) -> Plan:
    """Minus(Join(fragment a, x), fragment b) -> Join(fragment a with MINUS b, x).

    Valid if every variable that b shares with the left side is certain in a: a then determines whether a solution is
    removed (SPARQL 1.1 section 18.5). MINUS stays where the projection answers a, but would decline a together with b;
    then, and where a is no fragment, it still goes below an OPTIONAL.
    """
    if isinstance(plan, Minus):
        left, right = push_minus(plan.left), push_minus(plan.right)
        if isinstance(right, Fragment):
            shared = left.variables & right.variables
            pushed = _push(left, right, shared) if shared else None
            if pushed is not None:
                return pushed
        return _below_optional(left, right)
    return with_children(plan, push_minus)


def _below_optional(left: Plan, right: Plan) -> Plan:
    shared = left.variables & right.variables
    if isinstance(left, LeftJoin) and shared and shared <= certain_of(left.left):
        return replace(left, left=_below_optional(left.left, right))
    return Minus(left, right)


def _push(plan: Plan, removed: Fragment, shared: frozenset[str]) -> Plan | None:
    """The plan with MINUS inside; None if it cannot be pushed."""
    match plan:
        case Fragment(group, dataset):
            if dataset != removed.dataset or not shared <= certain(group):
                return None
            together = ast.Group((*group.elements, ast.MinusPattern(removed.group)))
            fragment = Fragment(together, dataset)
            return None if is_declined(fragment) and not is_declined(plan) else fragment
        case Join(left, right):
            if pushed := _push(left, removed, shared):
                return Join(pushed, right)
            if pushed := _push(right, removed, shared):
                return Join(left, pushed)
        case LeftJoin(left, _) | Minus(left, _):
            if pushed := _push(left, removed, shared):
                return replace(plan, left=pushed)
        case Filter() | Extend() | MatchEach():
            if pushed := _push(plan.child, removed, shared):
                return replace(plan, child=pushed)
    return None
