"""Ranking strategies: their common base, and the parts of their physical plans."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from hybridkg.algebra.certain import certain
from hybridkg.algebra.nodes import Extend, Filter, Join, LeftJoin, Match, MatchEach, Minus, OrderBy, Plan, Project, Rank
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.topk.candidates import CandidateSetScan
from hybridkg.operators.topk.rank_value import least_score
from hybridkg.operators.topk.top_k_rows import RankedTop
from hybridkg.planner.joins import joined, lowered
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED, RankingCosts, costs_of_plan
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.planner.redundant_fragments import redundant_fragments
from hybridkg.query import ast


class RankingStrategy(Strategy):
    """Base of the strategies that differ in one operator: the one that selects the entities of the first rows."""

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        ranking = planning.ranking(logical)
        return ranking is not None and self.takes(ranking)

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        costs = costs_of_plan(logical, planning)
        return UNPRICED if costs is None else self.cost_of(costs)

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        """Physical plan: `top` in place of the part of the plan that LIMIT and OFFSET cut."""
        ranking = planning.ranking(logical)
        if ranking is None or not self.takes(ranking):
            return None
        top = self.top(ranking, planning)
        return None if top is None else lowered(logical, {id(ranking.top): top}, planning)

    @abstractmethod
    def takes(self, ranking: RankedPlan) -> bool:
        """Whether the strategy can run this ranking, for all parameter values."""

    @abstractmethod
    def cost_of(self, costs: RankingCosts) -> Cardinality:
        """Cost of the strategy from the shared terms."""

    @abstractmethod
    def top(self, ranking: RankedPlan, planning: PlannerContext) -> PhysicalOperator | None:
        """Operator that selects the entities of the first rows."""


def ranked_top(ranking: RankedPlan) -> RankedTop:
    """Specification of the first rows for a top-k operator."""
    assert isinstance(ranking.top, Project)
    column = ranking.order.score if isinstance(ranking.order, Rank) else ranking.order.keys[0][0]
    return RankedTop(
        matches=tuple((match.match, match.score) for match in ranking.scored),
        value=ranking.value,
        k=ranking.k,
        column=column,
        ties=ranking.order.tie_breakers or (),
        width=len(ranking.top.columns) if ranking.top.distinct else None,
        exact=ranking.filters_are_in_fragments,
        optional=tuple((match.match, match.score) for match in ranking.optional),
    )


def least_of(ranking: RankedPlan, planning: PlannerContext) -> tuple[tuple[str, float], ...]:
    """The score below which no entity passes the FILTERs, by score variable."""

    def number(expression: ast.Expression) -> float:
        return planning.number(lambda sizes: least_score(sizes.bound(expression)))

    return tuple((score, number(expression)) for score, expression in ranking.least_scores)


def candidates_of(ranking: RankedPlan, variable: str, planning: PlannerContext) -> CandidateSetScan:
    """Scan that finds the candidate set of a ranked variable."""
    fragments = ranking.fragments_with(variable)
    names = {variable}.union(*(certain(fragment.group) for fragment in fragments))
    filters = tuple(match.match for match in ranking.filters if match.match.entity.name in names)
    return CandidateSetScan(variable, tuple(map(planning.fragment, fragments)), filters)


def rest_of(ranking: RankedPlan, planning: PlannerContext) -> PhysicalOperator:
    """Operators below the top-k operator, over the prefixes of the scored relations that it selects."""
    inner = ranking.spine.fragments if len(ranking.variables) > 1 else ()
    return joined(
        _slices_first(ranking.top, ranking.scored),
        planning,
        (*ranking.scored, *ranking.optional),
        inner,
        redundant_fragments(ranking, planning),
    )


def _slices_first(plan: Plan, sliced: tuple[Match, ...]) -> Plan:
    """Join(Join(fragment, other MATCH), sliced MATCH) -> Join(Join(sliced MATCH, fragment), other MATCH).

    Joins commute and associate (SPARQL 1.1 section 18.3). Starting from the few entities of a slice, every part is
    restricted to the remaining rows; in the order of the text, the parts before the sliced one would be read
    completely.
    """
    match plan:
        case Join():
            waiting = sorted(_operands(plan), key=lambda part: not any(part is match for match in sliced))
            order = [waiting.pop(0)]
            while waiting:
                bound = frozenset().union(*(part.variables for part in order))
                at = next((i for i, part in enumerate(waiting) if part.variables & bound), 0)
                order.append(waiting.pop(at))
            together, *rest = [_slices_first(part, sliced) for part in order]
            for part in rest:
                together = Join(together, part)
            return together
        case LeftJoin(left, _) | Minus(left, _):
            return replace(plan, left=_slices_first(left, sliced))
        case Project() | Rank() | OrderBy() | Filter() | Extend() | MatchEach():
            return replace(plan, child=_slices_first(plan.child, sliced))
    return plan


def _operands(plan: Plan) -> list[Plan]:
    return [*_operands(plan.left), *_operands(plan.right)] if isinstance(plan, Join) else [plan]
