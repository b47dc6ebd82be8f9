"""Filtered top-k: the candidate set is a mask for the text index."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.topk.filtered_topk import FilteredTopK as Operator
from hybridkg.planner.candidate_plan import RankingStrategy, candidates_of, least_of, ranked_top, rest_of
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import RankingCosts
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.planner.small_rankings import is_small


class FilteredTopKStrategy(RankingStrategy):
    """Limited rankings by one MATCH without TOP."""

    preference = 20

    def takes(self, ranking: RankedPlan) -> bool:
        return ranking.by_one_match and ranking.scored[0].match.top is None

    def cost_of(self, costs: RankingCosts) -> Cardinality:
        return costs.filtered_topk

    def is_cheapest(self, others: frozenset[str], logical: Plan, planning: PlannerContext) -> bool:
        """Whether the candidates are few."""
        return is_small("filtered_topk", others, logical, planning)

    def top(self, ranking: RankedPlan, planning: PlannerContext) -> PhysicalOperator | None:
        candidates = candidates_of(ranking, ranking.variables[0], planning)
        return Operator(rest_of(ranking, planning), ranked_top(ranking), (candidates,), least_of(ranking, planning))


FILTERED_TOPK = FilteredTopKStrategy()
