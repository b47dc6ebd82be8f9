"""Evaluation of BIND after the joins around it, for the solutions that are left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hybridkg.algebra.certain import certain_of
from hybridkg.algebra.nodes import Extend, Join, LeftJoin, Minus, Plan
from hybridkg.algebra.rules.push_filters import PER_ROW
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.query import ast
from hybridkg.query.walk import variables, walk


def delay_binds(plan: Plan) -> Plan:
    """Join(Extend(a, ?v := e), b) -> Extend(Join(a, b), ?v := e), also for the left sides of OPTIONAL and MINUS.

    Valid if b does not have ?v, and a binds all variables of e in every solution: b then changes none of them. Stays
    where e has another value in each call (RAND), or an EXISTS, whose pattern depends on everything that is bound.
    """
    return _delayed(with_children(plan, delay_binds))


def _delayed(plan: Plan) -> Plan:
    match plan:
        case Join(Extend() as bind, other) if _may_follow(bind, (other,)):
            return replace(bind, child=_delayed(Join(bind.child, other)))
        case Join(other, Extend() as bind) if _may_follow(bind, (other,)):
            return replace(bind, child=_delayed(Join(other, bind.child)))
        case LeftJoin(Extend() as bind, right, conditions) if _may_follow(bind, (right,), conditions):
            return replace(bind, child=_delayed(replace(plan, left=bind.child)))
        case Minus(Extend() as bind, right) if _may_follow(bind, (right,)):
            return replace(bind, child=_delayed(Minus(bind.child, right)))
    return plan


def _may_follow(bind: Extend, others: Iterable[Plan], conditions: Iterable[ast.Expression] = ()) -> bool:
    if any(bind.variable in other.variables for other in others):
        return False
    if any(bind.variable in variables(condition) for condition in conditions):
        return False
    expression = bind.expression
    if not variables(expression) <= certain_of(bind.child):
        return False
    return not any(
        isinstance(node, ast.Exists) or (isinstance(node, ast.Call) and node.function in PER_ROW)
        for node in walk(expression)
    )
