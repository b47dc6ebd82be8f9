"""Columns of Arrow as text, for Parquet and DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridkg.errors import LoadError
from hybridkg.extras import needs_extra
from hybridkg.interfaces.table_reader import TableColumn, ValueKind
from hybridkg.tables.readers.cells import column_of

if TYPE_CHECKING:
    import pyarrow

_INTEGERS = frozenset({ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.DOUBLE, ValueKind.STRING})
_DATES = frozenset({ValueKind.DATE, ValueKind.STRING})
_DATETIMES = frozenset({ValueKind.DATETIME, ValueKind.STRING})
_STRINGS = frozenset({ValueKind.DATE, ValueKind.DATETIME, ValueKind.IRI, ValueKind.STRING})


def arrow_column(array: pyarrow.Array, name: str, place: str) -> TableColumn:
    """The column of an array; null is blank.

    Args:
        array: of one batch.
        name: of the column.
        place: of the table, for errors.

    Raises:
        LoadError: values of this type have no text.
    """
    with needs_extra("tables", "a table of Arrow"):
        import pyarrow.compute as pc
        from pyarrow import types
    kind = array.type
    if types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return TableColumn(_texts(array), _STRINGS)
    if types.is_integer(kind):
        return TableColumn(_texts(pc.cast(array, "string")), _INTEGERS)
    if types.is_date(kind):
        return TableColumn(_texts(pc.cast(pc.cast(array, "date32"), "string")), _DATES)
    if types.is_timestamp(kind):
        suffix = "Z" if kind.tz is not None else ""
        moments = pc.strftime(pc.cast(array, f"timestamp[{kind.unit}]"), format="%Y-%m-%dT%H:%M:%S")
        return TableColumn([_short(text) + suffix if text else "" for text in _texts(moments)], _DATETIMES)
    if types.is_null(kind):
        return TableColumn([""] * len(array))
    if (
        types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
    ):

        def refuse(_: int, value: Any) -> LoadError:
            return _refused(type(value).__name__, name, place)

        return column_of(array.to_pylist(), refuse)
    raise _refused(str(kind), name, place)


def _texts(array: Any) -> list[str]:
    return [text or "" for text in array.to_pylist()]


def _short(moment: str) -> str:
    """A moment without the zeros at the end of its seconds."""
    return moment.rstrip("0").rstrip(".") if "." in moment else moment


def _refused(kind: str, name: str, place: str) -> LoadError:
    return LoadError(
        f"column {name!r} has values of type {kind}, for which there is no literal",
        hint="convert it to text, numbers or dates, or drop it",
        place=place,
    )
