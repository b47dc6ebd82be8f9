"""The checked lines of a dump: N-Triples, in files named `.ttl`, compressed or not.

One expression checks a line, 1.2 million lines a second, as fast as a parser that makes terms, and the bytes are used
unchanged. Lines that it does not match (escapes in IRIs, unusual blanks) go to a parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from hybridkg.datasets.dbpedia.read_ahead import ReadAhead
from hybridkg.errors import LoadError
from hybridkg.interfaces.progress import Progress
from hybridkg.rdf.input_file import CONVERT, InputFile

Triple: TypeAlias = tuple[bytes, bytes, bytes]
"""Subject and predicate as IRIs without brackets; the object as written, `<iri>` or `"text"@en`."""

MAX_LINE_LENGTH = 16 << 20
"""Bytes; the longest abstract of a dump has about 100,000."""

LINES_PER_REPORT = 20_000

MAX_SKIPPED = 100_000
"""Maximum skipped lines; a file with more is not a dump."""

_IRI = rb'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*'
_CODE = rb"(?:[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2})"
_ESCAPE = rb"\\(?:[tbnrf\"'\\]|u" + _CODE + rb"|U(?:0000" + _CODE + rb"|00(?:0[1-9A-Fa-f]|10)[0-9A-Fa-f]{4}))"
_LITERAL = (
    rb'"[^"\\\r\n]*(?:' + _ESCAPE + rb'[^"\\\r\n]*)*"'
    rb"(?:@[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*|\^\^<" + _IRI + rb">)?"
)
LINE = re.compile(rb"<(" + _IRI + rb")> +<(" + _IRI + rb")> +(<" + _IRI + rb">|" + _LITERAL + rb") *\. *\r?\n?")


@dataclass
class Lines:
    """Counts of the lines of a file: triples, skipped wrong lines, and `file:line` of the first of these."""

    triples: int = 0
    skipped: int = 0
    first: str = field(default="")


def triples_of(path: Path, progress: Progress, lines: Lines, *, lenient: bool = False) -> Iterator[Triple]:
    """The triples of a dump, without those of blank nodes.

    Args:
        path: the dump, possibly `.bz2`, `.gz` or `.xz`.
        progress: receives bytes and lines.
        lines: receives the counts.
        lenient: whether to skip wrong lines, up to MAX_SKIPPED, in place of an error.

    Raises:
        LoadError: the archive is damaged, or a line is not a triple, too long, or not UTF-8; names file and line.
    """
    match, number, reported, read = LINE.fullmatch, 0, 0, 0
    with InputFile(path) as file, ReadAhead(file) as ahead:
        progress.start(path.name, file.size)
        for number, line in enumerate(ahead.lines(MAX_LINE_LENGTH), 1):
            matched = match(line)
            if matched is not None and (line.isascii() or _is_utf8(line)):
                lines.triples += 1
                yield matched.groups()  # type: ignore[misc]
            elif line[:1] not in b"#\r\n":
                triple = _parsed(line, path, number, lines, lenient=lenient)
                if triple is not None:
                    lines.triples += 1
                    yield triple
            if number - reported == LINES_PER_REPORT:
                progress.advance(ahead.advanced - read, LINES_PER_REPORT)
                reported, read = number, ahead.advanced
        progress.advance(ahead.advanced - read, number - reported)
    progress.done(lines.triples)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parsed(line: bytes, path: Path, number: int, lines: Lines, *, lenient: bool) -> Triple | None:
    """The parser's triple of a line; None for a blank line, blank nodes, or a skipped line."""
    place = f"{path}:{number}"
    try:
        return _by_parser(line, place)
    except LoadError as e:
        if not lenient or len(line) > MAX_LINE_LENGTH:  # the rest of a cut line cannot be read
            raise
        lines.skipped += 1
        lines.first = lines.first or place
        if lines.skipped > MAX_SKIPPED:
            raise LoadError(
                f"more than {MAX_SKIPPED:,} lines are wrong, the first at {lines.first}; now: {e.message}", place=place
            ) from None
        return None


def _by_parser(line: bytes, place: str) -> Triple | None:
    from pyoxigraph import NamedNode, RdfFormat, parse

    if len(line) > MAX_LINE_LENGTH:
        raise LoadError(f"a line of more than {MAX_LINE_LENGTH >> 20} MB", place=place)
    try:
        quads = list(parse(line, format=RdfFormat.N_TRIPLES))
    except SyntaxError as e:
        if not _is_utf8(line):
            raise LoadError("not UTF-8 text", hint=CONVERT, place=place) from None
        reason = e.msg.partition(": ")[2] or e.msg
        shown = line[:80].decode(errors="replace").strip()
        raise LoadError(
            f"not a triple of N-Triples: {reason[:200]}: {shown!r}",
            hint="--lenient skips such lines, and counts them",
            place=place,
        ) from None
    if not quads:
        return None
    quad = quads[0]
    if not isinstance(quad.subject, NamedNode) or str(quad.object).startswith("_:"):
        return None
    subject, predicate, target = quad.subject.value, quad.predicate.value, str(quad.object)
    return subject.encode(), predicate.encode(), target.replace("\r", "\\r").replace("\n", "\\n").encode()
