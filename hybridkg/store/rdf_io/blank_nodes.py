"""Renaming of blank nodes to labels that are unique in a knowledge base: `d<document>x<number>`.

The label `_:a` in two files means two nodes, and the same file loaded again has new nodes (RDF 1.1 Semantics, section
5). Documents are numbered over the life of the knowledge base and nodes by their first appearance, so the same input
gives the same labels. Renaming works on N-Quads as text: 2 us a quad, where new Quad objects cost 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyoxigraph import RdfFormat, parse, serialize

from hybridkg.rdf.terms import Quad

MARK = b"_:"

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|<[^<>\s]*>|(_:\S+)')
"""Tokens in which a label may occur: strings and IRIs, which are left alone, and blank nodes (group 1)."""


@dataclass(frozen=True, slots=True)
class StatementBatch:
    """Some statements of a document, in no order.

    Args:
        statements: their number.
        plain: N-Quads of those without blank nodes.
        plain_statements: number of these.
        renamed: the others; can be read once.
        renamed_text: the others as N-Quads.
    """

    statements: int
    plain: bytes
    plain_statements: int
    renamed: Iterable[Quad] = ()
    renamed_text: bytes = b""


def has_blank_node(term: bytes) -> bool:
    """Whether a term in N-Triples is a blank node, or a triple term with one.

    >>> [has_blank_node(term) for term in (b"_:a", b'<<( <x:a> <x:p> "_:a" )>>', b"<<( _:a <x:p> <x:a> )>>")]
    [True, False, True]
    """
    return MARK in term and any(token[1] for token in _TOKEN.finditer(term))


class BlankNodeNames:
    """Renames the blank nodes of one document.

    >>> from hybridkg.rdf.terms import BlankNode, NamedNode
    >>> names = BlankNodeNames(3)
    >>> batch = names.renamed([Quad(BlankNode("a"), NamedNode("a:p"), BlankNode("b"))])
    >>> [str(quad.subject) for quad in batch.renamed]
    ['_:d3x1']
    """

    def __init__(self, document: int):
        self._prefix = f"_:d{document}x"
        self._known: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        """Blank nodes renamed so far."""
        return len(self._known)

    def renamed(self, quads: Sequence[Quad]) -> StatementBatch:
        """The quads with their blank nodes renamed."""
        text = serialize(quads, format=RdfFormat.N_QUADS)
        assert text is not None  # no output is given
        if MARK not in text:
            return StatementBatch(len(quads), text, len(quads))
        plain: list[bytes] = []
        marked: list[bytes] = []
        for line in text.split(b"\n"):
            (marked if MARK in line else plain).append(line)
        renamed = _TOKEN.sub(self._rename, b"\n".join(marked))
        of_renamed = parse(renamed, format=RdfFormat.N_QUADS, lenient=True)
        return StatementBatch(len(quads), b"\n".join(plain), len(quads) - len(marked), of_renamed, renamed)

    def _rename(self, match: re.Match[bytes]) -> bytes:
        label = match[1]
        if label is None:
            return match[0]
        name = self._known.get(label)
        if name is None:
            name = self._known[label] = f"{self._prefix}{len(self._known) + 1}".encode()
        return name
