"""Comparison with a constant, as ranges of ids.

The semantics are Oxigraph 0.5.13's (tests/graph/match/test_conditions.py compares each pair of kinds). Numbers of
different datatypes are promoted, integers and decimals to float32 against a float, so values within a few float32 steps
of the constant are in doubt. Dates with and without a zone are comparable when more than 14 hours apart. Strings
compare by bytes, within one language. Booleans have no order. `!=` is true between kinds. IRIs have equality only, and
`<=` of a term with itself. The segment "other" is always in doubt.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import reduce
from math import isfinite
from operator import or_

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import LiteralPart, TermTable
from hybridkg.graph.literal_order import SEGMENTS, literal_key
from hybridkg.graph.match.conditions import NOTHING, Decide, IdTest, Order
from hybridkg.graph.match.ids import IdRanges
from hybridkg.graph.match.strings import TermStrings
from hybridkg.rdf.terms import Literal, NamedNode, Term

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")

NUMBER_STEP = 2.0**-21
"""Relative width of four float32 steps."""

SUBNORMAL_STEP = 2.0**-147
"""Width of four float32 steps near zero, where they have the same width everywhere: 0.00...1 with 45 digits is the
float 1.4e-45."""

ZONES = 14 * 3600 + 1.0
"""Seconds by which the zone of a date without one can shift it."""

EXACT_SECONDS = 4e9
"""Below this many seconds from 1970, microseconds are distinct in float64."""

LARGEST_FLOAT = float(np.finfo(np.float32).max)
"""The largest finite float32; above it a float32 is infinite."""

NEAR = 8
"""Values near a constant that are read without a second binary search."""

SHORT = 15
"""Decimals of at most this many characters are distinct in float64."""

FAMILIES = {
    "number": ("number",),
    "boolean": ("boolean",),
    "datetime zoned": ("datetime zoned", "datetime"),
    "datetime": ("datetime", "datetime zoned"),
    "date zoned": ("date zoned", "date"),
    "date": ("date", "date zoned"),
}
"""The segments that a constant of a segment is compared with: its own, and that with or without zones."""


def comparison(op: str, constant: Term, table: TermTable, strings: TermStrings, decide: Decide) -> IdTest | None:
    """`?x op constant` as a test over ids; None for other operators and kinds of terms.

    The constant is in the store's canonical form; `decide` is Oxigraph's verdict on a set of ids.
    """
    if op not in OPERATORS or not isinstance(constant, Literal | NamedNode):
        return None
    everything = IdRanges.one(0, table.n_terms)
    other = IdRanges.of([part.segments["other"] for part in table.parts])
    if isinstance(constant, NamedNode):
        own = table.id_of(constant)
        same = IdRanges(((own, own + 1),)) if own >= 0 else IdRanges(())
        if op in ("=", "!="):
            return IdTest(same if op == "=" else everything - same)
        return IdTest(IdRanges(()), same, decide, same)
    segment, value, _ = literal_key(constant)
    name = SEGMENTS[segment]
    if name == "other":
        return IdTest(IdRanges(()), everything, decide, everything)
    family: tuple[str, ...] = (name,)
    if name in ("string", "language"):
        order = strings.order(constant)
    else:
        family = FAMILIES[name]
        about = _BY_KIND[name.split()[0]]
        order = reduce(or_, (about(constant, value, table, p, segment) for segment in family for p in table.parts))
    mine = IdRanges.of([part.segments[segment] for segment in family for part in table.parts])
    if name == "language":  # other languages are unequal and not comparable
        mine = IdRanges.of(strings.language(constant.language or ""))
    if name == "boolean" and op in ("<", ">", "<=", ">="):
        order = Order(IdRanges(()), order.equal, IdRanges(()))
        mine = order.equal
    sure = order.true(op)
    if op == "!=":
        sure = sure | (everything - mine - other)
    doubt = (mine - order.decided) | other
    return IdTest(sure, doubt, decide, doubt)


def _around(part: LiteralPart, segment: str, low: float, high: float) -> tuple[int, int, int, int]:
    """(first id, first id with a value of at least low, first with one above high, end)."""
    first, end = part.segments[segment]
    values = part.values(segment)
    return first, first + int(values.searchsorted(low)), first + int(values.searchsorted(high, side="right")), end


def _number(constant: Literal, value: float, table: TermTable, part: LiteralPart, segment: str) -> Order:
    is_finite = isfinite(value)
    step = max(abs(value) * NUMBER_STEP, SUBNORMAL_STEP) if is_finite else 0.0
    first, end = part.segments[segment]
    low, same, after, high = (first + place for place in _places(part.values(segment), value, step))
    equal = NOTHING
    if len(constant.value) <= SHORT and (not is_finite or _is_float(value)):
        # A short lexical form of a float32 value denotes the same value in every datatype.
        equal = IdRanges.of(_short(table, same, after))
    return Order(IdRanges.one(first, low), equal, IdRanges.one(high, end))


def _is_float(value: float) -> bool:
    """Whether a float32 has a finite value."""
    return abs(value) <= LARGEST_FLOAT and float(np.float32(value)) == value


def _places(values: NDArray[np.float64], value: float, step: float) -> tuple[int, int, int, int]:
    """Where value - step, value, what is above it, and what is above value + step belong in ascending values."""
    low = int(values.searchsorted(value - step))
    near: list[float] = values[low : low + NEAR].tolist()
    if len(near) < NEAR or near[-1] > value + step:  # most often the constant alone, if anything
        same, after, high = bisect_left(near, value), bisect_right(near, value), bisect_right(near, value + step)
        return low, low + same, low + after, low + high
    after, high = values.searchsorted([value, value + step], side="right").tolist()
    return low, int(values.searchsorted(value)), after, high


def _short(table: TermTable, first: int, end: int) -> list[tuple[int, int]]:
    if first >= end:
        return []
    lengths = table.lengths(first, end).tolist()
    return [(place, place + 1) for place, length in enumerate(lengths, first) if length <= SHORT]


def _boolean(_: Literal, value: float, _table: TermTable, part: LiteralPart, segment: str) -> Order:
    first, low, high, end = _around(part, segment, value, value)
    return Order(IdRanges.of([(first, low)]), IdRanges.of([(low, high)]), IdRanges.of([(high, end)]))


def _date(constant: Literal, value: float, _table: TermTable, part: LiteralPart, segment: str) -> Order:
    own = SEGMENTS[literal_key(constant)[0]] == segment
    step = 0.001 if own else ZONES
    first, low, high, end = _around(part, segment, value - step, value + step)
    equal = IdRanges(())
    if own and (segment.startswith("date ") or segment == "date" or abs(value) < EXACT_SECONDS):
        _, same, after, _ = _around(part, segment, value, value)
        equal = IdRanges.of([(same, after)])
    return Order(IdRanges.of([(first, low)]), equal, IdRanges.of([(high, end)]))


_BY_KIND: dict[str, Callable[[Literal, float, TermTable, LiteralPart, str], Order]] = {
    "number": _number,
    "boolean": _boolean,
    "datetime": _date,
    "date": _date,
}
