"""Asking the text index, and counting what that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridkg.interfaces.meter import HITS, MASKED, POSTINGS, PROBES, SCORED_POSTINGS, SCORINGS, TEXT_QUESTIONS
from hybridkg.interfaces.text_index import Ids, Scores, TextIndex, TextQuery, TextQuestion
from hybridkg.operators.text_query import checked_index, text_query
from hybridkg.query import ast

if TYPE_CHECKING:
    from hybridkg.operators.context import ExecutionContext


def every_match(index: TextIndex, query: TextQuery, context: ExecutionContext) -> tuple[Ids, Scores]:
    """The complete relation: (ids uint32[m] ascending, scores float64[m])."""
    found = context.answer(index, TextQuestion(query))
    context.meter.add(SCORINGS, 1)
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
    most = index.most(query) if index.scan_limit is None else 0  # one that is far away is not asked for a count alone
    context.meter.add(TEXT_QUESTIONS, 1)
    context.meter.add(POSTINGS, most)
    if among is None:
        found = context.answer(index, TextQuestion(query, k))
    else:
        context.meter.add(MASKED, len(among))
        found = index.topk(query, k, among)
    context.meter.add(HITS, len(found[0]))
    return found


def scores_among(index: TextIndex, query: TextQuery, ids: Ids, context: ExecutionContext) -> Scores:
    """float64[len(ids)]; NaN where the entity does not match."""
    context.meter.add(SCORINGS, 1)
    context.meter.add(PROBES, len(ids))
    return index.score(query, ids)
