"""The ranges of a facet of numbers or dates, each counted by a query of its own.

Dates are divided by year, those of one year by month, and those of one month by day. An entity with several values
counts once in each range that has one of them, so ranges are no histogram of the values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING

from hybridkg.interfaces.statistics import Bucket, PredicateStatistics
from hybridkg.kb.search.queries import SearchQueries, in_range
from hybridkg.kb.search.ranges import boundaries
from hybridkg.kb.search.result import FacetRange
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.namespaces import last_part
from hybridkg.rdf.terms import XSD, Literal
from hybridkg.rdf.well_known import shortened

if TYPE_CHECKING:
    from hybridkg.kb.search.base import SearchedBase

DATES = ("datetime zoned", "datetime", "date zoned", "date")
"""Segments of the literals that have a year."""

MOST = 0.5
"""Share of the triples of a predicate whose objects are numbers, or dates, from which it is one of measures."""

SECONDS_OF_A_YEAR = 365.2425 * 86_400

SCIENTIFIC_FROM = 10**18
"""Numbers that are written with an exponent."""

GROUPED_FROM = 10_000
"""Numbers from which thousands are divided, as years are not."""


def is_measure(one: PredicateStatistics) -> bool:
    """Whether most objects of a predicate are numbers, or most are dates."""
    return one.kinds.get("number", 0) > MOST * one.triples or _has_dates(one)


@dataclass(frozen=True)
class Scale:
    """The scale of some ranges: numbers, or one part of dates whose larger parts are all equal.

    Args:
        part: the SPARQL function of the part, such as `MONTH`; empty for numbers.
        before: the larger parts, as in `2024-`.
    """

    part: str = ""
    before: str = ""

    def label(self, number: Decimal) -> str:
        """A boundary for people.

        >>> Scale("MONTH", "2024-").label(Decimal(3)), Scale("YEAR").label(Decimal(1980)), Scale().label(Decimal("0.5"))
        ('2024-03', '1980', '0.5')
        """
        if self.before:
            return f"{self.before}{int(number):02}"
        if abs(number) >= SCIENTIFIC_FROM:
            return f"{float(number):g}"
        plain = _plain(number)
        return f"{plain:,}" if abs(plain) >= GROUPED_FROM else str(plain)


def counted_ranges(
    one: PredicateStatistics, queries: SearchQueries, base: SearchedBase
) -> tuple[str, tuple[FacetRange, ...]]:
    """The query for the least and the greatest value, and the ranges between them that some entity has.

    There are no ranges if no value is finite, or if all are equal: as doubles, or as days.
    """
    query, scale, low, high = _extent(one, queries, base)
    whole = isinstance(low, int) and isinstance(high, int)
    is_coarse = scale.part in ("MONTH", "DAY")  # for a bucket of the histogram
    buckets = [Bucket(low, high, 1, 1)] if is_coarse else _buckets(one, years=scale.part == "YEAR")
    found = []
    cuts = boundaries(buckets, float(low), float(high), whole=whole)
    for first, end in pairwise([None, *cuts, None] if cuts else ()):
        counting = queries.range_count(one.iri, first, end, part=scale.part)
        count = base.count(counting)
        if count:
            ends = low if first is None else _plain(first), high if end is None else _plain(end)
            condition = _condition(one.iri, first, end, base, scale.part)
            found.append(FacetRange(_label(first, end, scale), *ends, count, condition, counting))
    return query, tuple(found)


def _extent(
    one: PredicateStatistics, queries: SearchQueries, base: SearchedBase
) -> tuple[str, Scale, int | float, int | float]:
    """(query, scale, least, greatest): of dates the largest part that differs; 0 and 0 without a finite value."""
    before = ""
    for part in ("YEAR", "MONTH", "DAY") if _has_dates(one) else ("",):
        query = queries.extremes(one.iri, part=part)
        least, greatest = base.query(query, name="facet").cells[0]
        if not (isinstance(least, Literal) and isinstance(greatest, Literal)):
            return query, Scale(part), 0, 0
        low, high = _value(least), _value(greatest)
        scale = Scale(part, before)
        if low != high:
            break
        before += f"{int(low):04}-" if part == "YEAR" else f"{int(low):02}-"
    return query, scale, low, high


def _value(number: Literal) -> int | float:
    is_integer = number.datatype.value == XSD + "integer"
    return int(number.value) if is_integer else _plain(float(number.value))


def _has_dates(one: PredicateStatistics) -> bool:
    return sum(one.kinds.get(name, 0) for name in DATES) > MOST * one.triples


def _buckets(one: PredicateStatistics, *, years: bool) -> list[Bucket]:
    """The finite part of the histogram, ascending; of dates in years."""
    names, found = DATES if years else ("number",), []
    for bucket in (bucket for name in names for bucket in one.histograms.get(name, ())):
        low, high = (1970 + end / SECONDS_OF_A_YEAR if years else end for end in (bucket.low, bucket.high))
        if isfinite(low) and isfinite(high):
            found.append(Bucket(low, high, bucket.triples, bucket.values))
    return sorted(found, key=lambda bucket: (bucket.low, bucket.high)) or [Bucket(0.0, 0.0, 1, 1)]


def _condition(iri: str, low: Decimal | None, high: Decimal | None, base: SearchedBase, part: str) -> str:
    """The condition of a range, as `where` takes it; its variable has the name of the property."""
    name = re.sub(r"\W+", "_", last_part(iri), flags=re.ASCII).strip("_")
    variable = ast.Var(f"v_{name}" if name == "entity" or not name[:1].isalpha() else name)
    test = write(in_range(variable, low, high, part=part))
    return f"{shortened(iri, base.prefixes)} ?{variable.name} . FILTER({test})"


def _label(low: Decimal | None, high: Decimal | None, scale: Scale) -> str:
    if low is None:
        return f"below {scale.label(high or Decimal(0))}"
    return f"from {scale.label(low)}" if high is None else f"{scale.label(low)} to {scale.label(high)}"


def _plain(number: Decimal | float) -> int | float:
    """An integer where the number is one, unless it is too large to be exact."""
    is_whole = -SCIENTIFIC_FROM < number < SCIENTIFIC_FROM and number == int(number)
    return int(number) if is_whole else float(number)
