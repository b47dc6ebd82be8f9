"""Certain variables of a plan, which every solution binds; the precondition of rewrites."""

from __future__ import annotations

from hybridkg.algebra import nodes
from hybridkg.algebra.certain import certain
from hybridkg.query import ast


def certain_of(plan: nodes.Plan) -> frozenset[str]:
    """Variables bound in every solution of a plan: a subset of them, which may miss some."""
    match plan:
        case nodes.Fragment(group):
            return certain(group) & plan.variables
        case nodes.Match(match, score, _):
            return frozenset({match.entity.name, score})
        case nodes.MatchEach(child, nodes.Match(match, score, _)):
            return certain_of(child) | {match.entity.name, score}
        case nodes.GraphEach(child, variable, _, _):
            return certain_of(child) | {variable}
        case nodes.Join(left, right):
            return certain_of(left) | certain_of(right)
        case nodes.LeftJoin(child, _) | nodes.Minus(child, _) | nodes.Filter(child, _) | nodes.Extend(child, _, _):
            return certain_of(child)
        case nodes.Union(branches):
            return frozenset.intersection(*(certain_of(branch) for branch in branches))
        case nodes.Project(child, columns, _, _):
            return certain_of(child) & frozenset(columns)
        case nodes.Slice(child, _, _) | nodes.OrderBy(child, _, _):
            return certain_of(child)
        case nodes.Group(child, keys, _, projection):
            shown = {item.variable.name for item in projection if item.expression is None}
            return (
                certain_of(child) & shown & {key.expression.name for key in keys if isinstance(key.expression, ast.Var)}
            )
    return frozenset()
