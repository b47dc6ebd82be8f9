"""Rows of an endpoint's answer as lines of N-Triples, without an object for each term."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pyoxigraph import RdfFormat, parse

from hybridkg.errors import EndpointError
from hybridkg.rdf.solutions import Row
from hybridkg.rdf.terms import XSD, BlankNode
from hybridkg.store.endpoint.answers import malformed

MAX_LINE_LENGTH = 2**26
"""Bytes of a row."""

_SHORT = (
    (re.compile(r"[+-]?[0-9]+"), "integer"),
    (re.compile(r"[+-]?[0-9]*\.[0-9]+"), "decimal"),
    (re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+"), "double"),
    (re.compile("true|false"), "boolean"),
)
"""How TSV may write numbers and truth values (SPARQL 1.1 TSV, section 4), with their datatypes."""


def from_tsv(read: Callable[[], bytes], url: str, *, blank: bool) -> Iterator[bytes]:
    """The rows of SPARQL TSV as lines of N-Triples, without their ends.

    Raises:
        EndpointError: a row does not have three terms, or one that is not expected.
    """
    lines = _split(read, url)
    head = next(lines, b"").strip().split(b"\t")
    if [name.lstrip(b"?$") for name in head] != [b"s", b"p", b"o"]:
        raise EndpointError(f"{url} sent an answer that is malformed: no names of columns in its first line")
    for line in lines:
        cells = line.rstrip(b"\r").split(b"\t")
        if len(cells) != 3:
            raise EndpointError(f"{url} sent an answer that is malformed: a row of {len(cells)} cells, not of 3")
        subject, predicate, target = cells
        if not blank and (subject.startswith(b"_:") or target.startswith(b"_:")):
            raise EndpointError(f"{url} sent a blank node where none was asked for")
        if not target.startswith((b"<", b'"', b"_:")):
            target = _in_full(target, url)
        yield b"%s %s %s ." % (subject, predicate, target)


def from_rows(rows: Iterator[Row], url: str, *, blank: bool) -> Iterator[bytes]:
    """The same of rows that have been read."""
    for subject, predicate, target in rows:
        if not blank and (isinstance(subject, BlankNode) or isinstance(target, BlankNode)):
            raise EndpointError(f"{url} sent a blank node where none was asked for")
        yield f"{subject} {predicate} {target} .".encode()


def _in_full(token: bytes, url: str) -> bytes:
    text = token.decode("utf-8", "replace")
    for form, datatype in _SHORT:
        if form.fullmatch(text):
            return f'"{text}"^^<{XSD}{datatype}>'.encode()
    raise EndpointError(f"{url} sent an answer that is malformed: {text[:60]!r} is no term")


def _split(read: Callable[[], bytes], url: str) -> Iterator[bytes]:
    """Lines without their ends, the last one also where its end is missing."""
    kept: list[bytes] = []
    size = 0
    while piece := read():
        first, *others = piece.split(b"\n")
        kept.append(first)
        size += len(first)
        if size > MAX_LINE_LENGTH:
            raise EndpointError(f"{url} sent a row of more than {MAX_LINE_LENGTH:,} bytes")
        if others:
            yield b"".join(kept)
            yield from others[:-1]
            kept, size = [others[-1]], len(others[-1])
    if size:
        yield b"".join(kept)


def together(lines: Iterator[bytes], most: int = 2**20) -> Iterator[bytes]:
    """Whole lines with their ends, about 1 MiB together."""
    some: list[bytes] = []
    size = 0
    for line in lines:
        some.append(line)
        size += len(line)
        if size >= most:
            yield b"\n".join(some) + b"\n"
            some, size = [], 0
    if some:
        yield b"\n".join(some) + b"\n"


def checked(lines: bytes, url: str) -> int:
    """How many triples there are: as many as lines, or a token was none."""
    try:
        n = sum(1 for _ in parse(lines, format=RdfFormat.N_TRIPLES, lenient=True))
    except SyntaxError as e:
        raise malformed(url, e) from e
    if n != lines.count(b"\n"):
        raise EndpointError(f"{url} sent rows that are no triples")
    return n
