"""The ranges of a facet of numbers, or of the years of dates, each counted by a query of its own.

An entity with several values counts once in each range that has one of them, so ranges are no histogram of the values.
"""

from __future__ import annotations

import re
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
from hybridkg.rdf.terms import XSD, Literal, Term
from hybridkg.rdf.well_known import shortened

if TYPE_CHECKING:
    from hybridkg.kb.search.base import SearchedBase

DATES = ("datetime zoned", "datetime", "date zoned", "date")
"""Segments of the literals that have a year."""

MOST = 0.5
"""Share of the triples of a predicate whose objects are numbers, or dates, from which it is one of measures."""

SECONDS_OF_A_YEAR = 365.2425 * 86_400

GROUPED_FROM = 10_000
"""Numbers from which thousands are divided, as years are not."""


def is_measure(one: PredicateStatistics) -> bool:
    """Whether most objects of a predicate are numbers, or most are dates."""
    return one.kinds.get("number", 0) > MOST * one.triples or _has_dates(one)


def counted_ranges(
    one: PredicateStatistics, queries: SearchQueries, base: SearchedBase
) -> tuple[str, tuple[FacetRange, ...]]:
    """The query for the least and the greatest value, and the ranges between them that some entity has."""
    years = _has_dates(one)
    query = queries.extremes(one.iri, years=years)
    least, greatest = base.query(query, name="facet").cells[0]
    buckets = _buckets(one, years=years)
    low, high = _finite(least, buckets[0].low), _finite(greatest, buckets[-1].high)
    whole = years or all(
        isinstance(end, Literal) and end.datatype.value == XSD + "integer" for end in (least, greatest)
    )
    cuts = boundaries(buckets, low, high, whole=whole)
    found = []
    for first, end in pairwise([None, *cuts, None]):
        counting = queries.range_count(one.iri, first, end, years=years)
        count = base.count(counting)
        if count and cuts:
            ends = _plain(low if first is None else first), _plain(high if end is None else end)
            condition = _condition(one.iri, first, end, base, years=years)
            found.append(FacetRange(_label(first, end), *ends, count, condition, counting))
    return query, tuple(found)


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


def _finite(end: Term | None, otherwise: float) -> float:
    try:
        number = float(end.value) if isinstance(end, Literal) else otherwise
    except ValueError:
        return otherwise
    return number if isfinite(number) else otherwise


def _condition(iri: str, low: Decimal | None, high: Decimal | None, base: SearchedBase, *, years: bool) -> str:
    """The condition of a range, as `where` takes it; its variable has the name of the property."""
    name = re.sub(r"\W+", "_", last_part(iri), flags=re.ASCII).strip("_")
    variable = ast.Var(f"v_{name}" if name == "entity" or not name[:1].isalpha() else name)
    test = write(in_range(variable, low, high, years=years))
    return f"{shortened(iri, base.prefixes)} ?{variable.name} . FILTER({test})"


def _label(low: Decimal | None, high: Decimal | None) -> str:
    if low is None:
        return f"below {_shown(high)}"
    return f"from {_shown(low)}" if high is None else f"{_shown(low)} to {_shown(high)}"


def _shown(number: Decimal | None) -> str:
    plain = _plain(number or Decimal(0))
    return f"{plain:,}" if abs(plain) >= GROUPED_FROM else str(plain)


def _plain(number: Decimal | float) -> int | float:
    """An integer where the number is one."""
    return int(number) if number == int(number) else float(number)
