"""Weights: how often each value of a variable occurs, as exact 64-bit counts.

Counting over a join sums and multiplies weights in place of building rows (Abo Khamis, Ngo and Rudra, "FAQ: questions
asked frequently", PODS 2016, with the semiring of counts). A number above MAX_COUNT is an error, never a wrong count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import QueryLimitError
from hybridkg.graph.match.compiled_loops import KERNEL
from hybridkg.graph.match.ids import BITMAP_SHARE, LISTED_SHARE, Counts, both, solid
from hybridkg.interfaces.graph_index import Ids

NO_WEIGHTS: Counts = np.empty(0, np.int64)
"""Stands for ones where a kernel takes an array."""

MAX_COUNT = 2**62
"""The maximum of any count, and of any intermediate weight."""

EXACT_FLOAT = 2**53
"""Sums below this are exact in float64, in which numpy adds dense weights fastest."""


def refuse_overflow(bound: float) -> None:
    """Raises QueryLimitError where a number of solutions may be above MAX_COUNT."""
    if bound > MAX_COUNT:
        raise QueryLimitError(
            f"a number of solutions exceeds {MAX_COUNT:,}",
            hint="add a condition, or join the parts of the pattern by a common variable",
        )


@dataclass(frozen=True, eq=False)
class IdWeights:
    """A positive count for each id of a set; ids outside it have 0.

    Args:
        ids: uint32[n], ascending and distinct.
        counts: int64[n], at least 1; None where all are 1.
        bound: an upper bound on the counts.

    >>> IdWeights(np.array([2, 5], np.uint32), np.array([3, 1]), 3).at(np.array([5, 2, 4], np.uint32)).tolist()
    [1, 3, 0]
    """

    ids: Ids
    counts: Counts | None = None
    bound: int = 1

    @classmethod
    def of(cls, ids: Ids, counts: Counts) -> IdWeights:
        """The weights with their maximum as the bound; ids with 0 are dropped."""
        positive = counts > 0
        if not positive.all():
            ids, counts = ids[positive], counts[positive]
        return cls(ids, counts, int(counts.max(initial=0)))

    @property
    def listed(self) -> Counts:
        """int64[n]: the counts, also where all are 1."""
        return np.ones(len(self.ids), np.int64) if self.counts is None else self.counts

    def total(self) -> int:
        """The sum, an exact number of any size."""
        if self.counts is None:
            return len(self.ids)
        if self.bound * len(self.counts) <= MAX_COUNT:
            return int(self.counts.sum())
        return sum(self.counts.tolist())

    def at(self, ids: Ids) -> Counts:
        """int64[len(ids)]: the weight of each id, in any order, repeats allowed."""
        if len(self.ids) == 0:
            return np.zeros(len(ids), np.int64)
        low, high = int(self.ids[0]), int(self.ids[-1])
        if not self.is_dense_for(len(ids)):
            at = self.ids.searchsorted(ids)
            at[at == len(self.ids)] = 0
            present = self.ids[at] == ids
            return np.where(present, 1 if self.counts is None else self.counts[at], 0)
        place = ids - np.uint32(low)  # ids below the first wrap around to large numbers
        return np.asarray(self._counts[np.minimum(place, np.uint32(high - low + 1))])

    def is_dense_for(self, n: int) -> bool:
        """Whether an array over all ids from the first to the last is in proportion to `n` look-ups."""
        if len(self.ids) == 0:
            return False
        return int(self.ids[-1]) - int(self.ids[0]) <= BITMAP_SHARE * (n + len(self.ids))

    @property
    def dense(self) -> tuple[Counts, int]:
        """(counts, low): the weight of each id from `low` on, which is the first of the set."""
        return self._counts, int(self.ids[0])

    @cached_property
    def _counts(self) -> Counts:
        """The counts by id from the first on, and a 0 that stands for all ids outside."""
        if solid(self.ids):
            return np.append(self.listed, 0)
        low, high = int(self.ids[0]), int(self.ids[-1])
        dense = np.zeros(high - low + 2, np.int64)
        dense[self.ids - np.uint32(low)] = 1 if self.counts is None else self.counts
        return dense

    def only(self, ids: Ids) -> IdWeights:
        """The weights of the ids of a set."""
        common = both(self.ids, ids)
        return self if len(common) == len(self.ids) else self._of_subset(common)

    def _of_subset(self, ids: Ids) -> IdWeights:
        return IdWeights(ids, None if self.counts is None else self.counts[self.ids.searchsorted(ids)], self.bound)

    def __mul__(self, other: IdWeights) -> IdWeights:
        """The product of both, over their common ids.

        Raises:
            QueryLimitError: a product exceeds MAX_COUNT.
        """
        common = self.ids if self.ids is other.ids else both(self.ids, other.ids)
        left = self if len(common) == len(self.ids) else self._of_subset(common)
        right = other if len(common) == len(other.ids) else other._of_subset(common)
        if left.counts is None or right.counts is None:
            return IdWeights(common, right.counts if left.counts is None else left.counts, left.bound * right.bound)
        return IdWeights(common, product(left.counts, right.counts, left.bound * right.bound), left.bound * right.bound)


def product(left: Counts, right: Counts, bound: int) -> Counts:
    """The products of two columns of counts; `bound` is an upper bound on them.

    Raises:
        QueryLimitError: a product exceeds MAX_COUNT.
    """
    if bound > MAX_COUNT:
        refuse_overflow(float((left.astype(np.float64) * right).max(initial=0.0)))
    return left * right


def run_sums(weights: Counts, starts: NDArray[Any], bound: int) -> Counts:
    """The sum of each run of a column of weights; a run is not empty and ends where the next one starts.

    `bound` is an upper bound on a weight times the length of the longest run.

    Raises:
        QueryLimitError: a sum exceeds MAX_COUNT.

    >>> run_sums(np.array([1, 2, 4]), np.array([0, 2]), 6).tolist()
    [3, 4]
    """
    if len(starts) == 0:
        return np.zeros(0, np.int64)
    if bound > MAX_COUNT:
        refuse_overflow(float(np.add.reduceat(weights.astype(np.float64), starts).max()))
    return np.asarray(np.add.reduceat(weights, starts))


def summed(ids: Ids, weights: Counts | None = None, bound: int = 1) -> IdWeights:
    """The sum of the weights of each distinct id; `bound` is an upper bound on a weight, and None are ones.

    Raises:
        QueryLimitError: a sum exceeds MAX_COUNT.

    >>> sums = summed(np.array([7, 3, 7], np.uint32))
    >>> sums.ids.tolist(), sums.counts.tolist()
    ([3, 7], [1, 2])
    """
    if len(ids) == 0:
        return IdWeights(ids)
    low, high = int(ids.min()), int(ids.max())
    if high - low <= LISTED_SHARE * len(ids) and bound * len(ids) < EXACT_FLOAT:
        sums = dense_sums(ids - np.uint32(low), high - low + 1, weights)
        places = np.flatnonzero(sums)
        if len(places) < len(sums):
            sums = sums[places]
        return IdWeights((places + low).astype(np.uint32), sums, int(sums.max(initial=0)))
    order = None if weights is None else np.argsort(ids, kind="stable")
    ordered = np.sort(ids) if order is None else ids[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    if order is None or weights is None:
        sums = np.diff(starts, append=len(ordered))
    else:
        sums = run_sums(weights[order], starts, bound * len(ids))
    return IdWeights.of(ordered[starts], sums)


def dense_sums(places: NDArray[Any], size: int, weights: Counts | None) -> Counts:
    """int64[size]: the sum of the weights at each place; None are ones. All weights together are below EXACT_FLOAT."""
    if (kernel := KERNEL.for_work(len(places) + size)) is not None:
        sums = np.zeros(size, np.int64)
        kernel.sum_at(np.asarray(places, np.int64), NO_WEIGHTS if weights is None else weights, sums)
        return sums
    sums = np.bincount(places, weights, size)
    return sums if weights is None else sums.astype(np.int64)
