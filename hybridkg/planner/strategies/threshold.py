"""Threshold algorithm: several ranked relations on one variable, read together until their last scores cannot win."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.topk.rank_first import MIN_DEPTH
from hybridkg.operators.topk.threshold import Threshold as Operator
from hybridkg.planner.candidate_plan import RankingStrategy, candidates_of, ranked_top, rest_of
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED, RankingCosts, costs_of_plan
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.planner.strategies.rank_first import best_first_of, one_look_us, rank_first_cost


class ThresholdStrategy(RankingStrategy):
    """Limited rankings by a rising expression over several MATCHes of one variable, or by rank functions.

    If the candidate set determines all survivors, and a NEAR, a function or an OPTIONAL takes part, the relations are
    known within an error before they are read (operators/topk/threshold.py); otherwise they are read best first, as by
    rank_first.
    """

    preference = 50

    def takes(self, ranking: RankedPlan) -> bool:
        return ranking.fuses or (ranking.ends_early and len(ranking.variables) == 1 < len(ranking.scored))

    def cost_of(self, costs: RankingCosts) -> Cardinality:
        """Cost of the candidate set, of each list within its error, and of exact scores of the best; that of rank_first
        for lists read best first.
        """
        if not costs.shape.is_fused:
            return rank_first_cost(costs)
        if costs.shape.is_remote:
            return UNPRICED
        cost, graph, us = costs.cost, costs.graphs[costs.ranking.variables[0]], 0.0
        lists = costs.lists.scored + costs.lists.optional
        us += graph.whole_us + graph.question_us + cost.us_per_look
        for most, read in zip(lists, costs.compared, strict=True):
            scored = min(graph.size.estimate * cost.us_per_scored_candidate, most * cost.us_per_scored_posting)
            us += cost.us_per_text_scoring + (read * cost.us_per_posting if read else scored)
        depth = max(MIN_DEPTH, 2.0 * costs.k)
        us += len(lists) * (cost.us_per_text_scoring + len(lists) * depth * cost.us_per_scored_candidate)
        variable, fragments = costs.ranking.variables[0], costs.shape.queried_fragments
        us += costs.once_us(fragments) + costs.entity_us(variable, fragments) * costs.k
        return Cardinality(us, us, us)

    def least_cost(self, logical: Plan, planning: PlannerContext) -> float:
        costs = costs_of_plan(logical, planning)
        return 0.0 if costs is None or costs.shape.is_fused else one_look_us(costs)

    def top(self, ranking: RankedPlan, planning: PlannerContext) -> PhysicalOperator | None:
        if not ranking.fuses:
            return best_first_of(ranking, planning)
        if planning.is_remote(ranking.matches):
            return None
        candidates = candidates_of(ranking, ranking.variables[0], planning)
        return Operator(rest_of(ranking, planning), ranked_top(ranking), (candidates,))


THRESHOLD = ThresholdStrategy()
