"""Metered access to the text index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridkg.interfaces.meter import HITS, MASKED, POSTINGS, PROBES, SCORED_POSTINGS, SCORINGS, TEXT_QUESTIONS
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery, RankedRequest, is_remote_relation, postings_read
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.query import ast

if TYPE_CHECKING:
    from hybridkg.operators.context import ExecutionContext


def every_match(index: RankedIndex, query: RankedQuery, context: ExecutionContext) -> tuple[Ids, Scores]:
    """Complete relation: (ids uint32[m] ascending, scores float64[m])."""
    answer = context.answer(index, RankedRequest(query))
    counts = context.meter.counts
    counts[SCORINGS] += 1
    counts[SCORED_POSTINGS] += len(answer[0])
    return answer


def every_entity(index: RankedIndex, query: RankedQuery, context: ExecutionContext) -> Ids:
    """Entities of the complete relation, uint32[m], ascending; their scores are not computed."""
    if isinstance(query, VectorQuery) or index.text_is_remote:
        return every_match(index, query, context)[0]
    ids = context.matches(index, RankedRequest(query))
    context.meter.add(POSTINGS, index.match_count_bound(query))
    return ids


def relation(match: ast.RankedItem, context: ExecutionContext) -> tuple[Ids, Scores]:
    """Relation of a MATCH, with TOP its best: (ids uint32[m] ascending, scores float64[m])."""
    index, query = context.checked(match)
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
    """Top k of all entities or of a candidate set (ascending and distinct), best first.

    `sized`: the planner has requested the match count; a remote index is not queried for that alone.
    """
    remote, question = is_remote_relation(index, query), RankedRequest(query, k)
    read = postings_read(index, query, None if among is None else len(among)) if sized or not remote else 0
    counts = context.meter.counts
    counts[TEXT_QUESTIONS] += 1
    counts[POSTINGS] += int(read)
    if among is None:
        answer = context.answer(index, question)
    else:
        counts[MASKED] += len(among)
        context.note_exactness(index, question, len(among))
        answer = index.topk(query, k, among)
    counts[HITS] += len(answer[0])
    return answer


def scores_among(index: RankedIndex, query: RankedQuery, ids: Ids, context: ExecutionContext) -> Scores:
    """float64[len(ids)]; NaN for entities that do not match."""
    scores = index.score(query, ids)
    context.meter.add(SCORINGS, 1)
    context.meter.add(PROBES, len(ids))
    if is_remote_relation(index, query):
        # A candidate is sent as a number; one that matches is returned as a row.
        import numpy as np

        context.meter.add(SCORED_POSTINGS, int(np.count_nonzero(~np.isnan(scores))))
    return scores
