"""The candidate set goes into the text index as a mask."""

from __future__ import annotations

from operator import attrgetter

from hybridkg.algebra.nodes import Plan
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.filtered_topk import FilteredTopK as Operator
from hybridkg.planner.of_ranking import OfRanking
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranked import by_one_match, candidates_of, ranked_top, rest_of, under
from hybridkg.planner.ranking import Ranking


def _applies(ranking: Ranking) -> bool:
    return by_one_match(ranking) and ranking.scored[0].match.top is None


class FilteredTopK:
    """For limited rankings by one MATCH without TOP."""

    exact = True
    cost = OfRanking(attrgetter("filtered_topk"), _applies)

    @staticmethod
    def plan(logical: Plan, planning: Planning) -> PhysicalOperator | None:
        """Operators, or None where it does not apply."""
        ranking = planning.ranking(logical)
        if ranking is None or not _applies(ranking):
            return None
        candidates = candidates_of(ranking, ranking.variables[0], planning)
        top = Operator(rest_of(ranking, planning), ranked_top(ranking), (candidates,))
        return under(logical, ranking, top, planning)
