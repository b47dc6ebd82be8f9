"""Text first: the graph is asked only about the entities that matched."""

from __future__ import annotations

from hybridkg.algebra.certain import certain
from hybridkg.algebra.nodes import Fragment, Join, Match, Plan, children
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import BindJoin
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.text_join import TextJoin
from hybridkg.planner.lower import lower


class BindJoins:
    """The reference plan, with BindJoin or TextJoin wherever a fragment meets a MATCH on a variable that both bind.

    Exact: both have the rows of the HashJoin in whose place they stand.
    """

    exact = True

    @staticmethod
    def plan(logical: Plan) -> PhysicalOperator | None:
        """Operators, or None where no fragment meets a MATCH."""
        ready: dict[Plan, PhysicalOperator] = {}
        _collect(logical, ready)
        return lower(logical, ready) if ready else None


def _collect(plan: Plan, ready: dict[Plan, PhysicalOperator]) -> None:
    for child in children(plan):
        _collect(child, ready)
    if not isinstance(plan, Join):
        return
    for fragment, other in ((plan.left, plan.right), (plan.right, plan.left)):
        if isinstance(fragment, Fragment):
            shared = sorted(certain(fragment.group) & _matched(other))
            if shared:
                ready[plan] = _joined(fragment, other, shared[0], ready)
                return


def _joined(fragment: Fragment, other: Plan, variable: str, ready: dict[Plan, PhysicalOperator]) -> PhysicalOperator:
    asked = SparqlFragment(fragment.group, tuple(sorted(fragment.variables)), fragment.dataset)
    if isinstance(other, Match) and other.match.top is None and not other.snippet_early:
        return TextJoin(other.match, other.score, asked)
    return BindJoin(lower(other, ready), asked, variable)


def _matched(plan: Plan) -> frozenset[str]:
    """Variables that a MATCH binds in every row of the plan."""
    match plan:
        case Match(match, _, _):
            return frozenset({match.entity.name})
        case Join(left, right):
            return _matched(left) | _matched(right)
        case _:
            return frozenset()
