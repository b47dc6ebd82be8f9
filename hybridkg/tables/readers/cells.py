"""Text and kinds of cells that have a type of Python, for formats whose cells differ in type (JSON, SQLite, Excel)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from hybridkg.errors import LoadError
from hybridkg.interfaces.table_reader import TableColumn, ValueKind
from hybridkg.rdf.terms import double_text

NUMBERS = frozenset({ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.DOUBLE, ValueKind.STRING})
_TEXTS = frozenset({ValueKind.DATE, ValueKind.DATETIME, ValueKind.IRI, ValueKind.STRING})
_KINDS: dict[type, frozenset[ValueKind]] = {
    str: _TEXTS,
    bool: frozenset({ValueKind.BOOLEAN, ValueKind.STRING}),
    int: NUMBERS,
    float: frozenset({ValueKind.DOUBLE, ValueKind.STRING}),
    Decimal: frozenset({ValueKind.DECIMAL, ValueKind.DOUBLE, ValueKind.STRING}),
    datetime: frozenset({ValueKind.DATETIME, ValueKind.STRING}),
    date: frozenset({ValueKind.DATE, ValueKind.DATETIME, ValueKind.STRING}),
}
"""Kinds that a value of a type may have: a text of digits was no number to whoever wrote the file."""

MAX_DIGITS = 4_300
"""Digits of an integer, the default limit of Python: the time for more grows with their square."""

_TOO_LARGE = 10**MAX_DIGITS


def is_too_large(value: Any) -> bool:
    """Whether a value is an integer of more than MAX_DIGITS digits."""
    return isinstance(value, LongInteger) or (isinstance(value, int) and not -_TOO_LARGE < value < _TOO_LARGE)


class LongInteger:
    """An integer of a file with more than MAX_DIGITS digits, in place of its value."""


def integer(text: str) -> int | LongInteger:
    """The integer of a text of JSON.

    >>> integer("-12"), type(integer("9" * 5_000)).__name__
    (-12, 'LongInteger')
    """
    return int(text) if len(text.removeprefix("-")) <= MAX_DIGITS else LongInteger()


Refuse = Callable[[int, Any], Exception]
"""The error for a value of the row at an index that no literal stands for."""


def no_literal(value: Any, name: str, row: int, place: str) -> LoadError:
    """The error for a value without a literal.

    Args:
        value: of a cell.
        name: of the column.
        row: its number, from 1.
        place: of the row.

    >>> no_literal(b"", "photo", 7, "films.db, table films, row 7").message
    "row 7, column 'photo' has a value of type bytes, for which there is no literal"
    """
    if is_too_large(value):
        what, hint = f"an integer of more than {MAX_DIGITS:,} digits", "write it as a text"
    else:
        what = f"a value of type {type(value).__name__}, for which there is no literal"
        hint = "convert it to a text, a number or a date, or drop the column"
    return LoadError(f"row {row}, column {name!r} has {what}", hint=hint, place=place)


def column_of(values: Sequence[Any], refuse: Refuse) -> TableColumn:
    """The column of some values; None is blank, and a list is several values.

    Args:
        values: one for each row.
        refuse: makes the error for a value without a text.

    >>> column_of([1, None, "x"], lambda row, value: TypeError(value)).cells
    ['1', '', 'x']
    """
    if any(isinstance(value, list) for value in values):
        if any(map(is_nested, values)):
            return TableColumn([_json(value, i, refuse) for i, value in enumerate(values)], frozenset({ValueKind.JSON}))
        lists = [value if isinstance(value, list) else [value] for value in values]
        cells = [[_text(one, i, refuse) for one in value] for i, value in enumerate(lists)]
        return TableColumn(cells, _kinds(one for value in lists for one in value), is_list=True)
    return TableColumn([_text(value, i, refuse) for i, value in enumerate(values)], _kinds(values))


def _kinds(values: Any) -> frozenset[ValueKind]:
    found = {type(value) for value in values}
    sets = [_KINDS[kind] for kind in found if kind in _KINDS]
    return frozenset.intersection(*sets) if sets else frozenset(ValueKind)


def _text(value: Any, row: int, refuse: Refuse) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() if not is_too_large(value):
            return str(value)
        case float():
            return double_text(value)
        case Decimal() if value.is_finite():
            return format(value, "f")
        case datetime() | date():
            return value.isoformat()
    raise refuse(row, value)


def is_nested(value: Any) -> bool:
    """Whether a value is a list with lists or objects in it."""
    return isinstance(value, list) and any(isinstance(one, list | dict) for one in value)


def _json(value: Any, row: int, refuse: Refuse) -> str:
    """The text of a literal of rdf:JSON; None and an empty list are blank."""
    if value is None or value == []:
        return ""
    if not is_nested(value):
        raise refuse(row, value)  # in another batch of rows it would be a text
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError) as e:  # NaN, infinities, and what JSON has not or hybridkg does not read
        raise refuse(row, value) from e
