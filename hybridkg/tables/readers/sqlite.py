"""SQLite: every table of a database, opened for reading only; views are not run."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hybridkg.errors import LoadError
from hybridkg.interfaces.table_reader import RowBatch
from hybridkg.rdf.input_file import check_readable
from hybridkg.tables.headers import batched, characters_of, checked_header, rows_of_batch
from hybridkg.tables.readers.cells import Refuse, column_of, no_literal


class SQLiteTable:
    """The rows of one table, in the order of their row ids or primary key."""

    size: int | None = None

    def __init__(self, path: Path, part: str, columns: Sequence[str], booleans: Collection[int] = ()):
        """Args: booleans: the places of the columns in which 0 and 1 are truth values."""
        self.path, self.source, self.name, self.part, self._booleans = path, str(path), part, part, booleans
        self.columns = checked_header(columns, f"{path}, table {part}")

    def batches(self) -> Iterator[RowBatch]:
        """The rows in batches. Raises LoadError: the file is damaged, or a cell is a BLOB."""
        first = 1
        try:
            with closing(_connected(self.path)) as database:
                rows = database.execute(f"SELECT * FROM {_quoted(self.part)}")  # noqa: S608 - an identifier, quoted
                for batch in batched(rows, rows_of_batch(len(self.columns)), characters_of):
                    columns = [
                        column_of(_truth(cells) if i in self._booleans else cells, self._refusal(name, first))
                        for i, (name, cells) in enumerate(zip(self.columns, zip(*batch, strict=True), strict=True))
                    ]
                    yield RowBatch(first, len(batch), columns)
                    first += len(batch)
        except sqlite3.Error as e:
            raise _unreadable(self.path, e) from e

    def advanced(self) -> int:
        """0: the position in the file is not known."""
        return 0

    def place(self, row: int) -> str:
        """The place of a row."""
        return f"{self.path}, table {self.part}, row {row}"

    def _refusal(self, name: str, first: int) -> Refuse:
        return lambda row, value: no_literal(value, name, first + row, self.place(first + row))


class SQLiteReader:
    """Opens databases."""

    extensions = (".sqlite", ".sqlite3", ".db")

    def open(self, path: Path) -> Sequence[SQLiteTable]:
        """The tables of a database by name. Raises LoadError: the file is no database, or has no table."""
        check_readable(path)
        try:
            with closing(_connected(path)) as database:
                rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
                shadows = _shadows(database)
                names = [name for (name,) in rows if not name.startswith("sqlite_") and name not in shadows]
                found = [SQLiteTable(path, name, _columns(database, name), _booleans(database, name)) for name in names]
        except sqlite3.Error as e:
            raise _unreadable(path, e) from e
        if not found:
            raise LoadError("no table in this database", place=str(path))
        return found


SQLITE = SQLiteReader()


def _connected(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)
    database.execute("PRAGMA trusted_schema = OFF")
    return database


def _shadows(database: sqlite3.Connection) -> set[str]:
    """The tables in which virtual tables, such as those of full-text search, keep their own data."""
    return {name for _, name, kind, *_ in database.execute("PRAGMA table_list") if kind == "shadow"}


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    cursor = database.execute(f"SELECT * FROM {_quoted(table)} LIMIT 0")  # noqa: S608 - an identifier, quoted
    return [column[0] for column in cursor.description]


def _booleans(database: sqlite3.Connection, table: str) -> set[int]:
    """The places of the columns that are declared BOOLEAN, a type that SQLite has not, and have only 0, 1 and NULL."""
    found = set()
    declared = {name: kind.upper() for _, name, kind, *_ in database.execute(f"PRAGMA table_info({_quoted(table)})")}
    for i, name in enumerate(_columns(database, table)):
        if declared.get(name) in ("BOOLEAN", "BOOL"):
            other = f"{_quoted(name)} IS NOT NULL AND {_quoted(name)} IS NOT 0 AND {_quoted(name)} IS NOT 1"
            # Both are identifiers, quoted.
            if database.execute(f"SELECT 1 FROM {_quoted(table)} WHERE {other} LIMIT 1").fetchone() is None:  # noqa: S608
                found.add(i)
    return found


def _truth(cells: Sequence[Any]) -> list[bool | None]:
    return [None if cell is None else bool(cell) for cell in cells]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _unreadable(path: Path, error: sqlite3.Error) -> LoadError:
    return LoadError(f"not a readable SQLite database: {error}", place=str(path))
