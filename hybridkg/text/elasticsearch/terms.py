"""The terms of an index and how many entities have each, kept beside its header for `prefix*` and `fuzzy~1`.

The terms lie in the arrays of an embedded index. Elasticsearch does not list
those of a text field, and tells how common they are one by one.

    terms.offsets, terms.text   as in an embedded index
    field<i>.df                 for each term, the entities that have it in the field
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby, islice
from pathlib import Path

import numpy as np

from hybridkg.errors import CorruptError
from hybridkg.text.elasticsearch.mapping import GAP
from hybridkg.text.index.layout import Array, ArrayReader, ArrayWriter, smallest_unsigned
from hybridkg.text.match_query.vocabulary import ArrayVocabulary, SortedTerms, encoded

OFFSETS, TEXT = "terms.offsets", "terms.text"

MAX_IN_MEMORY = 1_000_000
"""Terms of all fields that wait in memory, about 100 bytes each; beyond, they are sorted into a file."""

MAX_FILES = 64
"""Sorted files that are merged at once."""

_AT_ONCE = 100_000

Line = bytes
"""A term, a tab, and the number and frequency of each field that has it: `fish\\t0:3 2:1\\n`."""


class TermCollector:
    """Counts the terms of an index under construction; `write` puts them into its folder.

    Args:
        folder: for temporary files.
        n_fields: of the index.
        most: terms that wait in memory.
    """

    def __init__(self, folder: Path, n_fields: int, most: int = MAX_IN_MEMORY):
        self._folder, self._most = folder, most
        self._df: list[Counter[str]] = [Counter() for _ in range(n_fields)]
        self._waiting = self._made = 0
        self._files: list[Path] = []

    def add(self, field: int, terms: Iterable[str]) -> None:
        """The terms of one field of one entity; gaps among them are passed over, and so is what comes again."""
        own = self._df[field]
        before = len(own)
        own.update(set(terms))
        self._waiting += len(own) - before
        if self._waiting >= self._most:
            self._spill()

    def write(self, out: ArrayWriter) -> int:
        """Writes the terms in the order of their UTF-8, and their frequencies; returns how many there are."""
        if self._files:
            self._spill()
            while len(self._files) > 1:
                self._merge()
        n, size, most = 0, 0, [0] * len(self._df)
        for line in self._sorted():
            term, counts = _read(line)
            n, size = n + 1, size + len(term)
            for field, df in counts:
                most[field] = max(most[field], df)
        offsets, text = out.create(OFFSETS, "<u8", (n + 1,)), out.create(TEXT, "<u1", (size,))
        dfs = [out.create(f"field{i}.df", smallest_unsigned(largest), (n,)) for i, largest in enumerate(most)]
        lines, at = self._sorted(), 0
        for start in range(0, n, _AT_ONCE):
            terms = []
            for number, line in enumerate(islice(lines, _AT_ONCE), start):
                term, counts = _read(line)
                terms.append(term)
                for field, df in counts:
                    dfs[field][number] = df
            ends = at + np.cumsum([len(term) for term in terms], dtype=np.uint64)
            offsets[start + 1 : start + 1 + len(terms)] = ends
            text[at : int(ends[-1])] = np.frombuffer(b"".join(terms), np.uint8)
            at = int(ends[-1])
        self.discard()
        return n

    def discard(self) -> None:
        """Removes the temporary files."""
        for path in self._files:
            path.unlink(missing_ok=True)
        self._files = []

    def _sorted(self) -> Iterator[Line]:
        """The lines of all terms, wherever they are."""
        if not self._files:
            yield from self._waiting_lines()
            return
        with self._files[0].open("rb") as lines:
            yield from lines

    def _waiting_lines(self) -> Iterator[Line]:
        """Those of the terms in memory."""
        for own in self._df:
            for no_term in (GAP, ""):
                own.pop(no_term, None)
        for term, key in sorted((encoded(term), term) for term in set().union(*self._df)):
            yield _line(term, ((i, own[key]) for i, own in enumerate(self._df) if key in own))

    def _spill(self) -> None:
        self._write_lines(self._waiting_lines())
        self._df, self._waiting = [Counter() for _ in self._df], 0

    def _merge(self) -> None:
        """Makes one file of the oldest ones."""
        paths, self._files = self._files[:MAX_FILES], self._files[MAX_FILES:]
        with ExitStack() as stack:
            lines = heapq.merge(*(stack.enter_context(path.open("rb")) for path in paths), key=_term_of)
            self._write_lines(_summed(term, list(own)) for term, own in groupby(lines, key=_term_of))
        for path in paths:
            path.unlink()

    def _write_lines(self, lines: Iterable[Line]) -> None:
        self._made += 1
        path = self._folder / f"terms.{self._made}.tmp"
        self._files.append(path)
        with path.open("wb") as file:
            file.writelines(lines)


def _line(term: bytes, counts: Iterable[tuple[int, int]]) -> Line:
    return b"%b\t%b\n" % (term, " ".join(f"{field}:{df}" for field, df in counts).encode())


def _read(line: Line) -> tuple[bytes, list[tuple[int, int]]]:
    """The term, and (number of the field, frequency) each.

    >>> _read(b"fish\\t0:3 2:1\\n")
    (b'fish', [(0, 3), (2, 1)])
    """
    term, _, counts = line.rpartition(b"\t")
    pairs = [one.partition(b":") for one in counts.split()]
    return term, [(int(field), int(df)) for field, _, df in pairs]


def _term_of(line: Line) -> bytes:
    return line.rpartition(b"\t")[0]


def _summed(term: bytes, lines: Sequence[Line]) -> Line:
    """The lines of one term as one."""
    if len(lines) == 1:
        return lines[0]
    total: Counter[int] = Counter()
    for line in lines:
        total.update(dict(_read(line)[1]))
    return _line(term, sorted(total.items()))


def stored_vocabulary(reader: ArrayReader, folder: Path, n_fields: int) -> ArrayVocabulary:
    """The vocabulary in a folder.

    Args:
        reader: of the folder.
        folder: for messages.
        n_fields: of the index.

    Raises:
        CorruptError: an array is missing, or of the wrong size.
    """
    offsets, text = reader.array(OFFSETS), reader.array(TEXT)
    dfs = [reader.array(f"field{i}.df") for i in range(n_fields)]
    if not len(offsets) or int(offsets[-1]) != len(text) or any(len(df) != len(offsets) - 1 for df in dfs):
        raise CorruptError(
            "the terms of the text index and their arrays differ in size", hint="index again", place=str(folder)
        )

    def frequencies(terms: Array, field: int) -> Array:
        found: Array = dfs[field][terms]
        return found

    return ArrayVocabulary(SortedTerms(offsets, text), frequencies)
