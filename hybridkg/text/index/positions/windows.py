"""Unordered windows: the number of disjoint windows of `width` places that contain all words of a group.

A word that is requested twice must occur twice. For two words the count is that of Galago's unordered window. It does
not depend on the order of the words; for a phrase of one occurrence it is 1. Choosing the window that ends first
maximises the number (interval scheduling).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.ranking_model import Postings
from hybridkg.text.id_sets import NO_POSTINGS

T = TypeVar("T")


def windows(events: Sequence[tuple[int, T]], words: Counter[T], width: int) -> Iterator[tuple[int, ...]]:
    """The places of the words in each window, ascending.

    Args:
        events: (place, word) of a text, by place; other words are ignored.
        words: the required words with their multiplicity.
        width: places of a window, at least 1.

    >>> text = list(enumerate("new york has a new mayor of york".split()))
    >>> list(windows(text, Counter(["york", "new"]), 5))
    [(0, 1), (4, 7)]
    """
    window: deque[tuple[int, T]] = deque()
    counts: Counter[T] = Counter()
    for place, word in events:
        if word not in words:
            continue
        window.append((place, word))
        counts[word] += 1
        while window[0][0] <= place - width:
            counts[window.popleft()[1]] -= 1
        if all(counts[each] >= count for each, count in words.items()):
            # The last occurrences in the window make the narrowest one.
            missing, places = Counter(words), []
            for at, each in reversed(window):
                if missing[each] > 0:
                    missing[each] -= 1
                    places.append(at)
            yield tuple(reversed(places))
            window.clear()
            counts.clear()


def window_postings(lists: Sequence[NDArray[np.uint64]], counts: Sequence[int], width: int) -> Postings:
    """The entities with all words in a window, tf the number of `windows`.

    Args:
        lists: the places of each distinct word, entity << 32 | position, uint64[n] ascending; none is empty.
        counts: multiplicity of each.
        width: places of a window, at least 1.
    """
    places = np.concatenate(lists)
    labels = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
    order = np.argsort(places, kind="stable")
    places, labels = places[order], labels[order]
    if sum(counts) == 2:
        entities, tf = _pairs(places, labels, width)
    else:
        entities, tf = _groups(places, labels, counts, width)
    return Postings(entities, tf) if len(entities) else NO_POSTINGS


def _pairs(places: NDArray[np.uint64], labels: NDArray[Any], width: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two words: a window is two neighbours among the places; of n consecutive ones, half are disjoint."""
    entities = places >> np.uint64(32)
    near = (entities[1:] == entities[:-1]) & (places[1:] - places[:-1] < np.uint64(width))
    if labels.any():
        near &= labels[1:] != labels[:-1]
    edges = np.flatnonzero(near)
    if not len(edges):
        return np.zeros(0, np.uint32), np.zeros(0, np.uint32)
    begins = np.flatnonzero(np.concatenate(([True], np.diff(edges) != 1)))
    lengths = np.diff(begins, append=len(edges))
    owners = entities[edges[begins]].astype(np.uint32)
    first = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1])))
    return owners[first], np.add.reduceat((lengths + 1) // 2, first).astype(np.uint32)


def _groups(
    places: NDArray[np.uint64], labels: NDArray[Any], counts: Sequence[int], width: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The counts of `windows` for every entity, by the narrowest window that ends at each place."""
    starts, narrow = places.copy(), np.ones(len(places), bool)
    for label, needed in enumerate(counts):
        own = labels == label
        first = np.cumsum(own) - needed
        narrow &= first >= 0
        # Where first is below 0, the word has too few occurrences, and `narrow` drops the place.
        np.minimum(starts, places[own][np.maximum(first, 0)], out=starts)
    narrow &= (starts >> np.uint64(32) == places >> np.uint64(32)) & (places - starts < np.uint64(width))
    starts, ends = starts[narrow], places[narrow]
    ids, at = np.unique((ends >> np.uint64(32)).astype(np.uint32), return_index=True)
    beyond = np.append(at[1:], len(ends))
    tf = np.zeros(len(ids), np.uint32)
    left = np.arange(len(ids))
    while len(left):
        tf[left] += 1
        at[left] = np.searchsorted(starts, ends[at[left]], side="right")
        left = left[at[left] < beyond[left]]
    return ids, tf
