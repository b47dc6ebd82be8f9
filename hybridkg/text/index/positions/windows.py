"""Counts how often some words stand near each other.

The count is the largest number of windows of `width` places that do not
overlap and hold all the words, a word twice where it is asked for twice. It
is what Galago's unordered window counts for two words (ranking.md 1.3), is
the same in whichever order the words are asked for, and for ordered phrases of
one occurrence each is 1. The greedy choice of the window that ends first is
the largest one (interval scheduling).
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
        events: (place, word) of a text, by place; other words are passed over.
        words: what is looked for, and how often each.
        width: places of a window, at least 1.

    >>> text = list(enumerate("new york has a new mayor of york".split()))
    >>> list(windows(text, Counter(["york", "new"]), 5))
    [(0, 1), (4, 7)]
    """
    window: deque[tuple[int, T]] = deque()
    held: Counter[T] = Counter()
    for place, word in events:
        if word not in words:
            continue
        window.append((place, word))
        held[word] += 1
        while window[0][0] <= place - width:
            held[window.popleft()[1]] -= 1
        if all(held[each] >= often for each, often in words.items()):
            # Of the words in the window the last ones: a window that begins later is the narrower one.
            left, places = Counter(words), []
            for at, each in reversed(window):
                if left[each] > 0:
                    left[each] -= 1
                    places.append(at)
            yield tuple(reversed(places))
            window.clear()
            held.clear()


def window_postings(lists: Sequence[NDArray[np.uint64]], often: Sequence[int], width: int) -> Postings:
    """Entities with the words near each other, tf the number of `windows`.

    Args:
        lists: for each distinct word its places, entity << 32 | position, uint64[n] ascending; none is empty.
        often: how often each of them is asked for.
        width: places of a window, at least 1.
    """
    places = np.concatenate(lists)
    labels = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
    order = np.argsort(places, kind="stable")
    places, labels = places[order], labels[order]
    if sum(often) == 2:
        entities, tf = _pairs(places, labels, width)
    else:
        entities, tf = _more(places, labels, often, width)
    return Postings(entities, tf) if len(entities) else NO_POSTINGS


def _pairs(places: NDArray[np.uint64], labels: NDArray[Any], width: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two words: a window that ends first is two neighbours among the places; of n in a row, half are disjoint."""
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


def _more(
    places: NDArray[np.uint64], labels: NDArray[Any], often: Sequence[int], width: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """What `windows` counts, for every entity at once: of the windows that end at each place, the narrowest."""
    starts, narrow = places.copy(), np.ones(len(places), bool)
    for label, needed in enumerate(often):
        own = labels == label
        first = np.cumsum(own) - needed
        narrow &= first >= 0
        # Below 0 the word has not occurred often enough yet; what is read there is dropped.
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
