"""Rows of an endpoint as lines of N-Triples, without an object for each term."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from pyoxigraph import RdfFormat, parse

from hybridkg.errors import EndpointError
from hybridkg.rdf.solutions import Row
from hybridkg.rdf.terms import XSD, BlankNode, read_triple_term, term_text
from hybridkg.store.endpoint.answers import malformed
from hybridkg.store.rdf_io.blank_nodes import has_blank_node

NODES = (b"_:", b"<<(")
"""Beginnings of the terms that are blank nodes, or may have some."""

MAX_LINE_LENGTH = 2**26
"""Bytes of a row."""

_SHORT = (
    (re.compile(r"[+-]?[0-9]+"), "integer"),
    (re.compile(r"[+-]?[0-9]*\.[0-9]+"), "decimal"),
    (re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+"), "double"),
    (re.compile("true|false"), "boolean"),
)
"""Short forms of numbers and booleans (SPARQL 1.1 TSV, section 4), with their datatypes."""


def from_tsv(read: Callable[[], bytes], url: str, *, blank: bool) -> Iterator[bytes]:
    """Lines of N-Triples, without ends, from SPARQL TSV. Raises EndpointError: a row is not an expected triple."""
    lines = _split(read, url)
    head = next(lines, b"").strip().split(b"\t")
    if [name.lstrip(b"?$") for name in head] != [b"s", b"p", b"o"]:
        raise EndpointError(f"{url} sent an answer that is malformed: no names of columns in its first line")
    for line in lines:
        cells = line.rstrip(b"\r").split(b"\t")
        if len(cells) != 3:
            raise EndpointError(f"{url} sent an answer that is malformed: a row of {len(cells)} cells, not of 3")
        subject, predicate, target = cells
        if not blank and (subject.startswith(b"_:") or (target.startswith(NODES) and has_blank_node(target))):
            raise EndpointError(f"{url} sent an unexpected blank node")
        if target.startswith(b"<<(") or not target.startswith((b"<", b'"', b"_:")):
            target = _in_full(target, url)
        yield b"%s %s %s ." % (subject, predicate, target)


def from_rows(rows: Iterator[Row], url: str, *, blank: bool) -> Iterator[bytes]:
    """As `from_tsv`, for rows of terms."""
    for subject, predicate, target in rows:
        text = "" if target is None else term_text(target)
        if not blank and (
            isinstance(subject, BlankNode) or (text[:2] in ("_:", "<<") and has_blank_node(text.encode()))
        ):
            raise EndpointError(f"{url} sent an unexpected blank node")
        yield f"{subject} {predicate} {text} .".encode()


def _in_full(token: bytes, url: str) -> bytes:
    """A number, a boolean or a triple term in N-Triples."""
    text = token.decode("utf-8", "replace")
    if text.startswith("<<("):
        with suppress(ValueError):
            return term_text(read_triple_term(text)).encode()
    for form, datatype in _SHORT:
        if form.fullmatch(text):
            return f'"{text}"^^<{XSD}{datatype}>'.encode()
    raise EndpointError(f"{url} sent an answer that is malformed: {text[:60]!r} is not a term")


def _split(read: Callable[[], bytes], url: str) -> Iterator[bytes]:
    """Lines without their ends; the last one may lack its end."""
    parts: list[bytes] = []
    size = 0
    while piece := read():
        first, *others = piece.split(b"\n")
        parts.append(first)
        size += len(first)
        if size > MAX_LINE_LENGTH:
            raise EndpointError(f"{url} sent a row of more than {MAX_LINE_LENGTH:,} bytes")
        if others:
            yield b"".join(parts)
            yield from others[:-1]
            parts, size = [others[-1]], len(others[-1])
    if size:
        yield b"".join(parts)


def together(lines: Iterator[bytes], block_size: int = 2**20) -> Iterator[bytes]:
    """Lines joined with their ends, in blocks of about 1 MiB."""
    block: list[bytes] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size >= block_size:
            yield b"\n".join(block) + b"\n"
            block, size = [], 0
    if block:
        yield b"\n".join(block) + b"\n"


def checked(lines: bytes, url: str) -> int:
    """The number of triples, after a check that each line is one."""
    try:
        n = sum(1 for _ in parse(lines, format=RdfFormat.N_TRIPLES, lenient=True))
    except SyntaxError as e:
        raise malformed(url, e) from e
    if n != lines.count(b"\n"):
        raise EndpointError(f"{url} sent rows that are not triples")
    return n
