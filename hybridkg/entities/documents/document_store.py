"""Store of text documents outside the graph, compressed in `documents/`.

Every load adds one immutable segment and shares the older ones by hard links; a later text of the same entity and field
replaces the earlier one on reading. With MAX_SEGMENTS a load merges them. SQLite sorts, so loading takes bounded
memory.
"""

from __future__ import annotations

import heapq
import shutil
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path

from hybridkg.compute.worker_process import Emit, WorkerLostError, WorkerProcess
from hybridkg.entities.documents.document_lines import check_name, read_documents
from hybridkg.entities.documents.document_segment import (
    SUFFIX,
    Row,
    connect,
    packed,
    read_errors,
    unpacked,
    write_segment,
)
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.rdf.input_file import InputFile
from hybridkg.rdf.terms import NamedNode, Node

MAX_SEGMENTS = 8
"""Segments before a load merges them; a look-up reads one after the other."""

ASIDE_FROM = 32 << 20
"""Bytes of files from which a worker process handles documents; its start takes half a second."""

RECORDS_AT_ONCE = 1_000
"""Entities of a batch of the worker process."""


class Documents:
    """Read-only view of a `documents` folder; safe to use from many threads."""

    def __init__(self, segments: Sequence[Path], connections: Sequence[sqlite3.Connection]):
        self._segments, self._connections = segments, connections
        self._lock = threading.Lock()
        for connection in connections:
            weakref.finalize(self, connection.close)

    @classmethod
    def open(cls, folder: Path) -> Documents:
        """Opens the documents of a generation.

        Raises:
            CorruptError: a segment is damaged.
        """
        newest_first = sorted(folder.glob(f"*{SUFFIX}"), reverse=True)
        return cls(newest_first, [connect(path) for path in newest_first])

    def fields(self) -> tuple[str, ...]:
        """Names of the fields, in alphabetical order."""
        query = "SELECT MIN(field) FROM text WHERE field > ?"
        names: set[str] = set()
        for path, connection in zip(self._segments, self._connections, strict=True):
            with read_errors(path), self._lock:
                name = ""
                while (name := connection.execute(query, (name,)).fetchone()[0]) is not None:
                    names.add(name)
        return tuple(sorted(names))

    def texts(self, entity: Node, field: str) -> list[str]:
        """Texts of one field of an entity; empty for none. About 20 us and the decompression."""
        if not isinstance(entity, NamedNode):
            return []
        query, key = "SELECT texts FROM text WHERE field = ? AND entity = ?", (field, entity.value)
        for path, connection in zip(self._segments, self._connections, strict=True):
            with read_errors(path):
                with self._lock:
                    row = connection.execute(query, key).fetchone()
                if row is not None:
                    return unpacked(row[0])
        return []

    def stream(self, field: str) -> Iterator[tuple[Node, list[str]]]:
        """Entities with texts in the field, and these texts, in the order of the entities' IRIs.

        Raises:
            CorruptError: a segment is damaged.
        """
        for _, entity, stored, path in _merged(self._segments, field):
            if stored:
                with read_errors(path):
                    texts = unpacked(stored)
                yield NamedNode(entity), texts

    def values(self, field: str) -> Iterator[tuple[str, list[str]]]:
        """(token, texts: distinct, sorted, none blank) of the entities with texts in a field, in the same order.

        A worker process reads large segments, in parallel with the consumer.

        Raises:
            CorruptError: a segment is damaged.
        """
        taken = 0
        if sum(path.stat().st_size for path in self._segments) >= ASIDE_FROM:
            with WorkerProcess(_send_values, self._segments, field) as process:
                try:
                    for batch in process:
                        yield from batch
                        taken += len(batch)
                    return
                except WorkerLostError:
                    pass
        yield from islice(_values(self._segments, field), taken, None)

    def __len__(self) -> int:
        """Number of distinct entities of the documents."""
        if len(self._connections) == 1:
            with read_errors(self._segments[0]), self._lock:
                count: int = self._connections[0].execute("SELECT COUNT(*) FROM entity").fetchone()[0]
                return count
        with ExitStack() as stack:
            rows = [_entities(stack, path) for path in self._segments]
            return sum(1 for _ in groupby(heapq.merge(*rows)))


def _values(segments: Sequence[Path], field: str) -> Iterator[tuple[str, list[str]]]:
    for _, entity, stored, path in _merged(segments, field):
        if stored:
            with read_errors(path):
                texts = unpacked(stored)
            words = sorted({text for text in texts if text and not text.isspace()})
            if words:
                yield f"<{entity}>", words


def _send_values(emit: Emit, segments: Sequence[Path], field: str) -> None:
    """Work of the process: batches of `_values`."""
    values = _values(segments, field)
    while batch := list(islice(values, RECORDS_AT_ONCE)):
        emit(batch)


@dataclass(frozen=True, slots=True)
class DocumentCount:
    """Counts of one file: documents (lines) and texts in them."""

    name: str
    documents: int
    texts: int


