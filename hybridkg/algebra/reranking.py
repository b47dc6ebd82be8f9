"""RERANK in the logical plan: above the projection, so it counts rows of the answer, and below OFFSET and LIMIT."""

from __future__ import annotations

from dataclasses import replace

from hybridkg.algebra import nodes
from hybridkg.algebra.names import FreshNames
from hybridkg.algebra.visible import first_subject, visible_matches
from hybridkg.errors import QueryCheckError, UnsupportedQueryError
from hybridkg.query import ast
from hybridkg.query.checks.check_ranking import reranker_values


def reranked(plan: nodes.Project, modifiers: ast.Modifiers, names: FreshNames) -> nodes.Rerank:
    """The Rerank over a ranking.

    Args:
        plan: the rows in their earlier order, with every other bound variable as a hidden column.
        modifiers: those of the query, with a RERANK.
        names: generator for an unnamed score.

    Raises:
        QueryCheckError: an argument of the reranker is wrong, or the query has no entity to score.
        UnsupportedQueryError: a row stands for several entities.
    """
    clause, rank = modifiers.rerank, modifiers.rank_by
    assert clause is not None
    reranker_values(clause.reranker)  # parameters are bound by now
    subject = (clause.on.name,) if clause.on is not None else first_subject(plan)
    if not subject:
        raise QueryCheckError(
            "RERANK has no variable to score: the query has no MATCH and no NEAR",
            hint="name it: RERANK TOP n USING ... ON ?x",
            span=clause.span,
        )
    (entity,) = subject
    if plan.distinct and entity not in plan.columns:
        raise UnsupportedQueryError(
            f"DISTINCT makes one row of several ?{entity}, so RERANK cannot tell which to score",
            hint=f"add ?{entity} to the columns",
            span=clause.span,
        )
    matches = tuple(match for match in visible_matches(plan) if match.match.entity.name == entity)
    labels = {m.score: m.score if m.match.score else m.match.entity.name for m in visible_matches(plan)}
    ordering = plan.child
    is_labelled = isinstance(ordering, nodes.Rank) and getattr(ordering.expression, "name", "") in labels
    if isinstance(ordering, nodes.Rank) and ordering.score not in labels and not is_labelled:
        labels[ordering.score] = rank.score.name if rank is not None and rank.score is not None else "rank"
    score = clause.score.name if clause.score is not None else names.name("rerank")
    rerank = nodes.Rerank(plan, clause, entity, score, tuple(labels.items()), tuple(m.match for m in matches))
    return rerank if modifiers.limit is None else cut(rerank, (modifiers.offset or 0) + modifiers.limit)


def cut(plan: nodes.Rerank, k: int) -> nodes.Rerank:
    """The Rerank when only the first k rows are read: rows that are neither among these nor scored are not computed."""
    rows = max(plan.clause.top, k)
    if isinstance(plan.child, nodes.Slice):
        limit = plan.child.limit
        return replace(plan, child=replace(plan.child, limit=rows if limit is None else min(limit, rows)))
    return replace(plan, child=nodes.Slice(plan.child, 0, rows))


def below_rerank(plan: nodes.Plan) -> nodes.Plan | None:
    """The ranking below the outermost RERANK of a plan; None without a RERANK."""
    while isinstance(plan, nodes.Slice | nodes.Snippet | nodes.Construct | nodes.Describe):
        plan = plan.child
    return plan.child if isinstance(plan, nodes.Rerank) else None
