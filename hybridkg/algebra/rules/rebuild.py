"""Rebuilding of a logical plan with other children."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hybridkg.algebra.nodes import Fragment, Join, LeftJoin, Match, Minus, Plan, SparqlQuery, Union


def with_children(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    match plan:
        case Fragment() | SparqlQuery() | Match():
            return plan
        case Join(left, right) | LeftJoin(left, right) | Minus(left, right):
            return replace(plan, left=change(left), right=change(right))
        case Union(branches):
            return Union(tuple(change(branch) for branch in branches))
        case _:
            return replace(plan, child=change(plan.child))
