"""Rank first: the graph tests the best entities of the text until enough of them pass."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.topk.filter_first import FilterFirst
from hybridkg.operators.topk.filtered_topk import FilteredTopK
from hybridkg.operators.topk.rank_first import DEEPER, MIN_DEPTH
from hybridkg.operators.topk.rank_first import RankFirst as Operator
from hybridkg.operators.topk.top_k_rows import TopKRows
from hybridkg.planner.candidate_plan import RankingStrategy, candidates_of, least_of, ranked_top, rest_of
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import ALMOST, RankingCosts, costs_of, costs_of_plan, mean
from hybridkg.planner.ranking_shape import RankedPlan


class RankFirstStrategy(RankingStrategy):
    """Limited rankings by one MATCH."""

    preference = 40

    def takes(self, ranking: RankedPlan) -> bool:
        return ranking.by_one_match

    def cost_of(self, costs: RankingCosts) -> Cardinality:
        return rank_first_cost(costs)

    def least_cost(self, logical: Plan, planning: PlannerContext) -> float:
        costs = costs_of_plan(logical, planning)
        return 0.0 if costs is None else one_look_us(costs)

    def top(self, ranking: RankedPlan, planning: PlannerContext) -> PhysicalOperator | None:
        return best_first_of(ranking, planning)


RANK_FIRST = RankFirstStrategy()


def rank_first_cost(costs: RankingCosts) -> Cardinality:
    """Cost of reading the lists to the depth required and testing their entities in the graph.

    It is bounded: once it reaches the cost of finding the candidate set, the operator switches to that.
    """
    restricted, lists, k = costs.ranking.is_restricted, costs.lists.best_first, costs.wanted or 1.0
    variable = costs.ranking.variables[0] if restricted else None
    instead = inf
    if restricted and costs.switching:  # the cheaper way to score a candidate set
        instead = costs.filter_first.estimate
        if len(lists) == 1 and costs.ranking.scored[0].match.top is None:
            instead = min(instead, costs.filtered_topk.estimate)
    longest = max(lists)
    spread = k if len(lists) == 1 else 4.0 * k  # the best of one list are rarely those of another
    depth = max(MIN_DEPTH, 2.0 * (costs.k or 1.0))
    us = _look_us(costs, depth, lists, variable)
    cases: list[float] = []
    for rows, rest in reversed(costs.cases):  # more entities are found at a lower depth
        wanted = longest if rows < spread else min(spread * longest / rows, longest)
        while depth < wanted and us <= instead:
            depth *= DEEPER
            us += _look_us(costs, depth, lists, variable)
        cases.append(us + (rest if depth >= wanted else instead))
    return mean(cases[::-1])


def one_look_us(costs: RankingCosts) -> float:
    """Lower bound of `rank_first_cost`: one round suffices."""
    restricted, cost = costs.ranking.is_restricted, costs.cost
    depth = max(MIN_DEPTH, 2.0 * (costs.k or 1.0))
    us = cost.us_per_look + costs.lists_us(depth, costs.lists.best_first) + costs.cases[0][1]
    return ALMOST * (us + costs.graphs[costs.ranking.variables[0]].question_us if restricted else us)


def _look_us(costs: RankingCosts, depth: float, lists: Sequence[float], variable: str | None) -> float:
    """Cost of one round over the lists, and of testing and scoring its entities."""
    cost, fresh = costs.cost, 0.0
    us = cost.us_per_look + costs.lists_us(depth, lists)
    for most in lists:
        fresh += min(depth, most)
    fresh *= 1.0 - 1.0 / DEEPER
    if variable is not None:
        graph = costs.graphs[variable]
        us += graph.question_us + min(fresh * costs.each_us(variable), graph.whole_us)
    if len(lists) > 1:
        us += len(lists) * (cost.us_per_text_scoring + costs.scored_us(fresh, fresh / len(lists)))
    return us


def best_first_of(ranking: RankedPlan, planning: PlannerContext) -> PhysicalOperator:
    """Operator that reads the ranked lists of one variable best first."""
    candidates = (candidates_of(ranking, ranking.variables[0], planning),)
    rest, top = rest_of(ranking, planning), ranked_top(ranking)
    least = least_of(ranking, planning)
    if candidates[0].unrestricted or not planning.switching:
        return Operator(rest, top, candidates, least=least)
    instead: list[TopKRows] = [FilterFirst(rest, top, candidates, least)]
    budgets = [planning.number(lambda sizes: costs_of(ranking, sizes).filter_first.estimate)]
    if ranking.by_one_match and ranking.scored[0].match.top is None:
        instead.append(FilteredTopK(rest, top, candidates, least))
        budgets.append(planning.number(lambda sizes: costs_of(ranking, sizes).filtered_topk.estimate))
    return Operator(rest, top, candidates, tuple(instead), tuple(budgets), least)
