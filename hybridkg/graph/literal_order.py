"""The order of literals in the projection: by segment, and by value within it.

A segment holds literals that SPARQL compares without an error, so a FILTER over a range of values is a range of ids.
Literals without a value here (unknown datatypes, NaN, durations, dates out of range, ill-typed literals) are in the
last segment; Oxigraph compares them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from re import compile as regex

from hybridkg.rdf.terms import XSD, Literal

SEGMENTS = ("string", "language", "number", "boolean", "datetime zoned", "datetime", "date zoned", "date", "other")
"""The segments in id order. "datetime" and "date" have no time zone."""

FIRST_VALUED = 2
"""The place of the first segment whose literals have values; those of the strings before it are all equal."""

NUMBERS = frozenset(XSD + name for name in ("integer", "decimal", "double", "float"))
"""Numeric datatypes in Oxigraph's canonical form, which replaces those derived from xsd:integer."""

_DATE_TIME = regex(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?")
_DATE = regex(r"(\d{4})-(\d\d)-(\d\d)(Z|[+-]\d\d:\d\d)?")
_INTEGER = regex(r"[+-]?\d{1,19}")
_DECIMAL = regex(r"[+-]?(\d{1,21}(\.\d{0,18})?|\.\d{1,18})")
_FLOAT = regex(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?INF")
_NUMBER = {"integer": _INTEGER, "decimal": _DECIMAL, "double": _FLOAT, "float": _FLOAT}

MAX_INTEGER = 2**63 - 1
"""Oxigraph's integers have 64 bits; larger ones are ill-typed."""

MAX_DECIMAL = 2**127 / 10**18
"""Oxigraph's decimals have 128 bits and 18 fraction digits; larger ones are ill-typed."""

FARTHEST_ZONE = 14 * 60
"""The maximum offset of a time zone in minutes (XML Schema 1.1 part 2, section 3.3.7)."""

LiteralKey = tuple[int, float, bytes]


def literal_key(literal: Literal) -> LiteralKey:
    """The sort key (segment, value, bytes) of a literal; distinct for distinct literals.

    Args:
        literal: in the store's canonical form, without a base direction (the projection omits those).

    >>> from hybridkg.rdf.terms import NamedNode
    >>> integer = literal_key(Literal("7", datatype=NamedNode(XSD + "integer")))
    >>> integer[:2]
    (2, 7.0)
    >>> literal_key(Literal("x", language="en"))
    (1, 0.0, b'en\\x00x')
    """
    datatype, text = literal.datatype.value, literal.value
    if literal.language is not None:
        return (1, 0.0, literal.language.encode() + b"\0" + text.encode())
    if datatype == XSD + "string":
        return (0, 0.0, text.encode())
    rest = datatype.encode() + b"\0" + text.encode()
    if datatype in NUMBERS and (number := _number(datatype[len(XSD) :], text)) is not None:
        return (2, number, rest)
    if datatype == XSD + "boolean" and text in ("true", "false", "1", "0"):
        return (3, 1.0 if text in ("true", "1") else 0.0, rest)
    if datatype == XSD + "dateTime" and (match := _DATE_TIME.fullmatch(text)):
        seconds = _seconds(text, match[8])
        return _other(rest) if seconds is None else (4 if match[8] else 5, seconds, rest)
    if datatype == XSD + "date" and (match := _DATE.fullmatch(text)):
        day, zone = text[:10], match[4]
        seconds = _seconds(day + "T00:00:00" + (zone or ""), zone)
        return _other(rest) if seconds is None else (6 if zone else 7, seconds, rest)
    return _other(rest)


def _number(name: str, text: str) -> float | None:
    """The value of a number of a datatype of NUMBERS; None for a text that is ill-typed to Oxigraph."""
    if not _NUMBER[name].fullmatch(text):
        return None
    if name == "integer" and not -MAX_INTEGER - 1 <= int(text) <= MAX_INTEGER:
        return None
    value = float(text.replace("INF", "inf"))
    if name == "decimal" and abs(value) >= MAX_DECIMAL:
        return None
    return value + 0.0  # -0.0 equals 0.0 in SPARQL


def _seconds(text: str, zone: str | None) -> float | None:
    """Seconds since 1970 of an ISO text, with or without a zone; None for an invalid date."""
    if zone not in (None, "Z") and (int(zone[1:3]) * 60 + int(zone[4:]) > FARTHEST_ZONE or int(zone[4:]) > 59):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if zone is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    except OverflowError:
        return None


def _other(rest: bytes) -> LiteralKey:
    return (len(SEGMENTS) - 1, 0.0, rest)
