"""Which entities of an index stay as they are when others change, and their next ids."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hybridkg.storage.distinct import sorted_distinct

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Staying:
    """The earlier entities that stay, and the next id of each.

    Most commits change the texts of a few entities, and none comes or goes: then all is said by who changes.

    Args:
        n: earlier entities.
        leaving: int64[k], ascending: the earlier ids of those that do not stay.
        ids: int64[n], ascending: the next id of each that stays, -1 for the others. None where each keeps its id.

    >>> Staying(4, np.array([2])).to_new(np.array([3, 2])).tolist(), Staying(4, np.array([2])).array.tolist()
    ([3, -1], [0, 1, -1, 3])
    """

    n: int
    leaving: I64
    ids: I64 | None = None

    @classmethod
    def all(cls, n: int) -> Staying:
        """Every entity stays, and keeps its id."""
        return cls(n, np.zeros(0, np.int64))

    @classmethod
    def of(cls, ids: I64) -> Staying:
        """By the next id of each, -1 for one that does not stay.

        >>> Staying.of(np.array([0, -1, 2])).ids is None, Staying.of(np.array([0, -1, 1])).ids is None
        (True, False)
        """
        is_leaving = ids < 0
        keeps = bool(((ids == np.arange(len(ids))) | is_leaving).all())
        return cls(len(ids), np.flatnonzero(is_leaving), None if keeps else ids)

    def without(self, leaving: I64) -> Staying:
        """As before, without some entities more, by their earlier ids."""
        if not len(leaving):
            return self
        both = sorted_distinct(np.concatenate([self.leaving, leaving]))
        if self.ids is None:
            return Staying(self.n, both)
        ids = self.ids.copy()
        ids[leaving] = -1
        return Staying(self.n, both, ids)

    def to_new(self, earlier: NDArray[np.integer]) -> I64:
        """int64[len(earlier)]: the next ids of some entities; -1 for one that does not stay."""
        if self.ids is not None:
            ids: I64 = self.ids[earlier]
            return ids
        found = earlier.astype(np.int64)
        if len(self.leaving):
            at = np.minimum(self.leaving.searchsorted(found), len(self.leaving) - 1)
            found[self.leaving[at] == found] = -1
        return found

    @cached_property
    def array(self) -> I64:
        """int64[n]: the next id of each entity; -1 for one that does not stay."""
        if self.ids is not None:
            return self.ids
        ids = np.arange(self.n)
        ids[self.leaving] = -1
        return ids
