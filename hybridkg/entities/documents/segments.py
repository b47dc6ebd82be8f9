"""Segments of a `documents` folder, read as one map from field and entity to packed texts.

A row of a newer segment replaces that of an older one, and a tombstone hides it.
"""

from __future__ import annotations

import heapq
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from hybridkg.entities.documents.document_segment import SUFFIX, connect, read_errors, unpacked


def newest_first(folder: Path) -> list[Path]:
    """Files of the segments of a folder."""
    return sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: int(path.stem), reverse=True)


class Segments:
    """Open segments, newest first; safe to use from many threads."""

    def __init__(self, paths: Sequence[Path]):
        """Raises CorruptError: a segment is missing or damaged."""
        self.paths = tuple(paths)
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        for path in paths:
            self._connections.append(connect(path))
            weakref.finalize(self, self._connections[-1].close)

    def has(self, field: str, entity: str) -> bool:
        """Whether a field of an entity (IRI) has texts. About 5 us a segment."""
        return bool(self._newest(field, entity, range(len(self.paths)))[0])

    def texts(self, field: str, entity: str) -> list[str]:
        """Texts of a field of an entity (IRI); empty for none."""
        stored, path = self._newest(field, entity, range(len(self.paths)))
        with read_errors(path):
            return unpacked(stored)

    def document(self, entity: str) -> dict[str, list[str]]:
        """Fields of an entity (IRI) with their texts, in alphabetical order."""
        texts = {}
        for field, (stored, path) in self._rows_of(entity):
            with read_errors(path):
                texts[field] = unpacked(stored)
        return texts

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that have texts, in alphabetical order."""
        names: set[str] = set()
        for at in range(len(self.paths)):
            name = ""
            while (
                row := self._one(at, "SELECT field FROM text WHERE field > ? ORDER BY field LIMIT 1", name)
            ) is not None:
                name = row[0]
                names.add(name)
        return tuple(sorted(filter(self._has_texts, names)))

    def _has_texts(self, field: str) -> bool:
        for at in range(len(self.paths)):
            row = self._one(at, "SELECT texts FROM text WHERE field = ? LIMIT 1", field)
            if row is not None and row[0]:
                return True
            if row is not None:
                break  # it may hide what older segments have
        return any(stored for _, _, stored, _ in merged(self.paths, field))

    def count_entities(self) -> int:
        """Number of entities that have texts."""
        if len(self.paths) == 1:
            with _distinct(self.paths, "SELECT COUNT(*) FROM entity") as counts:
                ((count,),) = counts
        else:
            with _distinct(self.paths, "SELECT entity FROM entity ORDER BY entity") as entities:
                count = sum(1 for _ in entities)
        with _distinct(self.paths, "SELECT entity FROM text WHERE texts = x'' ORDER BY entity") as hidden:
            return int(count) - sum(next(self._rows_of(entity), None) is None for (entity,) in hidden)

    def _rows_of(self, entity: str) -> Iterator[tuple[str, tuple[bytes, Path]]]:
        holding = [
            at for at in range(len(self.paths)) if self._one(at, "SELECT 1 FROM entity WHERE entity = ?", entity)
        ]
        for field in self.fields if holding else ():
            row = self._newest(field, entity, holding)
            if row[0]:
                yield field, row

    def _newest(self, field: str, entity: str, places: Sequence[int]) -> tuple[bytes, Path]:
        """Packed texts, empty for none, and their segment."""
        for at in places:
            row = self._one(at, "SELECT texts FROM text WHERE field = ? AND entity = ?", field, entity)
            if row is not None:
                return row[0], self.paths[at]
        return b"", Path()

    def _one(self, at: int, query: str, *key: str) -> tuple[Any, ...] | None:
        with read_errors(self.paths[at]), self._lock:
            row: tuple[Any, ...] | None = self._connections[at].execute(query, key).fetchone()
        return row


def merged(paths: Sequence[Path], field: str | None) -> Iterator[tuple[str, str, bytes, Path]]:
    """The newest row of each (field, entity), in that order, with its segment; tombstones are rows without bytes.

    Args:
        paths: the segments, newest first.
        field: only rows of this field; None: all.

    Raises:
        CorruptError: a segment is damaged.
    """
    query, key = "SELECT field, entity, ?, texts FROM text ORDER BY field, entity", () if field is None else (field,)
    if field is not None:
        query = query.replace("ORDER BY", "WHERE field = ? ORDER BY")
    with ExitStack() as stack:
        rows = [_rows(stack, path, query, age, *key) for age, path in enumerate(paths)]
        for _, same in groupby(heapq.merge(*rows), key=itemgetter(0, 1)):
            row_field, entity, age, stored = next(same)
            yield row_field, entity, stored, paths[age]


def check_segments(
    folder: Path, *, every: int = 1, advanced: Callable[[int], None] = lambda rows: None
) -> tuple[int, int]:
    """Reads all rows of a `documents` folder, and unpacks every so many; returns the numbers of documents and rows.

    Raises:
        CorruptError: a segment cannot be read, is not sorted, or lists other entities than its texts have.
    """
    rows, paths = 0, newest_first(folder)
    for path in reversed(paths):
        with ExitStack() as stack, read_errors(path):
            previous, entities = ("", ""), set[str]()
            for field, entity, stored in _rows(
                stack, path, "SELECT field, entity, texts FROM text ORDER BY field, entity"
            ):
                if (field, entity) <= previous:
                    raise ValueError(f"its rows are not sorted at {entity!r}")
                previous, rows = (field, entity), rows + 1
                entities.add(entity)
                if rows % every == 0:
                    unpacked(stored)
                    advanced(every)
            listed = [entity for (entity,) in _rows(stack, path, "SELECT entity FROM entity")]
            if len(listed) != len(entities) or not entities.issuperset(listed):
                raise ValueError("its list of entities is not that of its texts")
    return Segments(paths).count_entities(), rows


@contextmanager
def _distinct(paths: Sequence[Path], query: str) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Distinct rows of a sorted query over all segments."""
    with ExitStack() as stack:
        yield (row for row, _ in groupby(heapq.merge(*(_rows(stack, path, query) for path in paths))))


def _rows(stack: ExitStack, path: Path, query: str, *key: object) -> Iterator[tuple[Any, ...]]:
    connection = stack.enter_context(closing(connect(path)))
    return _fetched(path, connection.execute(query, key))


def _fetched(path: Path, cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    with read_errors(path):
        for row in cursor:  # noqa: UP028 - `yield from` would close a cursor whose connection may be closed already
            yield row
