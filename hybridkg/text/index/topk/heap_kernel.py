"""The heap of the k best entities, worst at the root. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

from typing import Any

from numba import njit, uint64

from hybridkg.text.index.codec.cursor_kernel import HELPER, INLINE


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def worse(score: Any, rank: Any, other: Any, other_rank: Any) -> Any:
    # Without a branch, which the processor could not predict.
    return (score < other) | ((score == other) & (rank > other_rank))


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def sink(ids: Any, ranks: Any, scores: Any, n: Any) -> None:
    """Sifts down the root of a heap of n."""
    entity, rank, score, end, i, child = ids[0], ranks[0], scores[0], uint64(n), uint64(0), uint64(1)
    while child < end:
        if child + uint64(1) < end:
            child += uint64(worse(scores[child + uint64(1)], ranks[child + uint64(1)], scores[child], ranks[child]))
        if not worse(scores[child], ranks[child], score, rank):
            break
        ids[i], ranks[i], scores[i] = ids[child], ranks[child], scores[child]
        i, child = child, uint64(2) * child + uint64(1)
    ids[i], ranks[i], scores[i] = entity, rank, score


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def offer(entity: Any, rank: Any, score: Any, ids: Any, ranks: Any, scores: Any, n: Any) -> Any:
    """Inserts an entity that is among the k best so far; returns the heap's size."""
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


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def order_best(ids: Any, ranks: Any, scores: Any) -> None:
    """Sorts a heap, best first."""
    n = len(ids)
    for last in range(n - 1, 0, -1):
        ids[0], ids[last] = ids[last], ids[0]
        ranks[0], ranks[last] = ranks[last], ranks[0]
        scores[0], scores[last] = scores[last], scores[0]
        sink(ids, ranks, scores, last)
