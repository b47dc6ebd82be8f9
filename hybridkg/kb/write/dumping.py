"""Dump of a knowledge base: its quads in an RDF format, and its text documents as JSON lines.

`load` reads both back: the same quads, with blank nodes under new labels, and the same documents. Turtle and TriG also
have the prefixes of the knowledge base; the formats of lines have none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING

from hybridkg.entities.documents.document_lines import LINES_PER_REPORT, MAX_LINE_LENGTH, TEXT_DOCUMENTS
from hybridkg.errors import LoadError, UserError
from hybridkg.interfaces.progress import Progress
from hybridkg.kb.write.care_reports import DumpReport, number_of
from hybridkg.rdf.input_file import COMPRESSIONS, extensions
from hybridkg.rdf.output_file import STDOUT, output_file
from hybridkg.store.dump_formats import DUMP_FORMATS, has_graphs, write_quads

if TYPE_CHECKING:
    from hybridkg.entities.documents.document_store import Documents
    from hybridkg.kb.snapshot import Snapshot

FIELDS_AT_ONCE = 16
"""Fields of one line: each opens a few files while the documents are read."""


def dump(state: Snapshot, path: Path, text: Path | None, progress: Progress) -> DumpReport:
    """Writes the graph, and with `text` the documents; both files take their names at the end, or none does.

    Args:
        state: the open generation.
        path: a file of DUMP_FORMATS, plain or compressed, or `-`: N-Quads on standard output.
        text: a .jsonl file, plain or compressed, or `-`; None to leave the documents out.
        progress: counts statements and documents.

    Raises:
        LoadError: the name of a file tells no format.
        UserError: the graph lies at an endpoint, or has named graphs, which the format has not.
        StorageError: a file cannot be written, or the graph not be read.
    """
    format_name = _checked_format(path)
    if text is not None:
        _check_text_name(path, text)
    if state.endpoint:
        raise UserError(
            f"the graph of {str(state.generation.path.parent)!r} lies at {state.endpoint}, and is not here",
            hint="ask that server for its dump",
        )
    if not DUMP_FORMATS[format_name].has_graphs and has_graphs(state.store):
        raise UserError(
            f"{DUMP_FORMATS[format_name].name} has no named graphs, and this knowledge base has some",
            hint=f"write N-Quads or TriG: {_with_extension(path, '.nq')}",
        )
    with ExitStack() as stack:
        statements_file = stack.enter_context(output_file(path))
        text_file = stack.enter_context(output_file(text)) if text is not None else None
        progress.start("writing the graph", state.quads)
        count = write_quads(
            state.store,
            statements_file,
            format_name,
            lambda n: progress.advance(n, n),
            state.prefixes.kept,
        )
        progress.done(count)
        documents = None
        if text_file is not None:
            documents = 0 if state.documents is None else _write_documents(state.documents, text_file, progress)
    return DumpReport(count, documents, _notes(state, text))


def _notes(state: Snapshot, text: Path | None) -> tuple[str, ...]:
    count = 0 if state.documents is None else len(state.documents)
    if text is not None or not count:
        return ()
    return (f"not in the dump: {number_of(count, 'text document')}; --text FILE.jsonl.gz writes them, too",)


def _checked_format(path: Path) -> str:
    """The extension of the format. Raises LoadError: unknown."""
    if path == STDOUT:
        return ".nq"
    extension = extensions(path)[0]
    if extension not in DUMP_FORMATS:
        hint = f"{_with_extension(path, '.nq')} has everything"
        if extension in TEXT_DOCUMENTS:
            hint = f"documents are written by --text {path}, beside the graph"
        known = f"{', '.join(DUMP_FORMATS)}, each also with {', '.join(COMPRESSIONS)}"
        raise LoadError(f"cannot tell the format of {str(path)!r} by its name; known: {known}", hint=hint)
    return extension


def _check_text_name(path: Path, text: Path) -> None:
    if path == text:
        raise LoadError(f"the graph and the documents cannot both be written to {str(path)!r}")
    if text != STDOUT and extensions(text)[0] not in TEXT_DOCUMENTS:
        raise LoadError(
            f"text documents are written as .jsonl, plain or .gz, .bz2, .xz; not as {str(text)!r}",
            hint=f"for example: --text {_with_extension(text, '.jsonl')}",
        )


def _with_extension(path: Path, extension: str) -> str:
    """The name of a file with another format, and the same compression.

    >>> _with_extension(Path("all.ttl.gz"), ".nq")
    'all.nq.gz'
    """
    if not path.name:
        return f"NAME{extension}"
    compression = extensions(path)[1]
    stem = path.with_suffix("") if compression else path
    return f"{stem.with_suffix(extension)}{compression}"


def _write_documents(documents: Documents, file: IO[bytes], progress: Progress) -> int:
    """Writes a line for each entity, or several for one with many fields or long texts; entities in term order.

    Returns:
        The number of lines.
    """
    fields, total, count = documents.fields(), len(documents), 0
    progress.start("writing documents", total)
    for first in range(0, len(fields), FIELDS_AT_ONCE):
        for line in _lines(documents, fields[first : first + FIELDS_AT_ONCE]):
            file.write(line)
            count += 1
            if count % LINES_PER_REPORT == 0:
                progress.advance(LINES_PER_REPORT, LINES_PER_REPORT)
    progress.done(count)
    return count


def _lines(documents: Documents, fields: tuple[str, ...]) -> Iterator[bytes]:
    def of(field: str) -> Iterator[tuple[str, str, list[str]]]:
        return ((str(node.value), field, texts) for node, texts in documents.stream(field))

    for iri, own in groupby(merge(*map(of, fields), key=itemgetter(0, 1)), key=itemgetter(0)):
        values = [(field, texts[0] if len(texts) == 1 else texts) for _, field, texts in own]
        line = _line(iri, values)
        yield from [line] if len(line) <= MAX_LINE_LENGTH else [_line(iri, [value]) for value in values]


def _line(iri: str, values: list[tuple[str, str | list[str]]]) -> bytes:
    return (json.dumps({"id": iri, **dict(values)}, ensure_ascii=False) + "\n").encode()
