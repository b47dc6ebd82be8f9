"""Opening of tables by the extension of their file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hybridkg.errors import LoadError
from hybridkg.interfaces.table_reader import TABLE_READERS, Table, TableReader
from hybridkg.rdf.input_file import COMPRESSIONS, check_readable, extensions
from hybridkg.tables.readers.excel import EXCEL, HeaderRow
from hybridkg.tables.signatures import check_signature

IN_PARTS = frozenset({".parquet", ".xlsx", ".xlsm", ".sqlite", ".sqlite3", ".db"})
"""Extensions of formats that are not read from the first byte to the last, so that they cannot be compressed."""


def reader_of(path: Path) -> TableReader | None:
    """The reader of a file by its extension; None if it is none of a table.

    >>> reader_of(Path("films.CSV.gz")) is not None, reader_of(Path("films.ttl"))
    (True, None)
    """
    extension = extensions(path)[0]
    for name in TABLE_READERS.builtin_names:
        reader: TableReader = TABLE_READERS.get(name)
        if extension in reader.extensions:
            return reader
    return next((one for one in TABLE_READERS.plugins() if extension in one.extensions), None)


def table_extensions() -> list[str]:
    """The extensions of all formats."""
    built_in = [TABLE_READERS.get(name) for name in TABLE_READERS.builtin_names]
    return [extension for one in (*built_in, *TABLE_READERS.plugins()) for extension in one.extensions]


WORKBOOKS = frozenset({".xlsx", ".xlsm"})
"""Extensions of the formats in which a table may begin below other rows."""


def open_tables(path: Path, header_row: HeaderRow = None) -> Sequence[Table]:
    """The tables of a file; `header_row` is for workbooks alone.

    Raises:
        LoadError: the file cannot be read, or is no table of its format.
        MissingExtraError: the package for its format is not installed.
    """
    reader = reader_of(path)
    if reader is None:
        raise LoadError(
            f"{str(path)!r} is no table by its name; known: {', '.join(table_extensions())}",
            place=str(path),
        )
    extension, compression = extensions(path)
    if compression and extension in IN_PARTS:
        check_readable(path)
        raise LoadError(
            f"{extension} files are read in parts, so they cannot be compressed with {COMPRESSIONS[compression]}",
            hint=f"unpack it first: {({'.gz': 'gunzip', '.bz2': 'bunzip2'}).get(compression, 'unxz')} {path}",
            place=str(path),
        )
    check_signature(path)
    return EXCEL.open(path, header_row) if extension in WORKBOOKS else reader.open(path)
