"""Protocols of tables and of the readers of their files, and the registry of readers.

A new format is one file and one line here. A reader gives text: what a cell means is decided by a mapping, with the
same rules for every format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeAlias

from hybridkg.registry import Registry


class ValueKind(StrEnum):
    """The kinds of values that a cell may have, from the strictest to the one that takes any text."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "dateTime"
    IRI = "iri"
    STRING = "string"
    JSON = "json"


Texts: TypeAlias = Sequence[str]
"""Cells of a column; an empty text is a blank cell."""

Lists: TypeAlias = Sequence[Sequence[str]]
"""Cells of a column in which a cell may have several values."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """The cells of some rows in one column.

    Args:
        cells: Texts, or Lists where `is_list`.
        kinds: kinds that the format permits (a string of JSON is no number); empty for text, whose form decides.
        is_list: whether each cell is a sequence of texts.
    """

    cells: Texts | Lists
    kinds: frozenset[ValueKind] = frozenset()
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Some consecutive rows.

    Args:
        first: number of the first row, from 1 for the first row below the header.
        rows: number of rows.
        columns: one for each name of the table, in its order.
    """

    first: int
    rows: int
    columns: Sequence[TableColumn]


class Table(Protocol):
    """Rows with named columns, read as a stream, any number of times.

    Attributes:
        name: of the table, such as `films`; decides the name of its class where none is given.
        source: the file, as its user wrote it; for a DataFrame, a description.
        part: table of a database or sheet of a workbook; empty for a file that is one table.
        columns: names of the columns, distinct and not empty.
        size: bytes that `advanced` counts in all; None if unknown.
    """

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def part(self) -> str: ...
    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def size(self) -> int | None: ...

    def batches(self) -> Iterator[RowBatch]:
        """The rows from the first on, in batches of bounded size. Raises LoadError: the file is malformed."""

    def advanced(self) -> int:
        """Bytes read since the last call, for the progress."""

    def place(self, row: int) -> str:
        """The place of a row for an error, such as `films.csv:13`."""


class TableReader(Protocol):
    """Opens the tables of a file.

    Attributes:
        extensions: file name extensions, such as `.csv`, in lower case.
    """

    @property
    def extensions(self) -> tuple[str, ...]: ...

    def open(self, path: Path) -> Sequence[Table]:
        """The tables of a file, whose headers have been read.

        Raises:
            LoadError: the file cannot be read, or has no valid header.
        """


TABLE_READERS = Registry(
    "table format",
    "hybridkg.table_readers",
    {
        "csv": "hybridkg.tables.readers.separated:CSV",
        "tsv": "hybridkg.tables.readers.separated:TSV",
        "json": "hybridkg.tables.readers.json_array:JSON_ARRAY",
        "jsonl": "hybridkg.tables.readers.json_lines:JSON_LINES",
        "parquet": "hybridkg.tables.readers.parquet:PARQUET",
        "excel": "hybridkg.tables.readers.excel:EXCEL",
        "sqlite": "hybridkg.tables.readers.sqlite:SQLITE",
    },
    extra="tables",
)
"""Each is a TableReader."""
