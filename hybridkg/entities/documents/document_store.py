"""Store of text documents outside the graph, compressed in `documents/`.

Every change adds one immutable segment: a later text of the same entity and field replaces the earlier one, and no text
removes it. SQLite sorts, so loading takes bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from hybridkg.compute.worker_process import Emit, WorkerLostError, WorkerProcess
from hybridkg.entities.documents.document_lines import check_name, read_documents
from hybridkg.entities.documents.document_segment import Row, packed, read_errors, unpacked
from hybridkg.entities.documents.next_segments import write_next
from hybridkg.entities.documents.segments import Segments, merged, newest_first
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.rdf.input_file import InputFile
from hybridkg.rdf.terms import NamedNode, Node

ASIDE_FROM = 32 << 20
"""Bytes of files from which a worker process handles documents; its start takes half a second."""

RECORDS_AT_ONCE = 1_000
"""Entities of a batch of the worker process."""


class Documents:
    """Read-only view of a `documents` folder; safe to use from many threads."""

    def __init__(self, segments: Segments):
        self._segments = segments

    @classmethod
    def open(cls, folder: Path) -> Documents:
        """Opens the documents of a generation.

        Raises:
            CorruptError: a segment is damaged.
        """
        return cls(Segments(newest_first(folder)))

    def fields(self) -> tuple[str, ...]:
        """Names of the fields that have texts, in alphabetical order."""
        return self._segments.fields

    def texts(self, entity: Node, field: str) -> list[str]:
        """Texts of one field of an entity; empty for none. About 20 us and the decompression."""
        return self._segments.texts(field, entity.value) if isinstance(entity, NamedNode) else []

    def document(self, entity: Node) -> dict[str, list[str]]:
        """Fields of an entity with their texts, in alphabetical order; empty for none."""
        return self._segments.document(entity.value) if isinstance(entity, NamedNode) else {}

    def stream(self, field: str) -> Iterator[tuple[Node, list[str]]]:
        """Entities with texts in the field, and these texts, in the order of the entities' IRIs.

        Raises:
            CorruptError: a segment is damaged.
        """
        for _, entity, stored, path in merged(self._segments.paths, field):
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
        if sum(path.stat().st_size for path in self._segments.paths) >= ASIDE_FROM:
            with WorkerProcess(_send_values, self._segments.paths, field) as process:
                try:
                    for batch in process:
                        yield from batch
                        taken += len(batch)
                    return
                except WorkerLostError:
                    pass
        yield from islice(_values(self._segments.paths, field), taken, None)

    def __len__(self) -> int:
        """Number of entities that have texts."""
        return self._segments.count_entities()


def _values(segments: Sequence[Path], field: str) -> Iterator[tuple[str, list[str]]]:
    for _, entity, stored, path in merged(segments, field):
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
    fields = set(Documents.open(previous).fields()) if previous is not None else set()
    counts: list[DocumentCount] = []
    write_next(previous, folder, _rows(paths, progress, fields, counts))
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
