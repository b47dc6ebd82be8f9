"""A ranking of one MATCH with nothing else in the pattern: the index's own top k."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

from hybridkg.algebra.nodes import Match, Plan, Project, Rank, Slice, Snippet
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.text_relation import TextRelation
from hybridkg.planner.lower import lower
from hybridkg.planner.of_ranking import OfRanking
from hybridkg.planner.planning import Planning
from hybridkg.query import ast


class TextTopK:
    """Slice(Project(Rank(Match))) asks the index for offset + limit rows instead of all.

    Exact: the index breaks ties by the rank of the node, which is the term order of the subject, and a
    relation has one row for each subject.
    """

    exact = True
    cost = OfRanking(attrgetter("text_topk"))

    @staticmethod
    def plan(logical: Plan, planning: Planning) -> PhysicalOperator | None:
        """Operators, or None where anything else takes part in the query."""
        match logical:
            case Snippet(child, match) if (below := TextTopK.plan(child, planning)) is not None:
                snippet = lower(logical)
                return replace(snippet, child=below)  # type: ignore[type-var]
            case Slice(
                Project(Rank(Match(match, score, False), ast.Var(name)), _, False, _) as project,
                offset,
                int(limit),
            ) if name == score and match.top is None:
                rank = project.child
                assert isinstance(rank, Rank)
                k = offset + limit
                top = TextRelation(match, score, k)
                return lower(logical, {id(rank.child): top})
        return None
