"""The one total order of rows: score descending, then terms (architecture.md, law b).

SPARQL 1.1 section 15.1 orders unbound < blank nodes < IRIs < literals, and
literals by the `<` operator where it applies. The rest is settled here, so
that two rows tie only when they are equal: literals come as numbers,
booleans, instants, plain strings, tagged strings, others; equal values by
datatype and text.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from hybridkg.rdf.terms import RDF_LANG_STRING, XSD, XSD_STRING, BlankNode, Literal, NamedNode, Term

NUMERIC = frozenset(
    XSD + name
    for name in [
        "integer",
        "decimal",
        "double",
        "float",
        "nonPositiveInteger",
        "negativeInteger",
        "long",
        "int",
        "short",
        "byte",
        "nonNegativeInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
        "positiveInteger",
    ]
)
LOWEST = Decimal("-Infinity")


def term_key(term: Term | None) -> tuple[Any, ...]:
    """A sort key; keys of any two terms can be compared.

    >>> a, b = Literal(9), Literal(10)
    >>> sorted([b, a, None, NamedNode("x:y")], key=term_key)[0] is None
    True
    >>> term_key(a) < term_key(b)
    True
    """
    match term:
        case None:
            return (0,)
        case BlankNode():
            return (1, term.value)
        case NamedNode():
            return (2, term.value)
        case Literal():
            return (3, *_literal_key(term))
    return (4, str(term))


def _literal_key(literal: Literal) -> tuple[Any, ...]:
    text, datatype = literal.value, literal.datatype
    if datatype == XSD_STRING:
        return (3, text)
    if datatype == RDF_LANG_STRING or literal.language:
        return (4, text, literal.language or "")
    name = datatype.value
    if name in NUMERIC:
        number = _number(text)
        if number is not None:
            return (0, not number.is_nan(), LOWEST if number.is_nan() else number, name, text)
    if name == XSD + "boolean" and text in ("true", "false", "1", "0"):
        return (1, text in ("true", "1"), text)
    if name in (XSD + "dateTime", XSD + "date"):
        instant = _instant(text)
        if instant is not None:
            return (2, instant, name, text)
    return (5, name, text)


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text.replace("INF", "Infinity") if "INF" in text else text)
    except InvalidOperation:
        return None


def _instant(text: str) -> float | None:
    """Seconds since 1970 in UTC; an instant without a zone is read as UTC."""
    try:
        value = datetime.fromisoformat(text) if "T" in text else _day(text)
    except ValueError:
        return None
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()


def _day(text: str) -> datetime:
    day = date.fromisoformat(text[:10])
    return datetime.fromisoformat(f"{day.isoformat()}T00:00:00{text[10:].replace('Z', '+00:00')}")


def row_key(terms: Sequence[Term | None]) -> tuple[tuple[Any, ...], ...]:
    """The key of several terms, compared from left to right."""
    return tuple(term_key(term) for term in terms)
