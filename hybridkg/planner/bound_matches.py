"""Which variables have entities of a text index in every row."""

from __future__ import annotations

from hybridkg.algebra.nodes import Extend, Filter, Join, LeftJoin, Match, MatchEach, Minus, Plan, Union


def bound_by_match(plan: Plan) -> frozenset[str]:
    """Variables that a MATCH binds in every row of the plan."""
    match plan:
        case Match(match, _, _):
            return frozenset({match.entity.name})
        case MatchEach(child, Match(match, _, _)):
            return bound_by_match(child) | {match.entity.name}
        case Join(left, right):
            return bound_by_match(left) | bound_by_match(right)
        case LeftJoin(left, _) | Minus(left, _) | Filter(left, _) | Extend(left, _, _):
            return bound_by_match(left)
        case Union(branches):
            return frozenset.intersection(*(bound_by_match(branch) for branch in branches))
        case _:
            return frozenset()
