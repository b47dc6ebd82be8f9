"""Interval of the doubles that may compare equal to a constant.

Values are stored as doubles; an engine compares the numbers exactly, as doubles or as floats, depending on their
datatypes. tests/operators/test_pushdown_conditions.py and tests/graph/statistics/test_pattern_values.py compare the
bounds with Oxigraph.
"""

from __future__ import annotations

import math
import struct

from hybridkg.entities.profile.filters import number_of
from hybridkg.rdf.terms import XSD

EXACT_INTEGER = 1 << 24
"""Up to this integers are the same number in every datatype, and so are comparisons with them."""

MAX_FLOAT = 3.4028234663852886e38
"""The largest finite xsd:float."""


def bounds_of(value: str) -> tuple[float, float] | None:
    """Smallest and largest double of a number that may equal a constant in N-Triples; None for one that is no number.

    A number whose double is below the first is below the constant in every comparison, one whose double is above the
    second is above it.

    >>> bounds_of('"2019"^^<http://www.w3.org/2001/XMLSchema#integer>')
    (2019.0, 2019.0)
    >>> low, high = bounds_of('"0.1"^^<http://www.w3.org/2001/XMLSchema#decimal>')
    >>> 0.0999999 < low < 0.1 < high < 0.1000001
    True
    """
    number = number_of(value)
    if number is None:
        return None
    if value.endswith(f'"^^<{XSD}integer>') and abs(number) <= EXACT_INTEGER:
        return number, number
    if value.endswith(f'"^^<{XSD}float>') and abs(number) > MAX_FLOAT:  # rounds to an infinity
        return (_below(number), math.inf) if number > 0 else (-math.inf, -_below(-number))
    return _below(number), -_below(-number)


def _below(number: float) -> float:
    """Two steps of xsd:float below a number, or of xsd:double outside the range of floats.

    >>> 0.0999999 < _below(0.1) < 0.1
    True
    """
    if abs(number) > MAX_FLOAT:
        return math.nextafter(math.nextafter(number, -math.inf), -math.inf)
    nearest: float = struct.unpack("f", struct.pack("f", number))[0]
    _, exponent = math.frexp(nearest)
    step = math.ldexp(1.0, max(exponent - 24, -149))  # between this float and its neighbour away from zero
    return min(nearest, number) - 2 * step
