"""Several ranked relations on one variable, read together until their last scores can win no more."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.graph_index import Size
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.costs import costs_of
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranked import ends_early, under
from hybridkg.planner.ranking import Ranking
from hybridkg.planner.strategies.rank_first import best_first_of


class Threshold:
    """For limited rankings by a rising expression over several MATCHes of one variable."""

    exact = True

    @staticmethod
    def cost(logical: Plan, planning: Planning) -> Size | None:
        """Microseconds; None where it does not apply."""
        ranking = planning.ranking(logical)
        return costs_of(ranking, planning).rank_first if ranking is not None and _applies(ranking) else None

    @staticmethod
    def plan(logical: Plan, planning: Planning) -> PhysicalOperator | None:
        """Operators, or None where it does not apply."""
        ranking = planning.ranking(logical)
        if ranking is None or not _applies(ranking):
            return None
        return under(logical, ranking, best_first_of(ranking, planning), planning)


def _applies(ranking: Ranking) -> bool:
    return ends_early(ranking) and len(ranking.variables) == 1 < len(ranking.scored)
