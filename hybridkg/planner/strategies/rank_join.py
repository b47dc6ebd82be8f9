"""Ranked relations on different variables, joined by the graph, read from their best entities on."""

from __future__ import annotations

from math import inf
from operator import attrgetter

from hybridkg.algebra.nodes import Plan
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.rank_join import RankJoin as Operator
from hybridkg.planner.costs import costs_of
from hybridkg.planner.of_ranking import OfRanking
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranked import candidates_of, ends_early, ranked_top, rest_of, under
from hybridkg.planner.ranking import Ranking


def _applies(ranking: Ranking) -> bool:
    return ends_early(ranking) and len(ranking.scored) == len(ranking.variables) > 1


class RankJoin:
    """For limited rankings by a rising expression over one MATCH for each of several variables."""

    exact = True
    cost = OfRanking(attrgetter("rank_join"), _applies)

    @staticmethod
    def plan(logical: Plan, planning: Planning) -> PhysicalOperator | None:
        """Operators, or None where it does not apply."""
        ranking = planning.ranking(logical)
        if ranking is None or not _applies(ranking):
            return None
        candidates = tuple(candidates_of(ranking, variable, planning) for variable in ranking.variables)
        budget = inf
        if planning.switching:
            budget = planning.number(lambda sizes: costs_of(ranking, sizes).bind_join.guess)
        top = Operator(rest_of(ranking, planning), ranked_top(ranking), candidates, budget)
        return under(logical, ranking, top, planning)