def check_document_files(paths: Sequence[Path]) -> None:
    """Detects mistakes before anything is read or created.

    Raises:
        LoadError: a file is missing, a folder, unreadable, or without an extension of text documents.
    """
    for path in paths:
        with InputFile(path) as file:
            check_name(file)


def add_documents(
    paths: Sequence[Path], previous: Path | None, folder: Path, progress: Progress = SILENT
) -> list[DocumentCount]:
    """Adds files of documents to those of the previous generation, and returns the counts of each file.

    Args:
        paths: .jsonl files, plain or compressed; later documents replace earlier ones field by field.
        previous: the `documents` folder of the live generation, or None.
        folder: the new `documents` folder; must not exist.
        progress: gets each file's name and size, and bytes and documents read.

    Raises:
        LoadError: a file cannot be read, or a line is malformed; has file and line.
        OSError: the disk is full or fails.
    """
    check_document_files(paths)
    folder.mkdir()
    old = sorted(previous.glob(f"*{SUFFIX}")) if previous is not None else []
    for path in old:
        try:
            (folder / path.name).hardlink_to(path)
        except OSError:
            shutil.copyfile(path, folder / path.name)
    number = int(old[-1].stem) + 1 if old else 1
    fields = set(Documents.open(folder).fields()) if old else set()
    counts: list[DocumentCount] = []
    write_segment(folder / f"{number:06d}{SUFFIX}", _rows(paths, progress, fields, counts))
    if len(old) + 1 > MAX_SEGMENTS:
        _merge_all(folder, number + 1)
    return counts


def _rows(paths: Sequence[Path], progress: Progress, fields: set[str], counts: list[DocumentCount]) -> Iterator[Row]:
    for path in paths:
        with InputFile(path) as file:
            progress.start(str(path), file.size)
            documents = texts = 0
            for document in read_documents(file, progress, fields):
                documents += 1
                texts += sum(len(values) for _, values in document.fields)
                yield from ((field, document.id, packed(values)) for field, values in document.fields)
            progress.done(documents)
            counts.append(DocumentCount(str(path), documents, texts))


def check_segments(
    folder: Path, *, every: int = 1, advanced: Callable[[int], None] = lambda rows: None
) -> tuple[int, int]:
    """Reads all rows of a `documents` folder, and unpacks every so many; returns the numbers of documents and rows.

    Raises:
        CorruptError: a segment cannot be read, is not sorted, or lists other entities than its texts have.
    """
    rows = 0
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with ExitStack() as stack, read_errors(path):
            previous, entities = ("", ""), set[str]()
            for field, entity, _, stored in _segment_rows(stack, 0, path, None):
                if (field, entity) <= previous:
                    raise ValueError(f"its rows are not sorted at {entity!r}")
                previous, rows = (field, entity), rows + 1
                entities.add(entity)
                if rows % every == 0:
                    unpacked(stored)
                    advanced(every)
            listed = [entity for (entity,) in _entities(stack, path)]
            if len(listed) != len(entities) or not entities.issuperset(listed):
                raise ValueError("its list of entities is not that of its texts")
    return len(Documents.open(folder)), rows


def _merge_all(folder: Path, number: int) -> None:
    segments = sorted(folder.glob(f"*{SUFFIX}"), reverse=True)
    rows = ((field, entity, stored) for field, entity, stored, _ in _merged(segments, None))
    write_segment(folder / f"{number:06d}{SUFFIX}", rows)
    for path in segments:
        path.unlink()


def _merged(newest_first: Sequence[Path], field: str | None) -> Iterator[tuple[str, str, bytes, Path]]:
    """The newest row of each (field, entity) of all segments, in that order."""
    with ExitStack() as stack:
        rows = [_segment_rows(stack, age, path, field) for age, path in enumerate(newest_first)]
        for _, same in groupby(heapq.merge(*rows), key=itemgetter(0, 1)):
            row_field, entity, age, stored = next(same)
            yield row_field, entity, stored, newest_first[age]


def _segment_rows(stack: ExitStack, age: int, path: Path, field: str | None) -> Iterator[tuple[str, str, int, bytes]]:
    connection = stack.enter_context(closing(connect(path)))
    query, key = "SELECT field, entity, ?, texts FROM text ORDER BY field, entity", (age,)
    if field is None:
        return _fetched(path, connection.execute(query, key))
    query = query.replace("ORDER BY", "WHERE field = ? ORDER BY")
    return _fetched(path, connection.execute(query, (age, field)))


def _entities(stack: ExitStack, path: Path) -> Iterator[tuple[str]]:
    connection = stack.enter_context(closing(connect(path)))
    return _fetched(path, connection.execute("SELECT entity FROM entity ORDER BY entity"))


def _fetched(path: Path, cursor: sqlite3.Cursor) -> Iterator[tuple]:  # type: ignore[type-arg]
    with read_errors(path):
        for row in cursor:  # noqa: UP028 - it would call `cursor.close` when a reader stops early, perhaps too late
            yield row
