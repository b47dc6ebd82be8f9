"""Evaluation of BIND after the joins, filters and orders around it, for the solutions that are left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hybridkg.algebra.certain_plan import certain_of
from hybridkg.algebra.nodes import Extend, Filter, Join, LeftJoin, Minus, OrderBy, Plan
from hybridkg.algebra.rules.push_filters import differs_by_call
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.algebra.visible import scores_of
from hybridkg.query import ast
from hybridkg.query.walk import has, variables


def delay_binds(plan: Plan) -> Plan:
    """Join(Extend(a, ?v := e), b) -> Extend(Join(a, b), ?v := e), also for the left sides of OPTIONAL and MINUS.

    Valid if b does not have ?v, and a binds all variables of e in every solution: b then changes none of them. Also
    after a FILTER and an ORDER BY that do not read ?v, of which a LIMIT may leave a few rows. Stays where e has another
    value in each call (RAND), or an EXISTS, whose pattern depends on everything that is bound.
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
        case Filter(Extend() as bind, condition) if _is_pure(bind) and bind.variable not in variables(condition):
            return replace(bind, child=_delayed(replace(plan, child=bind.child)))
        case OrderBy(Extend() as bind) if _is_pure(bind) and _is_no_key(bind, plan):
            return replace(bind, child=_delayed(replace(plan, child=bind.child)))
    return plan


def _is_no_key(bind: Extend, plan: OrderBy) -> bool:
    """Whether rows have the same order without the variable, and their order is not one of scores, which is that of
    ranked relations. Among the tie-breakers, it must follow those on which it depends.
    """
    names = [name for name, _ in plan.keys]
    if bind.variable in names or not scores_of(plan.child).isdisjoint(names):
        return False
    if plan.tie_breakers is None:
        return True
    names += [*plan.tie_breakers, *sorted(plan.child.variables)]
    return variables(bind.expression) <= frozenset(names[: names.index(bind.variable)])


def _may_follow(bind: Extend, others: Iterable[Plan], conditions: Iterable[ast.Expression] = ()) -> bool:
    if any(bind.variable in other.variables for other in others):
        return False
    if any(bind.variable in variables(condition) for condition in conditions):
        return False
    return variables(bind.expression) <= certain_of(bind.child) and _is_pure(bind)


def _is_pure(bind: Extend) -> bool:
    return not has(bind.expression, ast.Exists) and not differs_by_call(bind.expression)
