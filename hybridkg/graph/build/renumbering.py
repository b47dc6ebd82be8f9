"""The next ids of the terms of a projection: between two terms that enter or leave, all ids shift by one number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.uint32]

MAX_STEPS = 4
"""Changes of the shift up to which ids in any order are compared with each: 2 ns an id and step, a look-up 5 ns."""

MAX_SLICES = 1_000
"""Changes of the shift up to which ascending ids are shifted in slices, 2 us each."""


@dataclass(frozen=True)
class Renumbering:
    """The next id of each earlier one.

    Args:
        of_old: int64[earlier ids]; -1 for one that has gone.
        starts: int64[r], ascending: ids from each of these on shift by another number than the one before.
        steps: uint32[r], what is added to the shift there, modulo 2^32.

    >>> ids = Renumbering.of(np.array([0, 1, 3, 4]))
    >>> ids.apply(np.array([2, 0, 3], np.uint32), 3).tolist(), ids.of_sorted(np.array([1, 3], np.uint32)).tolist()
    ([3, 0, 4], [1, 4])
    """

    of_old: NDArray[np.int64]
    starts: NDArray[np.int64]
    steps: Ids

    @classmethod
    def of(cls, of_old: NDArray[np.int64]) -> Renumbering:
        """The renumbering by the next id of each earlier one; -1 for one that has gone."""
        differences = np.diff(of_old, prepend=-1)
        starts = np.flatnonzero(differences != 1)
        return cls(of_old, starts, (differences[starts] - 1).astype(np.uint32))

    def apply(self, ids: Ids, largest: int) -> Ids:
        """The next ids of earlier ones that have not gone, the array itself where all stay; `largest` is the maximum
        of `ids`, or above it.
        """
        n_steps = int(self.starts.searchsorted(largest, "right"))
        if not n_steps:
            return ids
        if n_steps > MAX_STEPS:
            return self._table[ids]
        result = ids.copy()
        for start, step in zip(self.starts[:n_steps].astype(np.uint32), self.steps, strict=False):
            result += (ids >= start) * step
        return result

    def of_sorted(self, ids: Ids) -> Ids:
        """As `apply`, for ascending ids."""
        if not len(ids):
            return ids
        n_steps = int(self.starts.searchsorted(ids[-1], "right"))
        if not n_steps:
            return ids
        if n_steps > MAX_SLICES:
            return self._table[ids]
        result = ids.copy()
        places = [*ids.searchsorted(self.starts[:n_steps].astype(np.uint32)).tolist(), len(ids)]
        shifts = np.cumsum(self.steps[:n_steps], dtype=np.uint32)
        for i in range(n_steps):
            result[places[i] : places[i + 1]] += shifts[i]
        return result

    @cached_property
    def _table(self) -> Ids:
        return self.of_old.astype(np.uint32)
