"""Rank join: ranked relations on different variables, joined by the graph and read best first."""

from __future__ import annotations

from math import inf, sqrt

from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.topk.rank_first import DEEPER, MIN_DEPTH
from hybridkg.operators.topk.rank_join import FIRST_DEPTH
from hybridkg.operators.topk.rank_join import RankJoin as Operator
from hybridkg.planner.candidate_plan import RankingStrategy, candidates_of, ranked_top, rest_of
from hybridkg.planner.cardinality import CORRELATIONS
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import RankingCosts, costs_of, mean
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.planner.strategies.bind_join import bind_join_cost


class RankJoinStrategy(RankingStrategy):
    """Limited rankings by a rising expression over one MATCH for each of several variables."""

    preference = 70

    def takes(self, ranking: RankedPlan) -> bool:
        return ranking.ends_early and len(ranking.scored) == len(ranking.variables) > 1

    def cost_of(self, costs: RankingCosts) -> Cardinality:
        """Cost of reading the lists, deeper than k, and joining their entities."""
        graphs = [costs.graphs[variable] for variable in costs.ranking.variables]
        cost, k, n, lists = costs.cost, costs.k or 1.0, costs.n, costs.lists.scored
        sizes = [costs.graphs[name].size.estimate * costs.rows_each(name) for name in costs.ranking.variables]
        linked = max(1.0, min(sizes))
        instead = bind_join_cost(costs).estimate if costs.switching else inf
        fragments = len(costs.ranking.spine.fragments)
        whole, each = costs.once_us(fragments), costs.row_us(fragments)
        each_us = [costs.each_us(variable) for variable in costs.ranking.variables]
        # The store tests each list on its own, the projection both together.
        together = sum if costs.in_store else min
        rows_each = costs.rows_each(costs.ranking.variables[0]) if costs.in_store else 0.0
        questions_us, longest = (sum if costs.in_store else max)([graph.question_us for graph in graphs]), max(lists)
        cases = []
        for factor in CORRELATIONS:
            # At this depth of both lists there are k pairs; proving that none is better takes another round.
            wanted = min(DEEPER * n * sqrt(k / (linked * factor)), longest)
            depth, us = max(MIN_DEPTH, FIRST_DEPTH * k), 0.0
            while True:
                read = [min(depth, most) for most in lists]
                us += cost.us_per_look + questions_us
                us += together([ids * us_each for ids, us_each in zip(read, each_us, strict=True)])
                us += costs.lists_us(depth, lists)
                pairs = linked * factor
                for ids in read:
                    pairs *= ids / n
                us += whole + max(pairs, read[0] * rows_each) * each
                if depth >= wanted:
                    break
                if us > instead:
                    us += instead
                    break
                depth *= DEEPER
            cases.append(us)
        return mean(cases)

    def top(self, ranking: RankedPlan, planning: PlannerContext) -> PhysicalOperator | None:
        candidates = tuple(candidates_of(ranking, variable, planning) for variable in ranking.variables)
        budget = inf
        if planning.switching:
            budget = planning.number(lambda sizes: bind_join_cost(costs_of(ranking, sizes)).estimate)
        return Operator(rest_of(ranking, planning), ranked_top(ranking), candidates, budget)


RANK_JOIN = RankJoinStrategy()
