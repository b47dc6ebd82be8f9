"""What numba makes of each whole-graph question: loops over sorted neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_OPTIONS = {"nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def counted_pairs(offsets: Any, targets: Any, column: Any, first: int, width: int) -> Any:
    """int64[keys, width]: the targets of each key by the value of a column, values from `first` on."""
    counts = np.zeros((len(offsets) - 1, width), np.int64)
    for key in range(len(offsets) - 1):
        for at in range(offsets[key], offsets[key + 1]):
            counts[key, column[targets[at]] - first] += 1
    return counts


@njit(**_OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def same_value(keys: Any, offsets: Any, targets: Any, column: Any) -> int:
    """Edges whose ends have the same value of a column."""
    found = 0
    for key in range(len(keys)):
        own = column[keys[key]]
        for at in range(offsets[key], offsets[key + 1]):
            if column[targets[at]] == own:
                found += 1
    return found


@njit(**_OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def directed_triangles(keys: Any, offsets: Any, targets: Any, nodes: int) -> int:
    """Edges p q, q r and p r, by marking the targets of each p."""
    place = np.full(nodes, -1, np.int64)
    for key in range(len(keys)):
        place[keys[key]] = key
    marked = np.full(nodes, -1, np.int64)
    found = 0
    for key in range(len(keys)):
        for at in range(offsets[key], offsets[key + 1]):
            marked[targets[at]] = key
        for at in range(offsets[key], offsets[key + 1]):
            middle = place[targets[at]]
            if middle >= 0:
                for last in range(offsets[middle], offsets[middle + 1]):
                    if marked[targets[last]] == key:
                        found += 1
    return found


@njit(**_OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def shared(offsets: Any, targets: Any, back_offsets: Any, back_targets: Any) -> Any:
    """For each author those with a larger id and a common paper, ascending not required: (offsets, others, how many).

    `targets` are authors numbered from 0, `back_targets` places of papers in `offsets`.
    """
    authors = len(back_offsets) - 1
    weight = np.zeros(authors, np.int64)
    touched = np.empty(authors, np.int64)
    starts = np.zeros(authors + 1, np.int64)
    room = 0
    for paper in range(len(offsets) - 1):
        size = offsets[paper + 1] - offsets[paper]
        room += size * (size - 1) // 2
    others, counts = np.empty(room, np.int64), np.empty(room, np.int64)
    end = 0
    for author in range(authors):
        n = 0
        for at in range(back_offsets[author], back_offsets[author + 1]):
            paper = back_targets[at]
            for to in range(offsets[paper], offsets[paper + 1]):
                other = targets[to]
                if other > author:
                    if weight[other] == 0:
                        touched[n] = other
                        n += 1
                    weight[other] += 1
        for at in range(n):
            others[end], counts[end] = touched[at], weight[touched[at]]
            weight[touched[at]] = 0
            end += 1
        starts[author + 1] = end
    return starts, others[:end], counts[:end]


@njit(**_OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def weighted_triangles(starts: Any, others: Any, counts: Any) -> int:
    """Over all a < b < c: the product of the weights of a b, b c and a c."""
    nodes = len(starts) - 1
    weight = np.zeros(nodes, np.int64)
    found = 0
    for a in range(nodes):
        for at in range(starts[a], starts[a + 1]):
            weight[others[at]] = counts[at]
        for at in range(starts[a], starts[a + 1]):
            b = others[at]
            for last in range(starts[b], starts[b + 1]):
                if weight[others[last]]:
                    found += counts[at] * counts[last] * weight[others[last]]
        for at in range(starts[a], starts[a + 1]):
            weight[others[at]] = 0
    return found


@njit(**_OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def summed_two_hops(
    ids: Any, scores: Any, place: Any, offsets: Any, targets: Any, column: Any, first: int, width: int
) -> Any:
    """float64[width]: scores by the column of the targets of each id; -1.0 where nothing was added."""
    sums = np.full(width, -1.0)
    for at in range(len(ids)):
        key = place[ids[at]]
        if key >= 0:
            for to in range(offsets[key], offsets[key + 1]):
                group = column[targets[to]] - first
                sums[group] = (0.0 if sums[group] < 0 else sums[group]) + scores[at]
    return sums


@njit(**_OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def greatest(ids: Any, scores: Any, column: Any, first: int, width: int) -> Any:
    """float64[width]: the greatest score by the column of each id; -1.0 where there is none."""
    best = np.full(width, -1.0)
    for at in range(len(ids)):
        group = column[ids[at]] - first
        best[group] = max(best[group], scores[at])
    return best


@njit(**_OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def marked_targets(ids: Any, place: Any, offsets: Any, targets: Any, first: int, width: int) -> Any:
    """bool[width]: the targets of the ids."""
    found = np.zeros(width, np.bool_)
    for at in range(len(ids)):
        key = place[ids[at]]
        if key >= 0:
            for to in range(offsets[key], offsets[key + 1]):
                found[targets[to] - first] = True
    return found


@njit(**_OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def gathered(text: Any, offsets: Any, ids: Any) -> Any:
    """uint8: the strings of the ids, each with a line feed after it."""
    size = len(ids)
    for at in range(len(ids)):
        size += offsets[ids[at] + 1] - offsets[ids[at]]
    found = np.empty(size, np.uint8)
    end = 0
    for at in range(len(ids)):
        for place in range(offsets[ids[at]], offsets[ids[at] + 1]):
            found[end] = text[place]
            end += 1
        found[end] = 10
        end += 1
    return found
