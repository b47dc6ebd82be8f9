"""The compiled heap of the best entities. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

from typing import Any

from numba import njit

from hybridkg.text.lists_kernel import OPTIONS


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def worse(score: Any, rank: Any, other: Any, other_rank: Any) -> Any:
    return score < other or (score == other and rank > other_rank)


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def sink(ids: Any, ranks: Any, scores: Any, n: Any) -> None:
    """Moves the root of a heap of n, the worst of all, to its place."""
    i = 0
    while True:
        worst = i
        for child in (2 * i + 1, 2 * i + 2):
            if child < n and worse(scores[child], ranks[child], scores[worst], ranks[worst]):
                worst = child
        if worst == i:
            return
        ids[i], ids[worst] = ids[worst], ids[i]
        ranks[i], ranks[worst] = ranks[worst], ranks[i]
        scores[i], scores[worst] = scores[worst], scores[i]
        i = worst


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def offer(entity: Any, rank: Any, score: Any, ids: Any, ranks: Any, scores: Any, n: Any) -> Any:
    """Puts an entity into the heap of the best, if it is one of them; returns the heap's size."""
    if n < len(ids):
        i = n
        while i > 0 and worse(score, rank, scores[(i - 1) >> 1], ranks[(i - 1) >> 1]):
            parent = (i - 1) >> 1
            ids[i], ranks[i], scores[i] = ids[parent], ranks[parent], scores[parent]
            i = parent
        ids[i], ranks[i], scores[i] = entity, rank, score
        return n + 1
    if worse(scores[0], ranks[0], score, rank):
        ids[0], ranks[0], scores[0] = entity, rank, score
        sink(ids, ranks, scores, n)
    return n


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def order_best(ids: Any, ranks: Any, scores: Any) -> None:
    """Puts a heap of the best in order, best first."""
    n = len(ids)
    for last in range(n - 1, 0, -1):
        ids[0], ids[last] = ids[last], ids[0]
        ranks[0], ranks[last] = ranks[last], ranks[0]
        scores[0], scores[last] = scores[last], scores[0]
        sink(ids, ranks, scores, last)
