"""The cardinality of comparisons of a predicate's objects with numbers.

Statistics round numbers to doubles, so they do not decide comparisons of a number whose double is next to the constant,
except for the constant itself if it is a listed object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from hybridkg.entities.profile.filters import number_of
from hybridkg.entities.profile.number_bounds import bounds_of
from hybridkg.interfaces.graph_index import Cardinality, Test, ValueComparison
from hybridkg.interfaces.statistics import GraphStatistics
from hybridkg.rdf.terms import XSD, Literal

NUMERIC = frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "double", "float"))

SURE = 15
"""Every engine accepts numbers of at most this many characters; longer ones may be too large or too precise."""


def passing(iri: str, tests: Sequence[Test], statistics: GraphStatistics) -> Cardinality | None:
    """The number of triples of a predicate whose object passes every test; None for tests other than number ranges.

    >>> from hybridkg.graph.build.reference_builder import columns_of
    >>> from hybridkg.rdf.terms import NamedNode, Triple
    >>> from hybridkg.graph.statistics.collect import collect
    >>> triples = [Triple(NamedNode(f"e:{i}"), NamedNode("e:p"), Literal(i // 2)) for i in range(20)]
    >>> tests = [ValueComparison("y", ">=", Literal(5)), ValueComparison("y", "<", Literal(9))]
    >>> passing("e:p", tests, collect(columns_of(triples)))
    Cardinality(low=8.0, estimate=8.0, high=8.0)
    """
    limits = []
    for test in tests:
        limit = _Limit.of(test)
        if limit is None:
            return None
        limits.append(limit)
    estimate = _as_doubles(iri, limits, statistics)
    # The range that passes in every numeric type, and the range that passes in some.
    bottom = max([limit.greatest for limit in limits if limit.is_lower], default=-inf)
    top = min([limit.smallest for limit in limits if limit.is_upper], default=inf)
    first = max([limit.smallest for limit in limits if limit.is_lower], default=-inf)
    last = min([limit.greatest for limit in limits if limit.is_upper], default=inf)
    low = statistics.in_range(iri, "number", bottom, top, open_low=bottom > -inf, open_high=top < inf).low
    high = statistics.in_range(iri, "number", first, last).high + _without_value(iri, statistics)
    for limit in {str(limit.constant): limit for limit in limits if limit.is_sure}.values():
        verdicts = [limit.passes(other) for other in limits]
        triples = statistics.having(iri, limit.constant).low
        if all(verdicts):
            low += triples
        elif False in verdicts and first <= limit.smallest and limit.greatest <= last:
            high -= triples
    if not all(limit.is_sure for limit in limits):  # a constant that is no number to an engine passes nothing
        low = 0.0
    return Cardinality(min(low, high), min(max(estimate, low), high), high)


@dataclass(frozen=True)
class _Limit:
    """A comparison `=`, `<`, `<=`, `>` or `>=` with a number.

    `value` is the nearest double, `smallest` and `greatest` the extreme doubles of numbers that may equal it.
    """

    op: str
    constant: Literal
    value: float
    smallest: float
    greatest: float

    @classmethod
    def of(cls, test: Test) -> _Limit | None:
        """The limit of a test; None for other tests, and for constants that are not numbers."""
        if not isinstance(test, ValueComparison) or test.op == "!=" or not isinstance(test.constant, Literal):
            return None
        text = str(test.constant)
        value, bounds = number_of(text), bounds_of(text)
        if value is None or bounds is None:
            return None
        return cls(test.op, test.constant, value, *bounds)

    @property
    def is_lower(self) -> bool:
        return self.op in (">", ">=", "=")

    @property
    def is_upper(self) -> bool:
        return self.op in ("<", "<=", "=")

    @property
    def is_sure(self) -> bool:
        """Whether the constant is a number to every engine."""
        return len(self.constant.value) <= SURE and self.constant.datatype.value in NUMERIC

    def passes(self, other: _Limit) -> bool | None:
        """Whether the constant passes another comparison; None if engines may differ."""
        if self.constant == other.constant:
            return other.op in ("<=", ">=", "=")
        if self.smallest > other.greatest:
            return other.op in (">", ">=")
        if self.greatest < other.smallest:
            return other.op in ("<", "<=")
        return None


def _as_doubles(iri: str, limits: Sequence[_Limit], statistics: GraphStatistics) -> float:
    """The estimate for numbers rounded to doubles."""
    low, high, open_low, open_high = -inf, inf, False, False
    for limit in limits:
        if limit.is_lower and (limit.value, limit.op == ">") > (low, open_low):
            low, open_low = limit.value, limit.op == ">"
        if limit.is_upper and (-limit.value, limit.op == "<") > (-high, open_high):
            high, open_high = limit.value, limit.op == "<"
    return statistics.in_range(iri, "number", low, high, open_low=open_low, open_high=open_high).estimate


def _without_value(iri: str, statistics: GraphStatistics) -> float:
    """Triples with literals of the segment "other", which may be numbers to an engine: those with more digits, say."""
    predicate = statistics.predicate(iri)
    return 0.0 if predicate is None else float(predicate.kinds.get("other", 0))
