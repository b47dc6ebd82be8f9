"""Rows that are dicts of Python, as JSON objects are, and tables that a dict names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hybridkg.errors import LoadError
from hybridkg.tables.readers.frame import is_frame
from hybridkg.tables.readers.json_rows import ObjectTable


def is_records(value: Any) -> bool:
    """Whether an input is a row, or rows: a dict, or a list or tuple that begins with one.

    One that begins with a number is rows, too, whose error names it, because no statement of RDF is a number.

    >>> is_records({"id": 1}), is_records([{"id": 1}, {"id": 2}]), is_records([])
    (True, True, False)
    """
    is_list = isinstance(value, list | tuple) and bool(value)
    return isinstance(value, dict) or (is_list and isinstance(value[0], dict | int | float))


def is_named_tables(value: Any) -> bool:
    """Whether an input is a dict of tables by their names: each is a DataFrame, or a list of dicts.

    >>> is_named_tables({"films": [{"id": 1}]}), is_named_tables({"id": 1, "films": [{"id": 1}]})
    (True, False)
    """
    return (
        isinstance(value, dict)
        and bool(value)
        and all(is_frame(one) or (not isinstance(one, dict) and is_records(one)) for one in value.values())
    )


class RecordsTable(ObjectTable):
    """The rows of a list of dicts, or the only row that a dict is.

    Args:
        records: a dict, or dicts; whatever JSON has, dates, decimals, tuples and scalars of numpy are values.
        name: of the table.
    """

    def __init__(self, records: Mapping[str, Any] | Sequence[Any], name: str = "table"):
        if isinstance(records, Mapping) and not records:
            raise LoadError("an empty dict is no row", hint='give its values: {"id": "tt1", "title": "Alien"}')
        self._records = [records] if isinstance(records, Mapping) else records
        super().__init__(name, name)

    def values(self) -> Iterator[Any]:
        """The dicts, with values as those of JSON."""
        for record in self._records:
            yield _plain(record)

    def place(self, row: int) -> str:
        """The place of a row."""
        return f"{self.source}, row {row}"


def _plain(value: Any) -> Any:
    """A value with lists in place of tuples, and numbers of Python in place of those of numpy."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    is_numpy = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0
    return value.item() if is_numpy else value
