"""The text decides the order; the graph is asked about the best entities until enough of them pass."""

from __future__ import annotations

from operator import attrgetter

from hybridkg.algebra.nodes import Plan
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.best_rows import BestRows
from hybridkg.operators.filter_first import FilterFirst
from hybridkg.operators.filtered_topk import FilteredTopK
from hybridkg.operators.rank_first import RankFirst as Operator
from hybridkg.planner.costs import costs_of
from hybridkg.planner.of_ranking import OfRanking
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranked import by_one_match, candidates_of, ranked_top, rest_of, under
from hybridkg.planner.ranking import Ranking


def _applies(ranking: Ranking) -> bool:
    return by_one_match(ranking)


class RankFirst:
    """For limited rankings by one MATCH."""

    exact = True
    cost = OfRanking(attrgetter("rank_first"), _applies, least=attrgetter("rank_first_least"))

    @staticmethod
    def plan(logical: Plan, planning: Planning) -> PhysicalOperator | None:
        """Operators, or None where it does not apply."""
        ranking = planning.ranking(logical)
        if ranking is None or not _applies(ranking):
            return None
        return under(logical, ranking, best_first_of(ranking, planning), planning)


def best_first_of(ranking: Ranking, planning: Planning) -> PhysicalOperator:
    """Reads the ranked lists of one variable from their best on."""
    candidates = (candidates_of(ranking, ranking.variables[0], planning),)
    rest, top = rest_of(ranking, planning), ranked_top(ranking)
    if candidates[0].unrestricted or not planning.switching:
        return Operator(rest, top, candidates)
    instead: list[BestRows] = [FilterFirst(rest, top, candidates)]
    budgets = [planning.number(lambda sizes: costs_of(ranking, sizes).filter_first.guess)]
    if by_one_match(ranking) and ranking.scored[0].match.top is None:
        instead.append(FilteredTopK(rest, top, candidates))
        budgets.append(planning.number(lambda sizes: costs_of(ranking, sizes).filtered_topk.guess))
    return Operator(rest, top, candidates, tuple(instead), tuple(budgets))
