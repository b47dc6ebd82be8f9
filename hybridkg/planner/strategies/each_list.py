"""Top k of a UNION of ranked relations, from the top k of each branch."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.algebra.nodes import Match, Plan, Project, Rank, Slice, Snippet, Union
from hybridkg.interfaces.fusion import MOMENTS
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.rank_functions import reads
from hybridkg.operators.topk.candidates import CandidateSetScan
from hybridkg.operators.topk.each_list import EachList as Operator
from hybridkg.operators.topk.rank_value import RankValue, rank_value
from hybridkg.operators.topk.top_k_rows import RankedTop
from hybridkg.planner.joins import joined, lowered
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED
from hybridkg.query import ast
from hybridkg.query.walk import variables


@dataclass(frozen=True)
class Branches:
    """Limited ranking of the rows of a UNION: `rank` under the projection `top`, k = LIMIT + OFFSET, one MATCH for each
    branch.
    """

    top: Project
    rank: Rank
    k: int
    matches: tuple[Match, ...]
    value: RankValue


def branches_of(plan: Plan) -> Branches | None:
    """Decomposed plan; None for any other plan, or if a row may have no rank score or two."""
    while isinstance(plan, Snippet):
        plan = plan.child
    match plan:
        case Slice(Project(Rank(Union(branches) as union, expression) as rank, _, False, _) as top, offset, int(limit)):
            matches = tuple(branch for branch in branches if isinstance(branch, Match))
            scores = {match.score for match in matches}
            one_entity = len({match.match.entity.name for match in matches}) == 1
            if not one_entity or not len(branches) == len(matches) == len(scores):
                return None
            read = variables(expression) & union.variables
            value = rank_value(expression, frozenset(scores)) if read == scores else None
            if value is None or not value.fuses or any(MOMENTS in reads(f) for f in value.functions):
                return None
            return Branches(top, rank, offset + limit, matches, value)
    return None


class EachListStrategy(Strategy):
    """Limited rankings of a UNION of MATCHes and NEARs of one variable, each with its own score."""

    preference = 60

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        branches = branches_of(logical)
        return branches is not None and not planning.is_remote(branches.matches)

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        """Cost of each list within its error, and of k rows."""
        branches = branches_of(logical)
        if branches is None:
            return UNPRICED
        cost, us = planning.cost, 0.0
        for match in branches.matches:
            if isinstance(match.match, ast.Near):
                us += cost.us_per_text_question + planning.read(match.match) * cost.us_per_posting
            else:
                us += cost.us_per_text_scoring + planning.match_count_bound(match.match) * cost.us_per_scored_posting
        us += branches.k * cost.us_per_row_of_terms
        return Cardinality(us, us, us)

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        branches = branches_of(logical)
        if branches is None or planning.is_remote(branches.matches):
            return None
        lists = tuple((match.match, match.score) for match in branches.matches)
        rank = branches.rank
        top = RankedTop((), branches.value, branches.k, rank.score, rank.tie_breakers, None, True, lists)
        rest = joined(branches.top, planning, branches.matches)
        candidates = CandidateSetScan(branches.matches[0].match.entity.name, ())
        return lowered(logical, {id(branches.top): Operator(rest, top, (candidates,))}, planning)


EACH_LIST = EachListStrategy()
