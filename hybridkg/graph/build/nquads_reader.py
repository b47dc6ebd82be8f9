"""The reader of Oxigraph's N-Quads: numbered terms, predicates and kinds, and triples of these numbers.

The *kind* of a term is `BLANK_NODE`, `IRI`, `STRING`, or a further number for each language (`@en`) and datatype.
Triples with an object that the projection does not support (triple terms, literals with a base direction) are omitted,
and their predicates recorded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.rdf.terms import XSD

KERNEL = LazyKernel("hybridkg.graph.build.nquads_kernel")

BLANK_NODE, IRI, STRING, INTEGER, DECIMAL, DOUBLE, BOOLEAN = range(7)
FIRST_KINDS = (
    b"_", b"", *((XSD + name).encode() for name in ("string", "integer", "decimal", "double", "boolean"))
)  # fmt: skip
"""The names of these kinds; the first two differ from all languages and datatypes."""

TRIPLES_AT_ONCE = 1 << 16

U8: TypeAlias = NDArray[np.uint8]
U32: TypeAlias = NDArray[np.uint32]
I64: TypeAlias = NDArray[np.int64]


class UnsupportedGraphError(Exception):
    """The projection does not support a graph; the argument is the reason."""


@dataclass(frozen=True)
class DistinctTerms:
    """Distinct terms in the order of their numbers.

    Args:
        kinds: uint32[n].
        ends: int64[n + 1], offsets of the texts in `letters`.
        letters: the texts, unescaped.
        kind_names: `@` and a language, or a datatype.
        predicates: IRIs.
        omitted: for each predicate, whether triples were omitted.
    """

    kinds: U32
    ends: I64
    letters: U8
    kind_names: list[bytes]
    predicates: list[bytes]
    omitted: list[bool]


Take = Callable[[U32], None]
"""A consumer of uint32[n, 3], numbers of subjects, predicates and objects; the array is reused after the call."""


class CompiledReader:
    """The reader with the compiled kernel."""

    def __init__(self, kernel: ModuleType):
        self._kernel = kernel
        self._secret = np.uint64(int.from_bytes(os.urandom(8), "little"))
        self._terms, self._predicates, self._kinds = _Table(1 << 14), _Table(1 << 10), _Table(1 << 8)
        self._triples = np.empty((TRIPLES_AT_ONCE, 3), np.uint32)
        self._omitted = np.zeros(len(self._predicates.hashes), np.uint8)
        self._scratch = np.empty(0, np.uint8)
        self._at = np.zeros(6, np.int64)
        self._found = np.zeros(24, np.int64)
        for name in FIRST_KINDS:
            self._add(self._kinds, name)

    @property
    def size(self) -> tuple[int, int]:
        return self._terms.n, int(self._terms.ends[self._terms.n])

    def read(self, text: U8, every_graph: bool, take: Take, rows_of: bytes | None = None) -> int:
        """Reads whole lines of Oxigraph's N-Quads, named graphs only with `every_graph`; returns the number of lines.

        With `rows_of`, a predicate, lines are its subjects and objects in Oxigraph's SPARQL TSV.

        Raises:
            UnsupportedGraphError: the text is malformed.
        """
        number = -1 if rows_of is None else self._predicate(rows_of)
        if len(self._scratch) < len(text):
            self._scratch = np.empty(len(text), np.uint8)
        at, tables = self._at, (self._terms, self._predicates, self._kinds)
        for table in tables:
            table.reserve_letters(len(text))
        at[0] = at[5] = 0
        while True:
            at[1], at[2], at[3], at[4] = *(table.n for table in tables), 0
            status = self._kernel.cut(
                text, at, every_graph, number, self._secret, self._scratch, self._found,
                *(array for table in tables for array in table.arrays()), self._omitted, self._triples
            )  # fmt: skip
            for table, n in zip(tables, at[1:4].tolist(), strict=True):
                table.n = n
            if at[4]:
                take(self._triples[: at[4]])
            if status == self._kernel.DONE:
                return int(at[5])
            if status == self._kernel.BROKEN:
                raise _broken(bytes(text[int(at[0]) : int(at[0]) + 200]))
            self._grow()

    def _grow(self) -> None:
        for table in (self._terms, self._predicates, self._kinds):
            table.grow(self._kernel)
        if len(self._omitted) < len(self._predicates.hashes):
            omitted = np.zeros(len(self._predicates.hashes), np.uint8)
            omitted[: len(self._omitted)] = self._omitted
            self._omitted = omitted

    def _predicate(self, iri: bytes) -> int:
        self._grow()
        return self._add(self._predicates, iri)

    def _add(self, table: _Table, name: bytes) -> int:
        table.reserve_letters(len(name))
        text = np.frombuffer(name, np.uint8).copy()
        number: int = self._kernel.intern(
            text, 0, len(text), np.uint32(0), self._secret, *table.arrays(), table.n
        )  # fmt: skip
        table.n += number == table.n
        return number

    def terms(self) -> DistinctTerms:
        terms = self._terms
        n = self._predicates.n
        return DistinctTerms(
            terms.kinds[: terms.n],
            terms.ends[: terms.n + 1],
            terms.letters[: int(terms.ends[terms.n])],
            self._kinds.strings(),
            self._predicates.strings(),
            self._omitted[:n].astype(bool).tolist(),
        )


class _Table:
    """Numbered strings with kinds, and a hash table over them."""

    def __init__(self, size: int):
        self.n = 0
        self.slots = np.zeros(2 * size, np.uint64)
        self.hashes = np.empty(size, np.uint64)
        self.kinds = np.empty(size, np.uint32)
        self.ends = np.zeros(size + 1, np.int64)
        self.letters = np.empty(0, np.uint8)

    def arrays(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64], U32, I64, U8]:
        return self.slots, self.hashes, self.kinds, self.ends, self.letters

    def reserve_letters(self, more: int) -> None:
        used = int(self.ends[self.n])
        if len(self.letters) < used + more:
            letters = np.empty(max(used + more, 2 * used), np.uint8)
            letters[:used] = self.letters[:used]
            self.letters = letters

    def grow(self, kernel: ModuleType) -> None:
        """Doubles a table that is three quarters full."""
        if 4 * self.n < 3 * len(self.hashes):
            return
        size = 2 * len(self.hashes)
        for name, length in (("hashes", size), ("kinds", size), ("ends", size + 1)):
            old = getattr(self, name)
            new = np.empty(length, old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
        self.slots = np.zeros(2 * size, np.uint64)
        kernel.rehash(self.hashes, self.n, self.slots)

    def strings(self) -> list[bytes]:
        data, ends = self.letters[: int(self.ends[self.n])].tobytes(), self.ends[: self.n + 1].tolist()
        return [data[ends[i] : ends[i + 1]] for i in range(self.n)]


def _broken(line: bytes) -> UnsupportedGraphError:
    first, _, _ = line.partition(b"\n")
    return UnsupportedGraphError(f"a statement is not understood: {first.decode(errors='replace')}")


# --- reference implementation ----------------------------------------------------------

_NODE = rb"<(?!<)((?:[^>\\]|\\.)*)>|_:([^\s]+)"
_LITERAL = rb'"((?:[^"\\]|\\.)*)"(?:(@[^\s]*)|\^\^<((?:[^>\\]|\\.)*)>)?'
_STATEMENT_START = re.compile(rb"\n*(?:" + _NODE + rb") <((?:[^>\\]|\\.)*)> ", re.DOTALL)
_OBJECT = re.compile(rb"(?:" + _NODE + rb"|" + _LITERAL + rb"|((?!)))(?= )", re.DOTALL)
_ROW_START = re.compile(rb"\n*(?:" + _NODE + rb")\t", re.DOTALL)
_OBJECT_OF_ROW = re.compile(
    rb"(?:" + _NODE + rb"|" + _LITERAL + rb"|([-+.0-9][-+.0-9eE]*|true|false))(?=\n|$)", re.DOTALL
)
_ROW_END = re.compile(rb"\n|$")
_INSIDE = re.compile(rb'<<|>>|<(?:[^>\\]|\\.)*>|"(?:[^"\\]|\\.)*"(?:\^\^)?|.', re.DOTALL)
_STATEMENT_END = re.compile(rb" (?:(<(?:[^>\\]|\\.)*>|[^ .][^ ]*) )?\.(?:\n|$)", re.DOTALL)
_ESCAPE = re.compile(rb"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_LETTERS = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"b": b"\b", b"f": b"\f", b'"': b'"', b"'": b"'", b"\\": b"\\"}


class PlainReader:
    """The reference implementation of CompiledReader, in Python."""

    def __init__(self) -> None:
        self._terms: dict[tuple[int, bytes], int] = {}
        self._predicates: dict[bytes, int] = {}
        self._kinds: dict[bytes, int] = {name: i for i, name in enumerate(FIRST_KINDS)}
        self._omitted: set[int] = set()
        self._bytes = 0

    @property
    def size(self) -> tuple[int, int]:
        return len(self._terms), self._bytes

    def read(self, text: U8, every_graph: bool, take: Take, rows_of: bytes | None = None) -> int:
        data, at, lines = text.tobytes().rstrip(b"\n"), 0, 0
        triples: list[tuple[int, int, int]] = []
        while at < len(data):
            start = (_STATEMENT_START if rows_of is None else _ROW_START).match(data, at)
            if start is None:
                raise _broken(data[at : at + 200])
            object_ = (_OBJECT if rows_of is None else _OBJECT_OF_ROW).match(data, start.end())
            behind = object_.end() if object_ is not None else _behind_triple_term(data, start.end())
            end = (_STATEMENT_END if rows_of is None else _ROW_END).match(data, behind)
            if end is None:
                raise _broken(data[at : at + 200])
            at = end.end()
            lines += 1
            if rows_of is None and end[1] is not None and not every_graph:
                continue
            iri = unescaped(start[3]) if rows_of is None else rows_of
            predicate = self._predicates.setdefault(iri, len(self._predicates))
            kind = self._kind(object_)
            if object_ is None or kind is None:
                self._omitted.add(predicate)
                continue
            subject = self._term(BLANK_NODE, start[2]) if start[1] is None else self._term(IRI, start[1])
            target = next(part for part in object_.group(1, 2, 3, 6) if part is not None)
            triples.append((subject, predicate, self._term(kind, target)))
        if triples:
            take(np.array(triples, np.uint32))
        return lines

    def _kind(self, object_: re.Match[bytes] | None) -> int | None:
        if object_ is None or (object_[4] is not None and b"--" in object_[4]):
            return None
        if object_[1] is not None:
            return IRI
        if object_[2] is not None:
            return BLANK_NODE
        if (bare := object_[6]) is not None:
            if bare in (b"true", b"false"):
                return BOOLEAN
            return DOUBLE if b"e" in bare.lower() else DECIMAL if b"." in bare else INTEGER
        name = object_[4] if object_[4] is not None else unescaped(object_[5]) if object_[5] is not None else None
        return STRING if name is None else self._kinds.setdefault(name, len(self._kinds))

    def _term(self, kind: int, text: bytes) -> int:
        key = kind, unescaped(text)
        number = self._terms.setdefault(key, len(self._terms))
        if number == len(self._terms) - 1:
            self._bytes += len(key[1])
        return number

    def terms(self) -> DistinctTerms:
        texts = [text for _, text in self._terms]
        return DistinctTerms(
            np.array([kind for kind, _ in self._terms], np.uint32),
            np.cumsum([0, *map(len, texts)], dtype=np.int64),
            np.frombuffer(b"".join(texts), np.uint8),
            list(self._kinds),
            list(self._predicates),
            [number in self._omitted for number in range(len(self._predicates))],
        )


def _behind_triple_term(data: bytes, at: int) -> int:
    depth, start = 0, at
    while match := _INSIDE.match(data, at):
        depth += {b"<<": 1, b">>": -1}.get(match[0], 0)
        at = match.end()
        if depth <= 0:
            break
    if depth or data[start : start + 2] != b"<<":
        raise _broken(data[start : start + 200])
    return at


def unescaped(text: bytes) -> bytes:
    """The characters that a text of N-Quads or SPARQL TSV means."""
    return _ESCAPE.sub(_character, text) if b"\\" in text else text


def _character(escape: re.Match[bytes]) -> bytes:
    if escape[3] is None:
        code = int(escape[1] or escape[2], 16)
        if code <= 0x10FFFF and not 0xD800 <= code < 0xE000:
            return chr(code).encode()
    elif escape[3] in _LETTERS:
        return _LETTERS[escape[3]]
    raise _broken(escape[0])
