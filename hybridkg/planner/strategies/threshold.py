"""Several ranked relations on one variable, read together until their last scores can win no more."""

from __future__ import annotations

from operator import attrgetter

from hybridkg.algebra.nodes import Plan
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.threshold import Threshold as Operator
from hybridkg.planner.of_ranking import OfRanking
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranked import candidates_of, ends_early, fuses, ranked_top, rest_of, under
from hybridkg.planner.ranking import Ranking
from hybridkg.planner.strategies.rank_first import best_first_of


def _applies(ranking: Ranking) -> bool:
    return fuses(ranking) or (ends_early(ranking) and len(ranking.variables) == 1 < len(ranking.scored))


class Threshold:
    """For limited rankings by a rising expression over several MATCHes of one variable, or of functions of all scores.

    Where all that survive can be told from their candidates alone, and a NEAR, a function or an OPTIONAL takes part,
    the relations are known up to an error before they are read (operators/threshold.py); elsewhere they are read
    from their best on, as by rank_first.
    """

    exact = True
    cost = OfRanking(attrgetter("threshold"), _applies, least=attrgetter("threshold_least"))

    @staticmethod
    def plan(logical: Plan, planning: Planning) -> PhysicalOperator | None:
        """Operators, or None where it does not apply."""
        ranking = planning.ranking(logical)
        if ranking is None or not _applies(ranking):
            return None
        if not fuses(ranking):
            return under(logical, ranking, best_first_of(ranking, planning), planning)
        if planning.is_far(ranking.matches):
            return None
        candidates = candidates_of(ranking, ranking.variables[0], planning)
        top = Operator(rest_of(ranking, planning), ranked_top(ranking), (candidates,))
        return under(logical, ranking, top, planning)
