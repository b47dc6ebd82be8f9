"""Degree quantiles, frequent keys, and equi-depth histograms of values, from sorted adjacency.

A histogram costs a few hundred binary searches, independent of the number of triples; the others read the offsets once,
in chunks. Sources: Piatetsky-Shapiro and Connell, SIGMOD 1984 (equi-depth); Poosala et al., SIGMOD 1996 ("compressed":
a frequent value has its own bucket, so its estimate is exact).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import Cardinality, Ids
from hybridkg.interfaces.statistics import Bucket, Degrees

if TYPE_CHECKING:
    from hybridkg.graph.columns import Adjacency

BUCKETS = 64
"""The target number of buckets; up to twice as many with the buckets of frequent values."""

CHUNK = 1 << 20
"""Entries in one step; 8 MiB an array."""


def chunks(begin: int, end: int) -> Iterator[tuple[int, int]]:
    for start in range(begin, end, CHUNK):
        yield start, min(start + CHUNK, end)


def degrees_of(adjacency: Adjacency, begin: int, end: int) -> NDArray[np.int64]:
    """int64[end - begin]: the degree of each key."""
    offsets = adjacency.offsets[begin : end + 1].astype(np.int64)
    return offsets[1:] - offsets[:-1]


def degree_quantiles(adjacency: Adjacency) -> Degrees:
    """The exact degree quantiles of one direction: the smallest degree that a share of the keys does not exceed.

    >>> from hybridkg.graph.build.reference_builder import adjacency
    >>> degree_quantiles(adjacency(np.array([1, 1, 1, 5]), np.array([2, 3, 4, 2])))
    Degrees(p50=1, p90=3, p99=3, most=3)
    """
    counted: dict[int, int] = {}
    for begin, end in chunks(0, len(adjacency.keys)):
        for degree, keys in zip(*_counts(degrees_of(adjacency, begin, end)), strict=True):
            counted[degree] = counted.get(degree, 0) + keys
    if not counted:
        return Degrees(0, 0, 0, 0)
    degrees = np.array(sorted(counted))
    below = np.cumsum([counted[degree] for degree in degrees.tolist()])
    # Integer percentages, because 0.9 * 10 is not exactly 9.
    ranks = [-(-percent * int(below[-1]) // 100) for percent in (50, 90, 99)]
    p50, p90, p99 = (int(degrees[np.searchsorted(below, rank)]) for rank in ranks)
    return Degrees(p50, p90, p99, int(degrees[-1]))


def _counts(values: NDArray[np.int64]) -> tuple[list[int], list[int]]:
    if len(values) and values.max() <= 4 * CHUNK:
        counts = np.bincount(values)
        occurring = np.flatnonzero(counts)
        return occurring.tolist(), counts[occurring].tolist()
    occurring, counts = np.unique(values, return_counts=True)
    return occurring.tolist(), counts.tolist()


def most_frequent(
    adjacency: Adjacency,
    n: int,
    end: int | None = None,
    least: int = 2,
    rank: Callable[[Ids], NDArray[np.int64]] | None = None,
) -> list[tuple[int, int]]:
    """(key, degree) of the keys of highest degree, by descending degree, then by rank.

    Args:
        adjacency: one direction of a predicate.
        n: the maximum number of keys.
        end: restricts it to the keys before this place; None for all.
        least: the minimum degree.
        rank: of keys, as numbers below 2^62; None where it is the order of their ids.

    >>> from hybridkg.graph.build.reference_builder import adjacency
    >>> most_frequent(adjacency(np.array([9, 9, 7, 7, 5]), np.array([2, 3, 2, 4, 2])), 16)
    [(7, 2), (9, 2)]
    """
    best: list[tuple[int, int, int]] = []
    for first, last in chunks(0, len(adjacency.keys) if end is None else end):
        degrees = degrees_of(adjacency, first, last)
        if len(degrees) > n:
            least = max(least, _nth_largest(degrees, n))
        places = np.flatnonzero(degrees >= least)
        keys = adjacency.keys[first + places]
        ranks: NDArray[Any] = keys if rank is None else rank(keys)
        # A stable sort breaks ties by the smallest ids.
        order = np.argsort(-degrees[places], kind="stable") if rank is None else np.lexsort((ranks, -degrees[places]))
        chosen = order[:n]
        new = zip(keys[chosen].tolist(), degrees[places][chosen].tolist(), ranks[chosen].tolist(), strict=True)
        best = sorted([*best, *new], key=lambda item: (-item[1], item[2]))[:n]
    return [(key, degree) for key, degree, _ in best]


def _nth_largest(values: NDArray[np.int64], n: int) -> int:
    """The n-th largest of some numbers from 0."""
    occurring, counts = _counts(values)
    return occurring[-1 - int(np.searchsorted(np.cumsum(counts[::-1]), n))]


def equi_depth(
    adjacency: Adjacency, values: NDArray[np.float64], first: int, last: int, buckets: int = BUCKETS
) -> tuple[Bucket, ...]:
    """The equi-depth histogram of the values of a segment among the objects of a predicate.

    Args:
        adjacency: backward, so that keys are objects; those in first..last are literals of the segment.
        values: float64[last - first], ascending: the value of each literal of the segment.
        first: the first id of the segment.
        last: the id after its last.
        buckets: the target number.

    Returns:
        At most twice as many; a value with a bucket's worth of triples has its own.
    """
    keys, offsets = adjacency.keys, adjacency.offsets
    begin, end = (int(np.searchsorted(keys, keys.dtype.type(id))) for id in (first, last))
    if begin == end:
        return ()
    start, stop = int(offsets[begin]), int(offsets[end])
    depth = max(1, -(-(stop - start) // buckets))

    def run_of(place: int) -> tuple[int, int]:
        """The places first..end of the keys with the same value as the one at a place."""
        value = values[int(keys[place]) - first]
        ids = (first + int(np.searchsorted(values, value, side)) for side in ("left", "right"))
        return tuple(int(np.searchsorted(keys, keys.dtype.type(id))) for id in ids)  # type: ignore[return-value]

    cuts = {begin, end}
    for target in range(start, stop, depth):
        place = int(np.searchsorted(offsets[begin : end + 1], offsets.dtype.type(target), "right")) - 1 + begin
        run = run_of(place)
        cuts.add(run[0])
        if int(offsets[run[1]]) - int(offsets[run[0]]) >= depth:
            cuts.add(run[1])
    edges = sorted(cuts)
    return tuple(
        Bucket(
            float(values[int(keys[a]) - first]),
            float(values[int(keys[b - 1]) - first]),
            int(offsets[b]) - int(offsets[a]),
            b - a,
        )
        for a, b in pairwise(edges)
    )


def triples_in_range(
    buckets: Sequence[Bucket],
    low: float | None = None,
    high: float | None = None,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> Cardinality:
    """The number of triples with a value in a range; the estimate assumes a uniform distribution within buckets.

    Args:
        buckets: ascending.
        low: the minimum; None for no bound.
        high: the maximum; None for no bound.
        open_low: `low` is excluded.
        open_high: `high` is excluded.

    >>> buckets = (Bucket(0.0, 10.0, 100, 11), Bucket(20.0, 20.0, 100, 1))
    >>> triples_in_range(buckets, 5.0)
    Cardinality(low=101.0, estimate=150.0, high=199.0)
    """
    bottom = -np.inf if low is None else low
    top = np.inf if high is None else high
    open_low, open_high = open_low and low is not None, open_high and high is not None
    lower = estimate = upper = 0.0
    if np.isnan(bottom) or np.isnan(top) or bottom > top or (bottom == top and (open_low or open_high)):
        return Cardinality(0.0, 0.0, 0.0)
    for bucket in buckets:
        outside_low = bucket.high < bottom or (open_low and bucket.high == bottom)
        outside_high = bucket.low > top or (open_high and bucket.low == top)
        if outside_low or outside_high:
            continue
        ends = _inside(bucket.low, bottom, top, open_low, open_high) + _inside(
            bucket.high, bottom, top, open_low, open_high
        )
        if ends == 2:
            lower, estimate, upper = lower + bucket.triples, estimate + bucket.triples, upper + bucket.triples
            continue
        # Each end of the bucket occurs, so at least one triple is inside, or outside, with it.
        lower += ends
        bucket_upper = bucket.triples - (2 - ends)
        upper += bucket_upper
        estimate += min(max(bucket.triples * _share(bucket, bottom, top), ends), bucket_upper)
    return Cardinality(lower, estimate, upper)


def _inside(value: float, bottom: float, top: float, open_low: bool, open_high: bool) -> int:
    above = value > bottom or (value == bottom and not open_low)
    below = value < top or (value == top and not open_high)
    return int(above and below)


def _share(bucket: Bucket, bottom: float, top: float) -> float:
    """The share of a bucket's width that is in a range; at least that of one distinct value."""
    width = bucket.high - bucket.low
    inside = min(bucket.high, top) - max(bucket.low, bottom)
    if not np.isfinite(width):
        return 0.5
    return max(inside / width, 1 / bucket.values)


def finite(buckets: Sequence[Bucket]) -> list[list[Any]]:
    """Buckets as JSON data, with infinity as text.

    >>> finite([Bucket(1.5, np.inf, 3, 2)])
    [[1.5, 'INF', 3, 2]]
    """
    return [[_number(b.low), _number(b.high), b.triples, b.values] for b in buckets]


def _number(value: float) -> float | str:
    return value if np.isfinite(value) else "INF" if value > 0 else "-INF"
