"""Asking the text index, and counting what that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridkg.interfaces.meter import HITS, MASKED, POSTINGS, PROBES, SCORED_POSTINGS, SCORINGS, TEXT_QUESTIONS
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery, RankedRequest, is_remote_relation, postings_read
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.operators.text_query import checked_index, ranked_query
from hybridkg.query import ast

if TYPE_CHECKING:
    from hybridkg.operators.context import ExecutionContext


def every_match(index: RankedIndex, query: RankedQuery, context: ExecutionContext) -> tuple[Ids, Scores]:
    """The complete relation: (ids uint32[m] ascending, scores float64[m])."""
    found = context.answer(index, RankedRequest(query))
    context.meter.add(SCORINGS, 1)
    context.meter.add(SCORED_POSTINGS, len(found[0]))
    return found


def relation(match: ast.RankedItem, context: ExecutionContext) -> tuple[Ids, Scores]:
    """The relation of a MATCH, with TOP its best: (ids uint32[m] ascending, scores float64[m])."""
    index, query = checked_index(context.text, match), ranked_query(match)
    if match.top is None:
        return every_match(index, query, context)
    import numpy as np

    ids, scores = best_matches(index, query, match.top, context)
    ascending = np.argsort(ids, kind="stable")
    return ids[ascending], scores[ascending]


def best_matches(
    index: RankedIndex,
    query: RankedQuery,
    k: int,
    context: ExecutionContext,
    among: Ids | None = None,
    *,
    sized: bool = False,
) -> tuple[Ids, Scores]:
    """The best k, best first.

    Args:
        index: the text index.
        query: what is asked.
        k: how many.
        context: of the run.
        among: ascending and distinct: who takes part; None for everyone.
        sized: whether the planner has asked how many match; an index that is far away is not asked for that alone.
    """
    far, question = is_remote_relation(index, query), RankedRequest(query, k)
    read = postings_read(index, query, None if among is None else len(among)) if sized or not far else 0
    context.meter.add(TEXT_QUESTIONS, 1)
    context.meter.add(POSTINGS, int(read))
    if among is None:
        found = context.answer(index, question)
    else:
        context.meter.add(MASKED, len(among))
        context.note_exactness(index, question, len(among))
        found = index.topk(query, k, among)
    context.meter.add(HITS, len(found[0]))
    return found


def scores_among(index: RankedIndex, query: RankedQuery, ids: Ids, context: ExecutionContext) -> Scores:
    """float64[len(ids)]; NaN where the entity does not match."""
    scores = index.score(query, ids)
    context.meter.add(SCORINGS, 1)
    context.meter.add(PROBES, len(ids))
    if is_remote_relation(index, query):
        # A candidate goes there as a number, one that matches comes back as a row.
        import numpy as np

        context.meter.add(SCORED_POSTINGS, int(np.count_nonzero(~np.isnan(scores))))
    return scores
