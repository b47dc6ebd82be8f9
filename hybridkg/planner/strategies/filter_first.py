"""The graph decides who takes part; only those are scored, and only the best of them get rows."""

from __future__ import annotations

from operator import attrgetter

from hybridkg.algebra.nodes import Plan
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.filter_first import FilterFirst as Operator
from hybridkg.planner.of_ranking import OfRanking
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranked import candidates_of, of_one_variable, ranked_top, rest_of, under
from hybridkg.planner.ranking import Ranking


def _applies(ranking: Ranking) -> bool:
    return of_one_variable(ranking)


class FilterFirst:
    """For rankings whose scores are all of one variable, with or without a limit."""

    exact = True
    cost = OfRanking(attrgetter("filter_first"), _applies)

    @staticmethod
    def plan(logical: Plan, planning: Planning) -> PhysicalOperator | None:
        """Operators, or None where it does not apply."""
        ranking = planning.ranking(logical)
        if ranking is None or not _applies(ranking):
            return None
        candidates = candidates_of(ranking, ranking.variables[0], planning)
        top = Operator(rest_of(ranking, planning), ranked_top(ranking), (candidates,))
        return under(logical, ranking, top, planning)
