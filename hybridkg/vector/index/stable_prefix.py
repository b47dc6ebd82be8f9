"""Lists of the best from searches that overlook some: they begin alike however deep they are, and none is too short."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from hybridkg.interfaces.text_index import Ids, Scores

Listed = tuple[Ids, Scores]
"""(ids, scores), best first."""


def deepened(
    k: int,
    looks: Iterable[tuple[int, int]],
    found: Callable[[int], Listed],
    exactly: Callable[[int], Listed],
    rank: Callable[[Ids], Ids],
) -> Listed:
    """The best k.

    The list for a smaller k is the beginning of that for a greater one: a later look only adds what comes behind the
    last one found before. And no list is shorter than an exact one: where the looks find too few, the exact search
    goes on.

    Args:
        k: how many.
        looks: (best that it is for, breadth) of each search that may be made, ever deeper.
        found: what a search of some breadth finds, with true scores.
        exactly: the true best so many.
        rank: order of the nodes, for ties: ids -> ranks.
    """
    ids, scores = np.empty(0, np.uint32), np.empty(0)
    for depth, breadth in looks:
        more = _behind(ids, scores, *found(breadth), rank)
        if len(ids) + len(more[0]) < depth:
            break
        ids, scores = np.concatenate([ids, more[0]])[:depth], np.concatenate([scores, more[1]])[:depth]
        if k <= depth:
            return ids[:k], scores[:k]
    asking = k
    while True:
        exact = exactly(asking)
        more = _behind(ids, scores, *exact, rank)
        if len(ids) + len(more[0]) >= k or len(exact[0]) < asking:
            break
        asking *= 2
    return np.concatenate([ids, more[0]])[:k], np.concatenate([scores, more[1]])[:k]


def _behind(ids: Ids, scores: Scores, more: Ids, more_scores: Scores, rank: Callable[[Ids], Ids]) -> Listed:
    """Those of an ordered list that come behind the last of another."""
    if not len(ids):
        return more, more_scores
    behind = (more_scores < scores[-1]) | ((more_scores == scores[-1]) & (rank(more) > rank(ids[-1:])[0]))
    return more[behind], more_scores[behind]
