"""Partition of rows by arrays of integer keys, by tables where the keys are dense and by sorting elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Places: TypeAlias = NDArray[np.intp]
Keys: TypeAlias = NDArray[Any]

FEW = 64
"""Rows that Python handles faster than numpy."""


def partition(keys: Sequence[Keys], size: int) -> tuple[Places, Places]:
    """Partition of rows by arrays of integer keys: (group number of each row, first row of each group).

    Groups are numbered in the order of their keys; without keys there is one.

    >>> [places.tolist() for places in partition([np.array([5, 1, 5])], 3)]
    [[1, 0, 1], [1, 0]]
    """
    if not size:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    if not keys:
        return np.zeros(size, np.intp), np.zeros(1, np.intp)
    if size <= FEW:
        cells = list(zip(*(key.tolist() for key in keys), strict=True))
        number = {own: n for n, own in enumerate(sorted(set(cells)))}
        begins = {own: row for row, own in reversed(list(enumerate(cells)))}
        return np.array([number[own] for own in cells], np.intp), np.array([begins[own] for own in number], np.intp)
    group = dense(keys[0])
    for further in keys[1:]:
        group = finer(group, dense(further))
    first = np.empty(int(group.max()) + 1, np.intp)
    first[group[::-1]] = np.arange(size - 1, -1, -1)  # of equal places, numpy keeps the last value
    return group, first


TABLE_SHARE = 16
"""A table over the span of the keys replaces sorting when the span is at most this many times the number of keys: 1 ns
an entry, against 60 ns for sorting a key (2-core machine, numpy 2)."""


def dense(keys: Keys) -> Places:
    """Numbers 0, 1, 2, ... in the order of the keys, equal where they are.

    >>> dense(np.array([7, 3, 7], np.uint32)).tolist()
    [1, 0, 1]
    """
    if not len(keys):
        return np.zeros(0, np.intp)
    low, span = int(keys.min()), int(keys.max()) - int(keys.min()) + 1
    if span > TABLE_SHARE * len(keys):
        ranks: Places = np.unique(keys, return_inverse=True)[1]
        return ranks
    place: Places = (keys - keys.dtype.type(low)).astype(np.intp)
    marks = np.zeros(span, np.bool_)
    marks[place] = True
    if marks.all():
        return place
    numbers: Places = np.cumsum(marks, dtype=np.intp) - 1
    return numbers[place]


def finer(place: Places, within: Places) -> Places:
    """Numbers 0, 1, 2, ... in the order of (place, within), equal if both are.

    >>> finer(np.array([1, 0, 1]), np.array([5, 9, 5])).tolist()
    [1, 0, 1]
    """
    return dense(place * (int(within.max(initial=0)) + 1) + within)
