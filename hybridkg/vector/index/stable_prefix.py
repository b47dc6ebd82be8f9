"""Stable top-k of approximate searches: a smaller k gives a prefix of the list of a greater one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from hybridkg.interfaces.text_index import Ids, Scores

RankedList = tuple[Ids, Scores]
"""(ids, scores), best first."""


def stable_top_k(
    k: int,
    searches: Iterable[tuple[int, int]],
    approximate: Callable[[int], RankedList],
    exact: Callable[[int], RankedList],
    rank: Callable[[Ids], Ids],
) -> RankedList:
    """Top-k by ever deeper searches, each of which only appends results after the last one of the previous search.

    No list is shorter than an exact one: where the searches find too few, the exact search completes it.

    Args:
        k: number of results.
        searches: (depth, breadth) of each search that may be made.
        approximate: breadth -> results with exact scores.
        exact: n -> the exact top-n.
        rank: order of the nodes, for ties: ids -> ranks.
    """
    ids, scores = np.empty(0, np.uint32), np.empty(0)
    for depth, breadth in searches:
        more = _after(ids, scores, *approximate(breadth), rank)
        if len(ids) + len(more[0]) < depth:
            break
        ids, scores = np.concatenate([ids, more[0]])[:depth], np.concatenate([scores, more[1]])[:depth]
        if k <= depth:
            return ids[:k], scores[:k]
    n = k
    while True:
        best = exact(n)
        more = _after(ids, scores, *best, rank)
        if len(ids) + len(more[0]) >= k or len(best[0]) < n:
            break
        n *= 2
    return np.concatenate([ids, more[0]])[:k], np.concatenate([scores, more[1]])[:k]


def _after(ids: Ids, scores: Scores, more: Ids, more_scores: Scores, rank: Callable[[Ids], Ids]) -> RankedList:
    """Results of an ordered list that are ordered after the last one of another list."""
    if not len(ids):
        return more, more_scores
    later = (more_scores < scores[-1]) | ((more_scores == scores[-1]) & (rank(more) > rank(ids[-1:])[0]))
    return more[later], more_scores[later]
