"""Text first: the graph is asked only about the entities that matched."""

from __future__ import annotations

from hybridkg.algebra.certain import certain
from hybridkg.algebra.nodes import (
    Extend,
    Filter,
    Fragment,
    Join,
    LeftJoin,
    Match,
    MatchEach,
    Minus,
    Plan,
    Union,
    children,
)
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import BindJoin
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.left_join import BindLeftJoin
from hybridkg.operators.text_join import TextJoin
from hybridkg.planner.lower import left_condition, lower


class BindJoins:
    """The reference plan, with a fragment probed or read in ids wherever it meets a MATCH on a variable both bind.

    Exact: both have the rows of the HashJoin in whose place they stand.
    """

    exact = True

    @staticmethod
    def plan(logical: Plan) -> PhysicalOperator | None:
        """Operators, or None where no fragment meets a MATCH."""
        ready: dict[Plan, PhysicalOperator] = {}
        _collect(logical, ready)
        return lower(logical, ready, _operators) if ready else None


def _operators(plan: Plan) -> PhysicalOperator:
    """The operators about one graph of GRAPH ?variable, joined in the same way."""
    return BindJoins.plan(plan) or lower(plan)


def _collect(plan: Plan, ready: dict[Plan, PhysicalOperator]) -> None:
    for child in children(plan):
        _collect(child, ready)
    match plan:
        case Join(left, right):
            for fragment, other in ((left, right), (right, left)):
                if isinstance(fragment, Fragment) and (shared := _shared(fragment, other)):
                    ready[plan] = _joined(fragment, other, shared, ready)
                    return
        case LeftJoin(left, Fragment() as fragment, _, _) if shared := _shared(fragment, left):
            condition, tests = left_condition(plan)
            ready[plan] = BindLeftJoin(lower(left, ready), _asked(fragment), shared, condition, tests)


def _shared(fragment: Fragment, other: Plan) -> str:
    """The first variable that a MATCH binds in every row of the plan and the fragment in every row; or nothing."""
    return min(certain(fragment.group) & _matched(other), default="")


def _asked(fragment: Fragment) -> SparqlFragment:
    return SparqlFragment(fragment.group, tuple(sorted(fragment.variables)), fragment.dataset)


def _joined(fragment: Fragment, other: Plan, variable: str, ready: dict[Plan, PhysicalOperator]) -> PhysicalOperator:
    asked = _asked(fragment)
    if isinstance(other, Match) and other.match.top is None and not other.snippet_early:
        return TextJoin(other.match, other.score, asked)
    return BindJoin(lower(other, ready), asked, variable)


def _matched(plan: Plan) -> frozenset[str]:
    """Variables that a MATCH binds in every row of the plan."""
    match plan:
        case Match(match, _, _):
            return frozenset({match.entity.name})
        case MatchEach(child, Match(match, _, _)):
            return _matched(child) | {match.entity.name}
        case Join(left, right):
            return _matched(left) | _matched(right)
        case LeftJoin(left, _) | Minus(left, _) | Filter(left, _) | Extend(left, _, _):
            return _matched(left)
        case Union(branches):
            return frozenset.intersection(*(_matched(branch) for branch in branches))
        case _:
            return frozenset()
