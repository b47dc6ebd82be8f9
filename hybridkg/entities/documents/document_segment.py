"""Immutable segment of `documents/`: an SQLite file sorted by field and entity.

The texts of a field of an entity are one zlib-compressed JSON list; no bytes are a tombstone (LSM trees, O'Neil et al.
1996), which hides the texts that older segments have. SQLite's BINARY collation compares UTF-8 bytes, so entities come
in term order.
"""

from __future__ import annotations

import errno
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from hybridkg.errors import CorruptError

SUFFIX = ".texts"

Row: TypeAlias = tuple[str, str, bytes]
"""Field, entity (IRI), packed texts; no bytes for a tombstone."""

SCHEMA = """
CREATE TABLE text(field TEXT NOT NULL, entity TEXT NOT NULL, texts BLOB NOT NULL, PRIMARY KEY(field, entity))
    WITHOUT ROWID;
CREATE INDEX tombstone ON text(entity, field) WHERE texts = x'';
CREATE TABLE entity(entity TEXT PRIMARY KEY, fields INTEGER NOT NULL) WITHOUT ROWID;
"""
"""`fields`: rows of the entity. The header's user version is the number of all rows (0: unknown), readable alone."""

TOMBSTONES_AT_ONCE = 1_000

LEVEL = 3
"""zlib level; higher ones save nothing on short texts."""

SHORT = 160
"""Bytes below which compression does not pay; JSON starts with `[`, zlib never does."""

_JSON = json.JSONEncoder(ensure_ascii=False)


def packed(texts: list[str]) -> bytes:
    """The stored form of texts.

    >>> unpacked(packed(["a", "b"]))
    ['a', 'b']
    """
    if not texts:
        return b""
    plain = _JSON.encode(texts).encode()
    return plain if len(plain) < SHORT else zlib.compress(plain, LEVEL)


def unpacked(stored: bytes) -> list[str]:
    if not stored:
        return []
    plain = stored if stored.startswith(b"[") else zlib.decompress(stored)
    return list(json.loads(plain.decode()))


def write_segment(path: Path, rows: Iterable[Row], hides: Callable[[str, str], bool] | None = None) -> None:
    """Writes a segment; of rows with the same field and entity the last one remains.

    Args:
        path: the new file.
        rows: in any order.
        hides: whether older segments have texts of a (field, entity), so that a tombstone hides something; others are
            removed at last. None: all do.

    Raises:
        OSError: the disk is full or fails.
    """
    with _write_errors(path), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("page_size=16384", "journal_mode=OFF", "synchronous=OFF", "cache_size=-65536"):
            connection.execute(f"PRAGMA {pragma}")
        connection.executescript(SCHEMA)
        connection.execute("BEGIN")
        connection.executemany("INSERT OR REPLACE INTO text VALUES (?, ?, ?)", rows)
        if hides is not None:
            _remove_vain_tombstones(connection, hides)
        connection.execute("INSERT INTO entity SELECT entity, COUNT(*) FROM text GROUP BY entity ORDER BY entity")
        (count,) = connection.execute("SELECT TOTAL(fields) FROM entity").fetchone()
        connection.execute(f"PRAGMA user_version={min(int(count), 2**31 - 1)}")
        connection.execute("COMMIT")


def _remove_vain_tombstones(connection: sqlite3.Connection, hides: Callable[[str, str], bool]) -> None:
    query = (
        "SELECT entity, field FROM text WHERE texts = x'' AND (entity, field) > (?, ?) ORDER BY entity, field LIMIT ?"
    )
    last = ("", "")
    while batch := connection.execute(query, (*last, TOMBSTONES_AT_ONCE)).fetchall():
        last = batch[-1]
        vain = [(field, entity) for entity, field in batch if not hides(field, entity)]
        connection.executemany("DELETE FROM text WHERE field = ? AND entity = ?", vain)


@dataclass(frozen=True, slots=True)
class SegmentSize:
    """Size of a segment by its file: bytes, and rows (0: unknown, in a segment of an earlier version)."""

    bytes: int
    rows: int

    @classmethod
    def of(cls, path: Path) -> SegmentSize:
        """Raises CorruptError: the segment is missing or truncated."""
        with read_errors(path):
            return cls(path.stat().st_size, int.from_bytes(_check_size(path)[60:64], "big"))

    def __add__(self, other: SegmentSize) -> SegmentSize:
        return SegmentSize(self.bytes + other.bytes, self.rows + other.rows)


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as e:
        code = errno.ENOSPC if e.sqlite_errorname == "SQLITE_FULL" else errno.EIO
        raise OSError(code, str(e), str(path)) from e


def connect(path: Path) -> sqlite3.Connection:
    """Opens a segment for reading, from any thread; it is immutable, so it needs no locks.

    Raises:
        CorruptError: the segment is missing or damaged.
    """
    with read_errors(path):
        _check_size(path)
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            connection.execute("SELECT 1 FROM text LIMIT 1")
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def _check_size(path: Path) -> bytes:
    """The header (file format, 1.3); detects truncation, which SQLite itself would only notice on access."""
    with path.open("rb") as file:
        header = file.read(100)
    page_size, pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
    if len(header) < 100 or path.stat().st_size != page_size * pages:
        raise ValueError("it is truncated")
    return header


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Raises errors of SQLite, zlib and JSON as CorruptError."""
    try:
        yield
    except (sqlite3.Error, zlib.error, ValueError, OSError) as e:
        raise CorruptError(
            f"{str(path)!r} is damaged: {e}", hint="restore it from a backup, or load the documents again"
        ) from e
