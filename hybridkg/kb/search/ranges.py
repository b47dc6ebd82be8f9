"""Boundaries of the ranges of a numeric facet: round numbers near the quintiles of the values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import pairwise
from math import isfinite

from hybridkg.interfaces.statistics import Bucket

MAX_RANGES = 5


def boundaries(buckets: Sequence[Bucket], low: float, high: float, *, whole: bool = False) -> tuple[Decimal, ...]:
    """Where the ranges of the values low..high begin, except the first, ascending; at most MAX_RANGES - 1.

    A boundary is the quintile, rounded to the largest of 1, 2, 5, 10, 20, 50 ... that is not above the distance to its
    neighbours: close to each other where there are many values, and far apart where there are few.

    Args:
        buckets: histogram of the values, also outside low..high; finite.
        low: the least value.
        high: the greatest value.
        whole: whether boundaries are integers.

    Returns:
        Numbers above `low` and at most `high`; none if both are equal. 0 alone if they are too far apart for a double.

    >>> uniform, skewed = (Bucket(0.0, 1000.0, 100, 100),), (Bucket(0.0, 50.0, 80, 50), Bucket(50.0, 9000.0, 20, 20))
    >>> list(map(str, boundaries(uniform, 3.0, 990.0))), list(map(str, boundaries(skewed, 0.0, 9000.0)))
    (['200', '400', '600', '800'], ['10', '20', '40', '50'])
    """
    if not low < high:
        return ()
    if not isfinite(high - low):
        return (Decimal(0),)
    cuts = sorted({cut for cut in _quintiles(buckets, low, high) if low < cut < high})
    ends = [low, *cuts, high]
    found = set()
    for (before, cut), (_, after) in pairwise(pairwise(ends)):
        unit = nice_unit(min(cut - before, after - cut), whole=whole)
        found.add(_rounded(cut, unit))
    kept = _inside(found, low, high)
    if not kept:  # most values are the least, or the greatest
        unit = nice_unit((high - low) / 2, whole=whole)
        kept = _inside({_rounded((low + high) / 2, unit), _rounded(high, unit)}, low, high)[:1]
    return tuple(kept)


def nice_unit(width: float, *, whole: bool = False) -> Decimal:
    """The largest 1, 2 or 5 times a power of ten that is not above a width; at least 1 if `whole`.

    >>> str(nice_unit(7.5)), str(nice_unit(0.03)), str(nice_unit(0.3, whole=True))
    ('5', '0.02', '1')
    """
    number = Decimal(width)
    power = Decimal(1).scaleb(number.adjusted())
    unit = max(factor * power for factor in (1, 2, 5) if factor * power <= number)
    return max(unit, Decimal(1)) if whole else unit


def _rounded(value: float, unit: Decimal) -> Decimal:
    return (Decimal(value) / unit).to_integral_value(ROUND_HALF_EVEN) * unit


def _inside(found: set[Decimal], low: float, high: float) -> list[Decimal]:
    return sorted(Decimal(format(one, "f")) for one in found if Decimal(low) < one <= Decimal(high))


def _quintiles(buckets: Sequence[Bucket], low: float, high: float) -> Iterator[float]:
    """The values below which 1/5, 2/5, 3/5 and 4/5 of the triples in low..high are, even within each bucket."""
    parts = []
    for bucket in buckets:
        first, last = max(bucket.low, low), min(bucket.high, high)
        if first <= last:
            width = bucket.high - bucket.low
            parts.append((first, last, bucket.triples * ((last - first) / width if width else 1.0)))
    total = sum(weight for _, _, weight in parts)
    if not total:
        parts, total = [(low, high, 1.0)], 1.0
    for number in range(1, MAX_RANGES):
        left = total * number / MAX_RANGES
        for first, last, weight in parts:
            if weight and left <= weight:
                yield first + (last - first) * left / weight
                break
            left -= weight
