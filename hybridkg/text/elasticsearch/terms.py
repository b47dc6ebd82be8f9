"""The vocabulary of a remote index, stored next to its header for `prefix*` and `fuzzy~1`.

Elasticsearch does not list the terms of a text field, and returns their df one by one. The arrays are those of an
embedded index:

    terms.offsets, terms.text   as in an embedded index
    field<i>.df                 for each term, the entities that have it in the field
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import groupby, islice
from pathlib import Path
from typing import Protocol

import numpy as np

from hybridkg.errors import CorruptError
from hybridkg.storage.array_edit import ArrayEdit
from hybridkg.text.elasticsearch.mapping import GAP
from hybridkg.text.index.layout import Array, ArrayReader, ArrayWriter, smallest_unsigned
from hybridkg.text.match_query.vocabulary import ArrayVocabulary, SortedTerms, encoded

OFFSETS, TEXT = "terms.offsets", "terms.text"

MAX_IN_MEMORY = 1_000_000
"""Terms of all fields in memory, about 100 bytes each; beyond, they are sorted into a file."""

MAX_FILES = 64
"""Sorted files that one merge reads."""

_AT_ONCE = 100_000


class TermSink(Protocol):
    """Receives the terms of documents."""

    def add(self, field: int, terms: Iterable[str]) -> None:
        """The terms of one field of one entity; gaps are ignored."""


Line = bytes
"""A term, a tab, and the number and frequency of each field that has it: `fish\\t0:3 2:1\\n`."""


class TermCollector:
    """Counts the terms of an index under construction, in memory up to `limit` terms, and in sorted runs."""

    def __init__(self, folder: Path, n_fields: int, limit: int = MAX_IN_MEMORY):
        self._folder, self._limit = folder, limit
        self._df: list[Counter[str]] = [Counter() for _ in range(n_fields)]
        self._in_memory = self._runs_written = 0
        self._files: list[Path] = []

    def add(self, field: int, terms: Iterable[str]) -> None:
        """Counts the distinct terms of one field of one entity; gaps are ignored."""
        counts = self._df[field]
        before = len(counts)
        counts.update(set(terms))
        self._in_memory += len(counts) - before
        if self._in_memory >= self._limit:
            self._spill()

    def write(self, out: ArrayWriter) -> int:
        """Writes the terms in the order of their UTF-8, and their frequencies; returns the number of terms."""
        if self._files:
            self._spill()
            while len(self._files) > 1:
                self._merge()
        n, size, max_df = 0, 0, [0] * len(self._df)
        for line in self._sorted():
            term, counts = _read(line)
            n, size = n + 1, size + len(term)
            for field, df in counts:
                max_df[field] = max(max_df[field], df)
        offsets, text = out.create(OFFSETS, "<u8", (n + 1,)), out.create(TEXT, "<u1", (size,))
        dfs = [out.create(f"field{i}.df", smallest_unsigned(largest), (n,)) for i, largest in enumerate(max_df)]
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
        if not self._files:
            yield from self._lines_in_memory()
            return
        with self._files[0].open("rb") as lines:
            yield from lines

    def _lines_in_memory(self) -> Iterator[Line]:
        for own in self._df:
            for no_term in (GAP, ""):
                own.pop(no_term, None)
        for term, key in sorted((encoded(term), term) for term in set().union(*self._df)):
            yield _line(term, ((i, own[key]) for i, own in enumerate(self._df) if key in own))

    def _spill(self) -> None:
        self._write_lines(self._lines_in_memory())
        self._df, self._in_memory = [Counter() for _ in self._df], 0

    def _merge(self) -> None:
        """Merges the oldest files into one."""
        paths, self._files = self._files[:MAX_FILES], self._files[MAX_FILES:]
        with ExitStack() as stack:
            lines = heapq.merge(*(stack.enter_context(path.open("rb")) for path in paths), key=_term_of)
            self._write_lines(_summed(term, list(own)) for term, own in groupby(lines, key=_term_of))
        for path in paths:
            path.unlink()

    def _write_lines(self, lines: Iterable[Line]) -> None:
        self._runs_written += 1
        path = self._folder / f"terms.{self._runs_written}.tmp"
        self._files.append(path)
        with path.open("wb") as file:
            file.writelines(lines)


class TermChanges:
    """The changes of document frequencies between two states of an index.

    >>> changes = TermChanges(1)
    >>> changes.add(0, ["red", "fish", "red"])
    >>> changes.of_removed().add(0, ["red"])
    >>> changes.terms()
    [(b'fish', [1])]
    """

    def __init__(self, n_fields: int):
        self._df: list[Counter[str]] = [Counter() for _ in range(n_fields)]

    def add(self, field: int, terms: Iterable[str]) -> None:
        """The terms of one field of one entity in the later state."""
        self._df[field].update(set(terms))

    def of_removed(self) -> TermSink:
        """Receives the terms of the earlier state."""
        return _RemovedTerms(self._df)

    def terms(self) -> list[tuple[bytes, list[int]]]:
        """The terms whose frequency differs in any field, in UTF-8 order, with the differences by field."""
        names = set().union(*self._df) - {GAP, ""}
        rows = ((encoded(name), [own[name] for own in self._df]) for name in names)
        return sorted(row for row in rows if any(row[1]))

    def write(self, earlier: ArrayReader, out: ArrayWriter) -> int:
        """Writes the vocabulary of the later state, as TermCollector would; returns the number of terms.

        Raises:
            CorruptError: the earlier vocabulary lacks a term that leaves.
        """
        offsets, text = earlier.array(OFFSETS), earlier.array(TEXT)
        terms, changes = SortedTerms(offsets, text), self.terms()
        if not changes:
            out.link(earlier, [OFFSETS, TEXT, *(f"field{i}.df" for i in range(len(self._df)))])
            return len(terms)
        places, known = terms.places([name for name, _ in changes])
        deltas = np.array([row for _, row in changes], np.int64)
        df = np.stack([earlier.array(f"field{i}.df").astype(np.int64) for i in range(len(self._df))])
        df[:, places[known]] += deltas[known].T
        if (df < 0).any() or (deltas[~known] < 0).any():
            raise CorruptError("the terms of the text index are not those of its texts", hint="index again")
        new = [name for (name, _), is_known in zip(changes, known.tolist(), strict=True) if not is_known]
        edit = ArrayEdit(len(terms), np.flatnonzero(~df.any(axis=0)), places[~known])
        lengths = edit.apply(np.diff(offsets.astype(np.int64)), np.array([len(name) for name in new], np.int64))
        with closing(out.stream(TEXT, np.uint8)) as stream:
            for part in edit.text_parts(text, offsets, new):
                stream.append(part)
        out.write(OFFSETS, np.concatenate(([0], np.cumsum(lengths))).astype(np.uint64))
        for i, own in enumerate(df):
            frequencies = edit.apply(own, deltas[~known, i])
            out.write(f"field{i}.df", frequencies.astype(smallest_unsigned(int(frequencies.max(initial=0)))))
        return edit.new_size


class _RemovedTerms:
    """Subtracts from the frequencies of TermChanges."""

    def __init__(self, df: list[Counter[str]]):
        self._df = df

    def add(self, field: int, terms: Iterable[str]) -> None:
        self._df[field].subtract(set(terms))


def _line(term: bytes, counts: Iterable[tuple[int, int]]) -> Line:
    return b"%b\t%b\n" % (term, " ".join(f"{field}:{df}" for field, df in counts).encode())


def _read(line: Line) -> tuple[bytes, list[tuple[int, int]]]:
    """The term, and (number of the field, frequency) of each field.

    >>> _read(b"fish\\t0:3 2:1\\n")
    (b'fish', [(0, 3), (2, 1)])
    """
    term, _, counts = line.rpartition(b"\t")
    pairs = [one.partition(b":") for one in counts.split()]
    return term, [(int(field), int(df)) for field, _, df in pairs]


def _term_of(line: Line) -> bytes:
    return line.rpartition(b"\t")[0]


def _summed(term: bytes, lines: Sequence[Line]) -> Line:
    if len(lines) == 1:
        return lines[0]
    total: Counter[int] = Counter()
    for line in lines:
        total.update(dict(_read(line)[1]))
    return _line(term, sorted(total.items()))


def stored_vocabulary(reader: ArrayReader, folder: Path, n_fields: int) -> ArrayVocabulary:
    """The vocabulary in a folder, which messages name.

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
        df: Array = dfs[field][terms]
        return df

    return ArrayVocabulary(SortedTerms(offsets, text), frequencies)
