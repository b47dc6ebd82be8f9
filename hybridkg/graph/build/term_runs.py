"""Runs: the distinct terms of parts of a graph, in files.

A part of the input is read until its terms reach the memory limit; then they are written as a run. Literals get the
store's canonical form, and the values of their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybridkg.graph.build.nquads_reader import (
    BLANK_NODE,
    FIRST_KINDS,
    I64,
    IRI,
    STRING,
    U32,
    DistinctTerms,
    UnsupportedGraphError,
)
from hybridkg.graph.build.spool import Spool
from hybridkg.graph.literal_order import SEGMENTS, literal_key
from hybridkg.rdf.stored import all_as_stored
from hybridkg.rdf.terms import XSD, Literal, NamedNode

CLASSES = 2 + len(SEGMENTS)
"""The number of classes of terms, each sorted separately: blank nodes, IRIs, and the segments of literals."""

_STRING, _LANGUAGE = 2, 3

MAX_NAMES = 4_000_000
"""The maximum number of distinct predicates, and of languages and datatypes; about 200 bytes of memory each."""

_XSD_INTEGER = NamedNode(XSD + "integer")

LITERALS_AT_ONCE = 20_000

_INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,17}")
_FROM_INTEGER = (
    "byte", "short", "int", "long", "unsignedByte", "unsignedShort", "unsignedInt", "unsignedLong",
    "nonNegativeInteger", "nonPositiveInteger", "positiveInteger", "negativeInteger"
)  # fmt: skip

KEPT = {
    **{XSD + name: (_INTEGER, XSD + "integer") for name in ("integer", *_FROM_INTEGER)},
    XSD + "decimal": (
        re.compile(rb"0|-?[1-9][0-9]{0,14}|-?(?:0|[1-9][0-9]{0,14})\.[0-9]{0,14}[1-9]"), XSD + "decimal"
    ),
    XSD + "boolean": (re.compile(rb"true|false"), XSD + "boolean"),
    XSD + "date": (re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}Z?"), XSD + "date"),
    XSD + "dateTime": (
        re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3])(?::[0-9]{2}){2}(?:\.[0-9]{0,5}[1-9])?Z?"),
        XSD + "dateTime"
    )
}  # fmt: skip
"""Canonical texts by datatype, and their datatype in the store. The store's own conversion costs 10 us a literal."""


@dataclass(frozen=True)
class TermRun:
    """A part of the input: its ranges of terms and triples, and uint32[p], the shared numbers of its predicates."""

    first: int
    end: int
    first_triple: int
    end_triple: int
    predicates: U32


class SharedNames:
    """A numbering of names shared by all runs, beginning with the names `first`."""

    def __init__(self, first: Iterable[bytes] = ()):
        self.numbers: dict[bytes, int] = {name: i for i, name in enumerate(first)}

    def of(self, names: list[bytes]) -> U32:
        """uint32[n]: the numbers of names.

        Raises:
            UnsupportedGraphError: there are more than MAX_NAMES.
        """
        numbers = self.numbers
        result = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.uint32, len(names))
        if len(numbers) > MAX_NAMES:
            raise UnsupportedGraphError(f"it has more than {MAX_NAMES:,} predicates, or languages and datatypes")
        return result


