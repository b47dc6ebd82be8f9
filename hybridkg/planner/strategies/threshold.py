"""Several ranked relations on one variable, read together until their last scores can win no more."""

from __future__ import annotations

from operator import attrgetter

from hybridkg.algebra.nodes import Plan
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.costs import OfRanking
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranked import ends_early, under
from hybridkg.planner.ranking import Ranking
from hybridkg.planner.strategies.rank_first import best_first_of


def _applies(ranking: Ranking) -> bool:
    return ends_early(ranking) and len(ranking.variables) == 1 < len(ranking.scored)


class Threshold:
    """For limited rankings by a rising expression over several MATCHes of one variable."""

    exact = True
    cost = OfRanking(attrgetter("rank_first"), _applies)

    @staticmethod
    def plan(logical: Plan, planning: Planning) -> PhysicalOperator | None:
        """Operators, or None where it does not apply."""
        ranking = planning.ranking(logical)
        if ranking is None or not _applies(ranking):
            return None
        return under(logical, ranking, best_first_of(ranking, planning), planning)
