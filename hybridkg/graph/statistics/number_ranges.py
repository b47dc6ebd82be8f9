"""How many triples of a predicate have a number as object that passes comparisons with constants.

Statistics know numbers as doubles. Of one that lies next to a constant they cannot tell on which side it is, unless
it is the constant itself, of which they may know how many triples have it.
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
"""Numbers of at most this many characters are numbers to every engine; longer ones may be too large or too precise."""


def passing(iri: str, tests: Sequence[Test], known: GraphStatistics) -> Cardinality | None:
    """The triples of a predicate whose object passes every test; None where a test is no order of numbers.

    >>> from hybridkg.graph.build.reference_builder import columns_of
    >>> from hybridkg.rdf.terms import NamedNode, Triple
    >>> from hybridkg.graph.statistics.collect import collect
    >>> triples = [Triple(NamedNode(f"e:{i}"), NamedNode("e:p"), Literal(i // 2)) for i in range(20)]
    >>> known = collect(columns_of(triples))
    >>> passing("e:p", [Comparison("y", ">=", Literal(5)), Comparison("y", "<", Literal(9))], known)
    Size(low=8.0, guess=8.0, high=8.0)
    """
    limits = []
    for test in tests:
        limit = _Limit.of(test)
        if limit is None:
            return None
        limits.append(limit)
    guess = _guessed(iri, limits, known)
    # Those that pass every comparison, whatever it compares as; and those that pass one of each.
    bottom = max([limit.most for limit in limits if limit.is_lower], default=-inf)
    top = min([limit.least for limit in limits if limit.is_upper], default=inf)
    first = max([limit.least for limit in limits if limit.is_lower], default=-inf)
    last = min([limit.most for limit in limits if limit.is_upper], default=inf)
    low = known.in_range(iri, "number", bottom, top, open_low=bottom > -inf, open_high=top < inf).low
    high = known.in_range(iri, "number", first, last).high + _odd(iri, known)
    for limit in {str(limit.constant): limit for limit in limits if limit.is_sure}.values():
        verdicts = [limit.passes(other) for other in limits]
        triples = known.having(iri, limit.constant).low
        if all(verdicts):
            low += triples
        elif False in verdicts and first <= limit.least and limit.most <= last:
            high -= triples
    if not all(limit.is_sure for limit in limits):  # nothing compares to what is no number
        low = 0.0
    return Cardinality(min(low, high), min(max(guess, low), high), high)


@dataclass(frozen=True)
class _Limit:
    """A comparison with a number.

    Args:
        op: one of `=`, `<`, `<=`, `>`, `>=`.
        constant: the number.
        value: the double next to it.
        least: the least double of a number that may equal it.
        most: the greatest one.
    """

    op: str
    constant: Literal
    value: float
    least: float
    most: float

    @classmethod
    def of(cls, test: Test) -> _Limit | None:
        """None where a test is another, or the constant no number."""
        if not isinstance(test, ValueComparison) or test.op == "!=" or not isinstance(test.constant, Literal):
            return None
        text = str(test.constant)
        value, bounds = number_of(text), bounds_of(text)
        if value is None or bounds is None:
            return None
        return cls(test.op, test.constant, value, *bounds)

    @property
    def is_lower(self) -> bool:
        """Whether what passes is above it, or equal."""
        return self.op in (">", ">=", "=")

    @property
    def is_upper(self) -> bool:
        """Whether what passes is below it, or equal."""
        return self.op in ("<", "<=", "=")

    @property
    def is_sure(self) -> bool:
        """Whether every engine takes the constant for a number."""
        return len(self.constant.value) <= SURE and self.constant.datatype.value in NUMERIC

    def passes(self, other: _Limit) -> bool | None:
        """Whether the constant passes another comparison; None where engines may differ."""
        if self.constant == other.constant:
            return other.op in ("<=", ">=", "=")
        if self.least > other.most:
            return other.op in (">", ">=")
        if self.most < other.least:
            return other.op in ("<", "<=")
        return None


def _guessed(iri: str, limits: Sequence[_Limit], known: GraphStatistics) -> float:
    """As if all numbers were doubles."""
    low, high, open_low, open_high = -inf, inf, False, False
    for limit in limits:
        if limit.is_lower and (limit.value, limit.op == ">") > (low, open_low):
            low, open_low = limit.value, limit.op == ">"
        if limit.is_upper and (-limit.value, limit.op == "<") > (-high, open_high):
            high, open_high = limit.value, limit.op == "<"
    return known.in_range(iri, "number", low, high, open_low=open_low, open_high=open_high).estimate


def _odd(iri: str, known: GraphStatistics) -> float:
    """Triples with a literal that is no number here, and may be one to an engine: with more digits, for example."""
    found = known.predicate(iri)
    return 0.0 if found is None else float(found.kinds.get("other", 0))
