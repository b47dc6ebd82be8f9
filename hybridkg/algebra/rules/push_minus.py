"""Pushdown of MINUS into fragments."""

from __future__ import annotations

from dataclasses import replace

from hybridkg.algebra.certain import certain
from hybridkg.algebra.nodes import Extend, Filter, Fragment, Join, LeftJoin, MatchEach, Minus, Plan
from hybridkg.algebra.rules.push_filters import is_declined
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.query import ast


def push_minus(plan: Plan) -> Plan:
    """Minus(Join(fragment a, x), fragment b) -> Join(fragment a with MINUS b, x).

    Valid if every variable that b shares with the left side is certain in a: a then determines whether a solution is
    removed (SPARQL 1.1 section 18.5). MINUS stays where the projection answers a, but would decline a together with b.
    """
    if isinstance(plan, Minus):
        left, right = push_minus(plan.left), push_minus(plan.right)
        if isinstance(right, Fragment):
            shared = left.variables & right.variables
            pushed = _push(left, right, shared) if shared else None
            if pushed is not None:
                return pushed
        return Minus(left, right)
    return with_children(plan, push_minus)


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
