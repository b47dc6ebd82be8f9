"""Plain top-k: a ranking of one MATCH with no other pattern, answered by the index alone."""

from __future__ import annotations

from dataclasses import replace

from hybridkg.algebra.nodes import Match, Plan, Project, Rank, Slice, Snippet
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.text_relation import TextRelation
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED, costs_of_plan
from hybridkg.query import ast


class TextTopKStrategy(Strategy):
    """Top offset + limit of the index in place of the complete relation, for Slice(Project(Rank(Match))).

    Exact: the index breaks ties by the rank of the node, which is the term order of the subject, and a relation has one
    row for each subject.
    """

    preference = 10
    dominates = True

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        return self.plan(logical, planning) is not None

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        costs = costs_of_plan(logical, planning)
        if costs is None:
            return UNPRICED
        postings = costs.lists.postings
        us = planning.cost.us_per_text_question + sum(postings) * planning.cost.us_per_posting
        return Cardinality(us, us, us)

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        match logical:
            case Snippet(child, match) if (below := self.plan(child, planning)) is not None:
                snippet = lower(logical)
                return replace(snippet, child=below)  # type: ignore[type-var]
            case Slice(
                Project(Rank(Match(match, score, False), ast.Var(name)), _, False, _) as project, offset, int(limit)
            ) if name == score and match.top is None:
                rank = project.child
                assert isinstance(rank, Rank)
                k = offset + limit
                top = TextRelation(match, score, k)
                return lower(logical, {id(rank.child): top})
        return None


TEXT_TOPK = TextTopKStrategy()
