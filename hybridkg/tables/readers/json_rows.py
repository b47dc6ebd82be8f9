"""Rows that are JSON objects: the columns of a stream of them, nested objects as `a.b`.

The columns are known only after all objects have been read, so a table of objects is read once for its header.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hybridkg.errors import LoadError
from hybridkg.interfaces.table_reader import RowBatch, TableColumn
from hybridkg.rdf.input_file import InputFile
from hybridkg.tables.headers import MAX_COLUMNS, batched, characters_of, checked_header, rows_of_batch
from hybridkg.tables.readers.cells import MAX_DIGITS, Refuse, column_of, is_nested, is_too_large, no_literal

MAX_NESTING = 20
"""Objects inside each other that become columns."""


class ObjectTable(ABC):
    """A table whose rows are JSON objects.

    Args:
        source: of the objects.
        name: of the table.
    """

    part = ""
    size: int | None = None

    def __init__(self, source: str, name: str):
        self.source, self.name = source, name
        names: dict[str, None] = {}
        for row, value in enumerate(self.values(), 1):
            before = len(names)
            names.update(dict.fromkeys(self._flat(value, row)))
            if before != len(names) > MAX_COLUMNS:
                raise LoadError(f"more than {MAX_COLUMNS:,} names in its objects", place=source)
        self.columns = checked_header([*names], source) if names else ()

    @abstractmethod
    def values(self) -> Iterator[Any]:
        """The values that should be objects, from the first on. Raises LoadError: they are malformed."""

    def batches(self) -> Iterator[RowBatch]:
        """The rows in batches."""
        names, first = {name: i for i, name in enumerate(self.columns)}, 1
        for values in batched(self.values(), rows_of_batch(len(names)), characters_of):
            columns: list[list[Any]] = [[None] * len(values) for _ in names]
            for i, value in enumerate(values):
                for name, cell in self._flat(value, first + i).items():
                    columns[names[name]][i] = cell
            yield RowBatch(first, len(values), self._columns(columns, first))
            first += len(values)

    def _columns(self, columns: Sequence[list[Any]], first: int) -> list[TableColumn]:
        return [column_of(cells, self._refusal(name, first)) for name, cells in zip(self.columns, columns, strict=True)]

    def _refusal(self, name: str, first: int) -> Refuse:
        def refuse(row: int, value: Any) -> LoadError:
            if is_nested(value):
                return LoadError(
                    f"row {first + row}, column {name!r} has a list with NaN, an infinity, an integer of more than "
                    f"{MAX_DIGITS:,} digits, or another value that JSON has not",
                    hint="write null or a text in its place",
                    place=self.place(first + row),
                )
            if is_too_large(value) or not (value is None or isinstance(value, int | float | str | list)):
                return no_literal(value, name, first + row, self.place(first + row))
            return LoadError(
                f"row {first + row}, column {name!r} is {_kind(value)}, and other rows have lists of objects there",
                hint="give them one form, or drop the column",
                place=self.place(first + row),
            )

        return refuse

    def _flat(self, value: Any, row: int) -> dict[str, Any]:
        """The cells of an object by the names of their columns."""
        if not isinstance(value, dict):
            raise LoadError(
                f"row {row} is {_kind(value)}, and each row must be an object",
                hint='such as {"id": "tt1", "title": "Alien"}',
                place=self.place(row),
            )
        flat: dict[str, Any] = {}
        waiting: list[tuple[str, Any, int]] = [(str(name).strip(), cell, 1) for name, cell in value.items()][::-1]
        while waiting:
            name, cell, depth = waiting.pop()
            if isinstance(cell, dict) and depth < MAX_NESTING:
                waiting += [(f"{name}.{str(inner).strip()}", one, depth + 1) for inner, one in cell.items()][::-1]
            elif not name or name in flat:
                raise LoadError(
                    f"row {row} has the name {name!r} twice" if name else f"row {row} has an empty name",
                    hint="a name with a dot is the same as one inside another object; rename one of them",
                    place=self.place(row),
                )
            else:
                flat[name] = [cell] if isinstance(cell, dict) else cell  # so deep that it stays JSON
        return flat

    def advanced(self) -> int:
        """0: it is in memory."""
        return 0

    def place(self, row: int) -> str:
        """The place of a row."""
        return f"{self.source}, object {row}"


class ObjectFile(ObjectTable):
    """A table whose rows are the JSON objects of a file."""

    def __init__(self, path: Path):
        self.path = path
        self._file: InputFile | None = None
        super().__init__(str(path), path.name.partition(".")[0])

    @abstractmethod
    def objects(self, file: InputFile) -> Iterator[Any]:
        """The values that should be objects. Raises LoadError: the file is malformed."""

    def values(self) -> Iterator[Any]:
        """The values of the file."""
        with InputFile(self.path) as self._file:
            self.size = self._file.size
            yield from self.objects(self._file)
        self._file = None

    def advanced(self) -> int:
        """Bytes of the file read since the last call."""
        return 0 if self._file is None else self._file.advanced()


def named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of some names and values, for the parser of JSON. Raises RepeatedNameError: one name has two."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedNameError(next(name for i, name in enumerate(names) if name in names[:i]))
    return found


def finite(text: str) -> float:
    """The double of a number with a fraction or an exponent. Raises ValueError: it is beyond all doubles.

    >>> finite("6.02e23")
    6.02e+23
    """
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is larger than any double")
    return number


class RepeatedNameError(Exception):
    """A name that an object has twice; json would keep the last value alone."""

    def at(self, place: str) -> LoadError:
        """The error for a user."""
        return LoadError(
            f"an object has the name {self.args[0]!r} twice",
            hint="rename one, or make it a list of both values",
            place=place,
        )


def malformed(error: ValueError, place: str) -> LoadError:
    """The error for a text that the parser of JSON refuses."""
    reason = getattr(error, "msg", str(error))
    return LoadError(f"not valid JSON: {reason[:1].lower()}{reason[1:]}", place=place)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
    return "a list"
