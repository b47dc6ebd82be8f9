"""Numeric literals by the lexical rules of XML Schema 1.1 (part 2), which are narrower than Python's."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hybridkg.rdf.order import NUMERIC
from hybridkg.rdf.terms import XSD, Literal, Term

FLOATING = frozenset({XSD + "double", XSD + "float"})
DECIMAL = XSD + "decimal"
INTEGERS = NUMERIC - FLOATING - {DECIMAL}

_INTEGER = r"[+-]?[0-9]+"
_DECIMAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_FLOATING = rf"{_DECIMAL}(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN"
_FORMS = (
    dict.fromkeys(INTEGERS, re.compile(_INTEGER))
    | dict.fromkeys(FLOATING, re.compile(_FLOATING))
    | {DECIMAL: re.compile(_DECIMAL)}
)


def is_numeric(terms: Iterable[Term | None]) -> bool:
    """Whether every bound term is a literal of a numeric datatype, and there is one."""
    bound = [term for term in terms if term is not None]
    return bool(bound) and all(isinstance(term, Literal) and term.datatype.value in NUMERIC for term in bound)


def is_number(literal: Literal) -> bool:
    """Whether the datatype is numeric and the text is one of its lexical forms.

    >>> is_number(Literal(7)), is_number(Literal("7"))
    (True, False)
    """
    return is_number_text(literal.value, literal.datatype.value)


def is_number_text(text: str, datatype: str) -> bool:
    """Whether a datatype is numeric and a text is one of its lexical forms."""
    form = _FORMS.get(datatype)
    return form is not None and form.fullmatch(text) is not None


def as_float(term: Term | None) -> float | None:
    """The nearest double of a numeric literal; None for any other term.

    >>> as_float(Literal(7)), as_float(Literal("Alien"))
    (7.0, None)
    """
    return float(term.value) if isinstance(term, Literal) and is_number(term) else None
