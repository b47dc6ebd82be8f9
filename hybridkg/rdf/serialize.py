"""Serialization of triples."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Mapping
from typing import IO, cast

from pyoxigraph import RdfFormat, serialize

from hybridkg.rdf.terms import Triple

SYNTAXES = {
    "json-ld": RdfFormat.JSON_LD,
    "nt": RdfFormat.N_TRIPLES,
    "rdf-xml": RdfFormat.RDF_XML,
    "turtle": RdfFormat.TURTLE,
}
WITH_PREFIXES = ("rdf-xml", "turtle")


def serialize_to(
    write: Callable[[str], object],
    triples: Iterable[Triple],
    syntax: str,
    prefixes: Mapping[str, str] | None = None,
) -> None:
    """Writes triples in a syntax of SYNTAXES, in their order; Turtle and RDF/XML with the given prefixes.

    `write` gets pieces of about 8 KB while the triples are read. Errors of `write` and of `triples` are passed on.

    Raises:
        OSError: without a number, the syntax cannot write a triple.

    >>> from hybridkg.rdf.terms import Literal, NamedNode
    >>> serialize_to(print, [Triple(NamedNode("x:a"), NamedNode("x:p"), Literal("1"))], "nt")
    <x:a> <x:p> "1" .
    <BLANKLINE>
    """
    used = dict(prefixes) if prefixes and syntax in WITH_PREFIXES else None
    serialize(triples, cast(IO[bytes], _Text(write)), SYNTAXES[syntax], prefixes=used)


class _Text:
    """A binary file that passes UTF-8 on as text."""

    def __init__(self, write: Callable[[str], object]):
        self._write, self._decoder = write, getincrementaldecoder("utf-8")()

    def write(self, data: bytes) -> int:
        """Writes some bytes, which may end within a character."""
        self._write(self._decoder.decode(data))
        return len(data)

    def flush(self) -> None:
        """Does nothing: no text is held back."""
