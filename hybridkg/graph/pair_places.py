"""The places of pairs in one direction of a predicate, or before which they belong."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import Adjacency

I64 = NDArray[np.int64]

Pairs = NDArray[np.uint64]
"""(key << 32) | target of each pair."""

HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


class PairPlaces(NamedTuple):
    """Where pairs are in a direction, or before what they belong.

    Args:
        key: int64[pairs], the place of the key.
        is_key: bool[pairs], whether it is there.
        target: int64[pairs], the place of the target.
        is_there: bool[pairs], whether the pair is there.
    """

    key: I64
    is_key: NDArray[np.bool_]
    target: I64
    is_there: NDArray[np.bool_]


def places_of_pairs(adjacency: Adjacency, pairs: Pairs) -> PairPlaces:
    """The places of pairs, in any order.

    >>> both = Adjacency(np.array([1, 4], np.uint32), np.array([0, 1, 3]), np.array([7, 2, 9], np.uint32))
    >>> places = places_of_pairs(both, np.array([1 << 32 | 7, 4 << 32 | 5, 3 << 32 | 7], np.uint64))
    >>> places.key.tolist(), places.is_key.tolist(), places.target.tolist(), places.is_there.tolist()
    ([0, 1, 1], [True, True, False], [0, 2, 1], [True, False, False])
    """
    wanted, targets = (pairs >> HALF).astype(np.uint32), (pairs & LOW).astype(np.uint32)
    key = adjacency.keys.searchsorted(wanted).astype(np.int64)
    is_key = np.zeros(len(pairs), bool)
    inside = key < len(adjacency.keys)
    is_key[inside] = adjacency.keys[key[inside]] == wanted[inside]
    low, end = adjacency.offsets[key].astype(np.int64), adjacency.offsets[key].astype(np.int64)
    end[is_key] = adjacency.offsets[key[is_key] + 1]
    high = end.copy()
    while (open_ := low < high).any():  # a binary search of all pairs at once
        middle = (low + high) >> 1
        is_below = open_.copy()
        is_below[open_] = adjacency.targets[middle[open_]] < targets[open_]
        low = np.where(is_below, middle + 1, low)
        high = np.where(open_ & ~is_below, middle, high)
    is_there = is_key & (low < end)
    is_there[is_there] = adjacency.targets[low[is_there]] == targets[is_there]
    return PairPlaces(key, is_key, low, is_there)
