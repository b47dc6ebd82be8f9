"""Asking the text index, and counting what that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridkg.interfaces.meter import MASKED, POSTINGS, PROBES, SCORED_POSTINGS, TEXT_QUESTIONS
from hybridkg.interfaces.text_index import Ids, Scores, TextIndex, TextQuery, TextQuestion
from hybridkg.operators.text_query import checked_index, text_query
from hybridkg.query import ast

if TYPE_CHECKING:
    from hybridkg.operators.context import ExecutionContext

RANGE = 8
"""Neighbouring entities that an index passes over together where none of them is a candidate."""


def every_match(index: TextIndex, query: TextQuery, context: ExecutionContext) -> tuple[Ids, Scores]:
    """The complete relation: (ids uint32[m] ascending, scores float64[m])."""
    found = context.answer(index, TextQuestion(query))
    context.meter.add(TEXT_QUESTIONS, 1)
    context.meter.add(SCORED_POSTINGS, len(found[0]))
    return found


def relation(match: ast.Match, context: ExecutionContext) -> tuple[Ids, Scores]:
    """The relation of a MATCH, with TOP its best: (ids uint32[m] ascending, scores float64[m])."""
    index, query = checked_index(context.text, match), text_query(match)
    if match.top is None:
        return every_match(index, query, context)
    import numpy as np

    ids, scores = best_matches(index, query, match.top, context)
    ascending = np.argsort(ids, kind="stable")
    return ids[ascending], scores[ascending]


def best_matches(
    index: TextIndex, query: TextQuery, k: int, context: ExecutionContext, among: Ids | None = None
) -> tuple[Ids, Scores]:
    """The best k, best first; of `among` (ascending, distinct) where they are given."""
    most = index.most(query)
    context.meter.add(TEXT_QUESTIONS, 1)
    if among is None:
        context.meter.add(POSTINGS, most)
        return context.answer(index, TextQuestion(query, k))
    share = RANGE * len(among) / max(1, index.counts.get("entities", 1))
    context.meter.add(POSTINGS, int(most * min(1.0, share)))
    context.meter.add(MASKED, len(among))
    return index.topk(query, k, among)


def scores_among(index: TextIndex, query: TextQuery, ids: Ids, context: ExecutionContext) -> Scores:
    """float64[len(ids)]; NaN where the entity does not match."""
    context.meter.add(TEXT_QUESTIONS, 1)
    context.meter.add(PROBES, len(ids))
    return index.score(query, ids)
