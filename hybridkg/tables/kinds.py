"""Kinds of values: the forms by which a guess recognises them, and the forms that their datatype permits.

The guess is stricter than the datatype: `007` is a valid xsd:integer, and far more often an identifier. A form is
tested on the distinct values of a column at once, because one call a cell costs ten times as much.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Final

from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.rdf.terms import XSD, NamedNode

RDF_JSON = "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON"

DATATYPES: Final = {
    ValueKind.INTEGER: XSD + "integer",
    ValueKind.DECIMAL: XSD + "decimal",
    ValueKind.DOUBLE: XSD + "double",
    ValueKind.BOOLEAN: XSD + "boolean",
    ValueKind.DATE: XSD + "date",
    ValueKind.DATETIME: XSD + "dateTime",
    ValueKind.JSON: RDF_JSON,
}
"""Datatype IRIs of literals; strings and IRIs have none."""

KINDS_OF_DATATYPES: Final = {iri: kind for kind, iri in DATATYPES.items()}

_DATE = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d|[+-]14:00)?"
_WEB_ADDRESS = r"""https?://[^\x00-\x20<>"{}|\\^`\x7f-\x9f]+"""

RECOGNISED: Final = {
    ValueKind.INTEGER: r"-?(?:0|[1-9]\d{0,17})",
    ValueKind.DECIMAL: r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?",
    ValueKind.DOUBLE: r"-?(?:0|[1-9]\d{0,17})(?:\.\d+)?(?:[eE][+-]?\d{1,3})?|NaN|-?INF",
    ValueKind.BOOLEAN: r"true|false|True|False|TRUE|FALSE",
    ValueKind.DATE: _DATE,
    ValueKind.DATETIME: _DATE + "[T ]" + _TIME,
    ValueKind.IRI: _WEB_ADDRESS,
}
"""Forms by which the guess recognises a kind. A longer number is an identifier: Oxigraph compares it as a text."""

PERMITTED: Final = {
    ValueKind.INTEGER: r"[+-]?\d+",
    ValueKind.DECIMAL: r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)",
    ValueKind.DOUBLE: r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|NaN|[+-]?INF",
    ValueKind.BOOLEAN: r"true|false|True|False|TRUE|FALSE|0|1",
    ValueKind.DATE: _DATE + r"(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d|[+-]14:00)?",
    ValueKind.DATETIME: _DATE + f"(?:[T ]{_TIME})?",
    ValueKind.IRI: r"""[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|\\^`\x7f-\x9f]+""",
}
"""Forms that a mapping accepts for a kind; a moment that is a date alone is its midnight."""

EXAMPLES: Final = {
    ValueKind.INTEGER: "42",
    ValueKind.DECIMAL: "3.14",
    ValueKind.DOUBLE: "6.02e23",
    ValueKind.BOOLEAN: "true or false",
    ValueKind.DATE: "1999-12-31",
    ValueKind.DATETIME: "1999-12-31T23:59:00",
    ValueKind.IRI: "http://example.org/a",
}


def _joined(forms: dict[ValueKind, str]) -> dict[ValueKind, re.Pattern[str]]:
    return {kind: re.compile(rf"(?>(?:(?:{form})?\n)*)", re.ASCII) for kind, form in forms.items()}


def _single(forms: dict[ValueKind, str]) -> dict[ValueKind, re.Pattern[str]]:
    return {kind: re.compile(form, re.ASCII) for kind, form in forms.items()}


_COLUMNS = {"recognised": _joined(RECOGNISED), "permitted": _joined(PERMITTED)}
_CELLS = {"recognised": _single(RECOGNISED), "permitted": _single(PERMITTED)}


def is_recognised(kind: ValueKind, texts: Sequence[str]) -> bool:
    """Whether every text that is not blank has the form by which the guess knows a kind.

    >>> is_recognised(ValueKind.INTEGER, ["7", "", "-12"]), is_recognised(ValueKind.INTEGER, ["007"])
    (True, False)
    >>> is_recognised(ValueKind.DATE, ["2023-02-29"])
    False
    """
    return _first_misfit(kind, texts, "recognised") is None


def first_misfit(kind: ValueKind, texts: Sequence[str]) -> int | None:
    """The index of the first text that is neither blank nor permitted for a kind; None if there is none.

    >>> first_misfit(ValueKind.INTEGER, ["007", "", "x"])
    2
    """
    return _first_misfit(kind, texts, "permitted")


def _first_misfit(kind: ValueKind, texts: Sequence[str], forms: str) -> int | None:
    column = _COLUMNS[forms].get(kind)
    if column is None:
        return None
    distinct = {*texts}
    joined = "\n".join(distinct) + "\n"
    # A cell of several lines would pass as several cells.
    if column.fullmatch(joined) and (not distinct or joined.count("\n") == len(distinct)):
        further = _FURTHER.get(kind)
        if further is None or all(further(text) for text in distinct if text):
            return None
    cell, further = _CELLS[forms][kind], _FURTHER.get(kind)
    for i, text in enumerate(texts):
        if text and not (cell.fullmatch(text) and (further is None or further(text))):
            return i
    return None


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text[:10])
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    try:
        datetime.fromisoformat(text[:19])
    except ValueError:
        return False
    return True


def _is_iri(text: str) -> bool:
    try:
        NamedNode(text)
    except ValueError:
        return False
    return True


_FURTHER: dict[ValueKind, Callable[[str], bool]] = {
    ValueKind.DATE: _is_date,
    ValueKind.DATETIME: _is_datetime,
    ValueKind.IRI: _is_iri,
}
"""Tests that a form cannot make, of each distinct text: 2023-02-29 is no date."""


def lexical(kind: ValueKind, texts: Sequence[str]) -> Sequence[str]:
    """The lexical forms of RDF of texts that are permitted for a kind (R2RML, section 10.2: natural mapping).

    >>> lexical(ValueKind.BOOLEAN, ["True", ""]), lexical(ValueKind.DATETIME, ["2001-02-03 04:05:06", "2001-02-03"])
    (['true', ''], ['2001-02-03T04:05:06', '2001-02-03T00:00:00'])
    """
    if kind is ValueKind.BOOLEAN:
        return [text.lower() for text in texts]
    if kind is ValueKind.DATETIME:
        return [text.replace(" ", "T") if len(text) != len("1999-12-31") else f"{text}T00:00:00" for text in texts]
    return texts