class Runs:
    """The concatenated terms and triples of all runs, in files; `stored` if literals are in canonical form already."""

    def __init__(self, folder: Path, *, stored: bool):
        self._stored = stored
        self.runs: list[TermRun] = []
        self.kinds, self.predicates = SharedNames(FIRST_KINDS), SharedNames()
        self.omitted: set[bytes] = set()
        self.letters = Spool(folder / "letters", np.uint8)
        self.starts = Spool(folder / "starts", np.int64)
        self.lengths = Spool(folder / "lengths", np.uint32)
        self.kind = Spool(folder / "kinds", np.uint32)
        self.classes = Spool(folder / "classes", np.uint8)
        self.values = Spool(folder / "values", np.float64)
        self.triples = Spool(folder / "triples", np.uint32, 3)

    def close(self) -> None:
        for spool in (
            self.letters, self.starts, self.lengths, self.kind, self.classes, self.values, self.triples
        ):  # fmt: skip
            spool.close()

    @property
    def terms(self) -> int:
        """The total number of terms; a term of several runs counts in each."""
        return self.starts.rows

    def add(self, terms: DistinctTerms) -> None:
        """Ends a run: adds the terms of the triples appended since the last one.

        Raises:
            UnsupportedGraphError: there are more than MAX_NAMES names.
        """
        self.omitted.update(name for name, left in zip(terms.predicates, terms.omitted, strict=True) if left)
        kinds = self.kinds.of(terms.kind_names)[terms.kinds]
        starts, lengths = terms.ends[:-1] + self.letters.rows, np.diff(terms.ends).astype(np.uint32)
        self.letters.append(terms.letters)
        classes, values = self._classes(kinds), np.zeros(len(kinds), np.float64)
        typed = np.flatnonzero(classes == CLASSES)
        for i in range(0, len(typed), LITERALS_AT_ONCE):
            self._settle(terms, typed[i : i + LITERALS_AT_ONCE], kinds, starts, lengths, classes, values)
        first = self.starts.rows
        for spool, array in (
            (self.starts, starts), (self.lengths, lengths), (self.kind, kinds), (self.classes, classes),
            (self.values, values)
        ):  # fmt: skip
            spool.append(array)
        first_triple = self.runs[-1].end_triple if self.runs else 0
        self.runs.append(
            TermRun(first, first + len(kinds), first_triple, self.triples.rows, self.predicates.of(terms.predicates))
        )

    def _classes(self, kinds: U32) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """The class of each term; CLASSES for literals with a datatype, whose class depends on the value."""
        of_kind = np.full(len(self.kinds.numbers), CLASSES, np.uint8)
        for name, number in self.kinds.numbers.items():
            if name.startswith(b"@"):
                of_kind[number] = _LANGUAGE
        of_kind[BLANK_NODE], of_kind[IRI], of_kind[STRING] = 0, 1, _STRING
        return of_kind[kinds]

    def _settle(
        self, terms: DistinctTerms, numbers: I64, kinds: U32, starts: I64, lengths: U32,
        classes: np.ndarray[tuple[int], np.dtype[np.uint8]], values: np.ndarray[tuple[int], np.dtype[np.float64]]
    ) -> None:  # fmt: skip
        """Sets the canonical form, class and value of literals with a datatype."""
        texts = [
            terms.letters[begin:end].tobytes()
            for begin, end in zip(terms.ends[numbers].tolist(), terms.ends[numbers + 1].tolist(), strict=True)
        ]
        names = list(self.kinds.numbers)
        own_kinds = kinds[numbers].tolist()
        datatypes = {kind: NamedNode(names[kind].decode()) for kind in set(own_kinds)}
        literals = [
            Literal(text.decode(), datatype=datatypes[kind]) for text, kind in zip(texts, own_kinds, strict=True)
        ]
        if not self._stored and (changed := list(_as_stored(literals, texts))):
            places = numbers[[i for i, _ in changed]]
            new = [literal.value.encode() for _, literal in changed]
            for i, literal in changed:
                literals[i] = literal
            kinds[places] = self.kinds.of([literal.datatype.value.encode() for _, literal in changed])
            lengths[places] = sizes = np.array([len(text) for text in new], np.uint32)
            starts[places] = self.letters.rows + np.cumsum(sizes, dtype=np.int64) - sizes
            self.letters.append(np.frombuffer(b"".join(new), np.uint8))
        keys = [literal_key(literal) for literal in literals]
        classes[numbers] = [2 + segment for segment, _, _ in keys]
        values[numbers] = [value for _, value, _ in keys]


def _as_stored(literals: list[Literal], texts: list[bytes]) -> Iterator[tuple[int, Literal]]:
    """(index, canonical form) of the literals that the store changes."""
    doubtful = []
    for i, literal in enumerate(literals):
        datatype = literal.datatype.value
        if not datatype.startswith(XSD):
            continue
        pattern, stored_as = KEPT.get(datatype, (None, ""))
        if pattern is None or not pattern.fullmatch(texts[i]):
            doubtful.append(i)
        elif stored_as != datatype:
            yield i, Literal(literal.value, datatype=_XSD_INTEGER)
    for i, stored in zip(doubtful, all_as_stored([literals[i] for i in doubtful]), strict=True):
        if stored != literals[i]:
            yield i, stored
