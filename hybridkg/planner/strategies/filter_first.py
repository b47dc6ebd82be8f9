"""Filter first: the candidate set of the graph is scored, and only its best entities get rows."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.topk.filter_first import FilterFirst as Operator
from hybridkg.planner.candidate_plan import RankingStrategy, candidates_of, least_of, ranked_top, rest_of
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import RankingCosts
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.planner.small_rankings import is_small


class FilterFirstStrategy(RankingStrategy):
    """Rankings whose scores are all of one variable, with or without a limit."""

    preference = 30

    def takes(self, ranking: RankedPlan) -> bool:
        return ranking.of_one_variable

    def cost_of(self, costs: RankingCosts) -> Cardinality:
        return costs.filter_first

    def is_cheapest(self, others: frozenset[str], logical: Plan, planning: PlannerContext) -> bool:
        """Whether the candidates are few."""
        return is_small("filter_first", others, logical, planning)

    def top(self, ranking: RankedPlan, planning: PlannerContext) -> PhysicalOperator | None:
        candidates = candidates_of(ranking, ranking.variables[0], planning)
        return Operator(rest_of(ranking, planning), ranked_top(ranking), (candidates,), least_of(ranking, planning))


FILTER_FIRST = FilterFirstStrategy()
