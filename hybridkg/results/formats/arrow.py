"""The Apache Arrow form of a result, each column with the narrowest type for all of its values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from importlib import import_module
from math import isinf
from typing import TYPE_CHECKING, Any

from hybridkg.extras import needs_extra
from hybridkg.operators.columns import columns_of
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Term, term_text
from hybridkg.results.formats.arrow_columns import column_array
from hybridkg.results.numbers import DECIMAL, INTEGERS, is_number

if TYPE_CHECKING:
    from hybridkg.results.result_set import ResultSet

_DATE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.([0-9]+))?(?:Z|[+-][0-9]{2}:[0-9]{2})?")
"""The lexical form of xsd:dateTime for years of four digits; group 1 is the fraction of a second."""

MAX_EXACT = 2**53
"""Every whole number up to this one is a double; a greater one among doubles makes the column text."""


def result_to_arrow(result: ResultSet) -> Any:
    """A pyarrow.Table; see `ResultSet.to_arrow`."""
    with needs_extra("arrow", "to_arrow"):
        pa = import_module("pyarrow")
    types, solutions = _types(pa), result._solutions

    def typed(terms: Sequence[Term | None]) -> Any:
        kind, values = typed_column(terms)
        return pa.array(values, type=types[kind])

    held = columns_of(solutions, lambda columns, size: []) if solutions.size else None
    names = solutions.variables[: len(result.columns)]
    arrays = [typed([]) if held is None else column_array(pa, held.columns[name], typed) for name in names]
    return pa.Table.from_arrays(arrays, names=list(result.columns))


def _types(pa: Any) -> dict[str, Any]:
    return {
        "int64": pa.int64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
        "date32": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "timestamp[UTC]": pa.timestamp("us", tz="UTC"),
        "string": pa.string(),
    }


def typed_column(terms: Sequence[Term | None]) -> tuple[str, list[Any]]:
    """The narrowest type that holds every value of a column, and the values in this type, None where unbound.

    The type is `int64`, `float64`, `bool`, `date32`, `timestamp` (times without a zone), `timestamp[UTC]` (with one) or
    `string`: text, IRIs, `_:` labels, and the lexical forms of values of different types.

    >>> typed_column([Literal(1), None, Literal(2.5)])
    ('float64', [1.0, None, 2.5])
    >>> typed_column([Literal(1), Literal("one")])
    ('string', ['1', 'one'])
    """
    if any(term is not None for term in terms):
        for kind, read in _READERS:
            values: list[Any] = []
            for term in terms:
                value = None if term is None else read(term)
                if value is None and term is not None:
                    break
                values.append(value)
            else:
                return kind, values
    return "string", [None if term is None else _text(term) for term in terms]


def _text(term: Term) -> str:
    match term:
        case NamedNode() | Literal():
            return term.value
        case BlankNode():
            return f"_:{term.value}"
    return term_text(term)


def _int(term: Term) -> int | None:
    if not isinstance(term, Literal) or term.datatype.value not in INTEGERS or len(term.value) > 20:
        return None
    if not is_number(term):
        return None
    value = int(term.value)
    return value if -(2**63) <= value < 2**63 else None


def _float(term: Term) -> float | None:
    if not isinstance(term, Literal) or not is_number(term):
        return None
    if term.datatype.value in INTEGERS:
        whole = _int(term)
        return float(whole) if whole is not None and abs(whole) <= MAX_EXACT else None
    value = float(term.value)
    # Infinity means overflow here: no decimal is infinite.
    return None if term.datatype.value == DECIMAL and isinf(value) else value


def _bool(term: Term) -> bool | None:
    if isinstance(term, Literal) and term.datatype.value == XSD + "boolean":
        return {"true": True, "1": True, "false": False, "0": False}.get(term.value)
    return None


def _date(term: Term) -> date | None:
    """A date with a four-digit year and no zone, which Arrow's dates do not have."""
    if not isinstance(term, Literal) or term.datatype.value != XSD + "date" or len(term.value) != len("2020-01-01"):
        return None
    try:
        return date.fromisoformat(term.value)
    except ValueError:
        return None


def _moment(term: Term) -> datetime | None:
    """A time in microseconds; None where Python has no value: years beyond 9999, finer times."""
    if not isinstance(term, Literal) or term.datatype.value != XSD + "dateTime":
        return None
    form = _DATE_TIME.fullmatch(term.value)
    if form is None or len((form[1] or "").rstrip("0")) > 6:
        return None
    try:
        return datetime.fromisoformat(term.value)
    except ValueError:
        return None


def _local(term: Term) -> datetime | None:
    moment = _moment(term)
    return moment if moment is not None and moment.tzinfo is None else None


def _zoned(term: Term) -> datetime | None:
    moment = _moment(term)
    if moment is None or moment.tzinfo is None:
        return None
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # on the first and the last day of Python's calendar
        return None


_READERS: tuple[tuple[str, Callable[[Term], Any]], ...] = (
    ("int64", _int),
    ("float64", _float),
    ("bool", _bool),
    ("date32", _date),
    ("timestamp", _local),
    ("timestamp[UTC]", _zoned),
)
