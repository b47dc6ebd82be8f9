"""Edits of sorted arrays: elements leave and others enter, without a sort of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


@dataclass(frozen=True)
class ArrayEdit:
    """Some elements of an array of n leave, others enter before elements that have a place in it, or at its end.

    Args:
        size: n.
        removed: int64[r], places in 0..n-1, ascending and distinct.
        inserted: int64[m], places in 0..n, ascending; equal ones enter in the order of their values.

    >>> edit = ArrayEdit(3, np.array([1]), np.array([0, 3]))
    >>> edit.apply(np.array([10, 20, 30]), np.array([5, 40])).tolist(), edit.places().tolist()
    ([5, 10, 30, 40], [1, -1, 2])
    """

    size: int
    removed: Places
    inserted: Places

    def __bool__(self) -> bool:
        return bool(len(self.removed) or len(self.inserted))

    @property
    def new_size(self) -> int:
        """Elements afterwards."""
        return self.size - len(self.removed) + len(self.inserted)

    def apply(self, array: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
        """The array afterwards; `values` are those of the m elements that enter."""
        if not self:
            return array
        kept = np.ones(self.size, bool)
        kept[self.removed] = False
        result: NDArray[Any] = np.insert(array, self.inserted, values)[np.insert(kept, self.inserted, True)]
        return result

    def places(self) -> Places:
        """int64[n]: the place afterwards of each element; -1 for one that leaves."""
        steps = np.ones(self.size + 1, np.int64)
        steps[self.removed] = 0
        before = np.cumsum(steps) - steps
        result = before[:-1] + np.cumsum(np.bincount(self.inserted, minlength=self.size + 1))[:-1]
        result[self.removed] = -1
        return result

    def new_places(self) -> Places:
        """int64[m]: the place afterwards of each element that enters."""
        gone = np.searchsorted(self.removed, self.inserted)
        return self.inserted - gone + np.arange(len(self.inserted))

    def text_parts(
        self, text: NDArray[np.uint8], offsets: NDArray[Any], values: Sequence[bytes]
    ) -> Iterator[NDArray[np.uint8]]:
        """The concatenated texts afterwards, in parts; `offsets` are int[n + 1], `values` m texts."""
        events = sorted(
            [(int(place), 0, number) for number, place in enumerate(self.inserted)]
            + [(int(place), 1, 0) for place in self.removed]
        )
        at = 0
        for place, leaves, number in events:
            yield text[int(offsets[at]) : int(offsets[place])]
            at = place + leaves
            if not leaves:
                yield np.frombuffer(values[number], np.uint8)
        yield text[int(offsets[at]) : int(offsets[self.size])]


def edit_of_sorted(array: NDArray[Any], removed: NDArray[Any], inserted: NDArray[Any]) -> ArrayEdit:
    """The edit of an ascending array of distinct values: `removed` are in it, `inserted` are not; both ascending."""
    return ArrayEdit(
        len(array), np.searchsorted(array, removed).astype(np.int64), np.searchsorted(array, inserted).astype(np.int64)
    )
