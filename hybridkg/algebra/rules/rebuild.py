"""Rebuilding of a logical plan with other children."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import is_

from hybridkg.algebra.nodes import Fragment, Join, LeftJoin, Match, Minus, Plan, SparqlQuery, Union


def with_children(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """The plan with changed children; the plan itself where none has changed."""
    match plan:
        case Fragment() | SparqlQuery() | Match():
            return plan
        case Join(left, right) | LeftJoin(left, right) | Minus(left, right):
            new_left, new_right = change(left), change(right)
            is_same = new_left is left and new_right is right
            return plan if is_same else replace(plan, left=new_left, right=new_right)
        case Union(branches):
            new = tuple([change(branch) for branch in branches])
            return plan if all(map(is_, new, branches)) else Union(new)
        case _:
            child = change(plan.child)
            return plan if child is plan.child else replace(plan, child=child)
