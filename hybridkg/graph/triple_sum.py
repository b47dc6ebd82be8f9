"""Sums of hashes of triples: equal for equal sets of triples, in whatever order they are read.

Each distinct term has a 64-bit hash, a triple the mix of its three, and a set the sum of its
triples modulo 2^64. One changed, lost or added triple changes the sum except with probability 2^-64; a sum is against
damage and bugs, not against malice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.build.nquads_reader import unescaped
from hybridkg.graph.columns import Adjacency, ProjectionColumns
from hybridkg.rdf.term_texts import BLANK_TAG, IRI_TAG, TermTexts
from hybridkg.rdf.terms import XSD, XSD_STRING

Hashes = NDArray[np.uint64]

AT_ONCE = 1 << 16
"""Terms and triples in memory at once."""

_ODD = tuple(np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))
_MIX = tuple(np.uint64(n) for n in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB))

_IRI, _BLANK, _STRING = IRI_TAG.encode(), BLANK_TAG.encode(), XSD_STRING.value.encode()

OMITTED = 0
"""In place of the hash of a term that no projection has."""

MAX_CACHED_TERMS = 300_000
"""About 200 bytes each."""


@dataclass(frozen=True, slots=True)
class TripleSum:
    """The number of triples of a set, and the sum of their hashes.

    >>> TripleSum(1, 2**64 - 1) + TripleSum(1, 3)
    TripleSum(triples=2, total=2)
    """

    triples: int = 0
    total: int = 0

    def __add__(self, other: TripleSum) -> TripleSum:
        return TripleSum(self.triples + other.triples, (self.total + other.total) % 2**64)

    @classmethod
    def of(cls, hashes: Hashes) -> TripleSum:
        """The sum of some triples."""
        return cls(len(hashes), int(hashes.sum(dtype=np.uint64)))


def term_hash(tag: bytes, text: bytes) -> int:
    """The hash of a term with a tag of TermTexts."""
    return int.from_bytes(blake2b(tag + b"\0" + text, digest_size=8).digest(), "little")


def mixed(subjects: Hashes, predicates: Hashes, objects: Hashes) -> Hashes:
    """uint64[n]: the hashes of triples (the finaliser of splitmix64; Steele, Lea and Flood, OOPSLA 2014)."""
    mix: Hashes = subjects * _ODD[0] + predicates * _ODD[1] + objects * _ODD[2]
    mix ^= mix >> np.uint64(30)
    mix *= _MIX[0]
    mix ^= mix >> np.uint64(27)
    mix *= _MIX[1]
    mix ^= mix >> np.uint64(31)
    return mix


def predicate_hash(iri: str) -> Hashes:
    """uint64[1]: the hash of a predicate."""
    return np.array([term_hash(_IRI, iri.encode("utf-8", "surrogatepass"))], np.uint64)


class RowHashes:
    """Hashes of the triples that Oxigraph writes as rows of SPARQL TSV; terms that recur are hashed once."""

    def __init__(self) -> None:
        self._terms = _TokenHashes()

    def of(self, iri: str, text: bytes) -> tuple[Hashes, int]:
        """The hashes of triples of one predicate, and the number of those that a projection omits.

        Args:
            iri: of the predicate.
            text: subjects and objects, in whole lines.
        """
        tokens = text.rstrip(b"\n").replace(b"\n", b"\t").split(b"\t") if text else []
        if len(self._terms) > MAX_CACHED_TERMS:
            self._terms.clear()
        own = np.fromiter(map(self._terms.__getitem__, tokens), np.uint64, len(tokens)).reshape(-1, 2)
        kept = own[own[:, 1] != OMITTED]
        return mixed(kept[:, 0], predicate_hash(iri), kept[:, 1]), len(own) - len(kept)


class _TokenHashes(dict[bytes, int]):
    """Token of SPARQL TSV -> hash of its term, OMITTED for one that no projection has."""

    def __missing__(self, token: bytes) -> int:
        tag, text = _split(token)
        value = self[token] = OMITTED if tag is None else term_hash(tag, unescaped(text))
        return value


def _split(token: bytes) -> tuple[bytes | None, bytes]:
    """(tag of TermTexts, escaped text) of a token; the tag is None for a triple, or a literal with a direction.

    >>> _split(b'"rot"@de'), _split(b"<x:a>"), _split(b"1e0")[0][-6:]
    ((b'@de', b'rot'), (b'<>', b'x:a'), b'double')
    """
    if token.startswith(b"<"):
        return (None, token) if token.startswith(b"<<") else (_IRI, token[1:-1])
    if token.startswith(b"_:"):
        return _BLANK, token[2:]
    if not token.startswith(b'"'):
        kind = b"boolean" if token in (b"true", b"false") else b"integer"
        kind = b"double" if b"e" in token.lower() and kind == b"integer" else b"decimal" if b"." in token else kind
        return XSD.encode() + kind, token
    end = token.rindex(b'"')
    text, rest = token[1:end], token[end + 1 :]
    if rest.startswith(b"@"):
        return None if b"--" in rest else rest, text
    return unescaped(rest[3:-1]) if rest else _STRING, text


def sums_of_projection(
    columns: ProjectionColumns, advanced: Callable[[int], None] = lambda n: None
) -> tuple[TripleSum, TripleSum]:
    """The sums of a projection by its two directions, which have the same triples.

    Memory: 8 bytes for each term. `advanced` is called with numbers of triples that add up to those of one direction.
    """
    own = np.fromiter(_hashes_of_terms(columns), np.uint64, columns.terms.n_terms)
    forward = backward = TripleSum()
    for iri, predicate in columns.predicates.items():
        middle = predicate_hash(iri)
        for sources, targets in _pairs(predicate.forward):
            forward += TripleSum.of(mixed(own[sources], middle, own[targets]))
            advanced(len(sources))
        for sources, targets in _pairs(predicate.backward):
            backward += TripleSum.of(mixed(own[targets], middle, own[sources]))
    return forward, backward


def _hashes_of_terms(columns: ProjectionColumns) -> Iterator[int]:
    n = columns.terms.n_terms
    for first in range(0, n, AT_ONCE):
        texts = columns.terms.texts(np.arange(first, min(first + AT_ONCE, n), dtype=np.uint32))
        yield from _hashes_of_texts(texts)


def _hashes_of_texts(texts: TermTexts) -> Iterator[int]:
    data, ends, tags = texts.data.tobytes(), texts.offsets.tolist(), [tag.encode() for tag in texts.tags]
    for kind, begin, end in zip(texts.kinds.tolist(), ends, ends[1:], strict=False):
        yield term_hash(tags[kind], data[begin:end])


def _pairs(adjacency: Adjacency) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """(sources, targets) of the triples, a block at a time; a source with many targets is one block."""
    offsets = adjacency.offsets.astype(np.int64)
    first, n = 0, len(adjacency.keys)
    while first < n:
        end = max(first + 1, int(np.searchsorted(offsets, offsets[first] + AT_ONCE, side="right")) - 1)
        counts = offsets[first + 1 : end + 1] - offsets[first:end]
        yield np.repeat(adjacency.keys[first:end], counts), adjacency.targets[int(offsets[first]) : int(offsets[end])]
        first = end
