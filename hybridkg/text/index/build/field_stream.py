"""The token stream of one field with the numbers of the whole index, in a temporary file where it is long."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.index.build.analysis_batch import AnalyzedBatch
from hybridkg.text.index.build.runs import NEXT_VALUE, NO_TERM, U32
from hybridkg.text.index.build.tokens import TokenStream
from hybridkg.text.index.language_view import TaggedValues

MAX_TOKENS_IN_MEMORY = 1_000_000

MARKS = 2
"""The shift of tokens that wraps the two marks around to 0 and 1, before the numbers."""


class FieldStream:
    """The token stream of a field so far; `path` is its temporary file."""

    def __init__(self, path: Path):
        self.entities, self.slots = array("I"), array("I")
        self.tagged = TaggedValues()
        self.n_tokens = 0
        """Slots, marks included."""
        self._path = path
        self._parts: list[U32] = []
        self._in_memory = 0
        self._counts = np.zeros(0, np.int64)

    def counts(self, n_terms: int) -> NDArray[np.int64]:
        """int64[n_terms], occurrences of each term."""
        counts = np.zeros(n_terms, np.int64)
        counts[: min(n_terms, len(self._counts))] = self._counts[:n_terms]
        return counts

    def add_stream(self, stream: TokenStream, n_terms: int) -> None:
        """Adds records whose tokens are numbers of the whole index, below `n_terms`."""
        if not stream.slots:
            return
        tagged = stream.tagged
        changes = (tagged.records, tagged.slots, tagged.tags) if tagged.tags else ()
        tokens, entities, slots, *runs = (
            np.frombuffer(values, np.uint32) for values in (stream.tokens, stream.entities, stream.slots, *changes)
        )
        self._add(tokens, np.arange(n_terms, dtype=np.uint32), entities, slots, tuple(runs), list(tagged.numbers))

    def add_batch(self, batch: AnalyzedBatch, entities: U32, table: U32) -> None:
        """Adds an analysed batch: entities, uint32[records]; table, uint32[terms of the batch], their index numbers."""
        changes = (batch.changed, batch.changed_at, batch.tags)
        self._add(batch.tokens, table, entities[batch.records], batch.slots, changes, list(batch.languages))

    def _add(
        self, tokens: U32, table: U32, entities: U32, slots: U32, changes: tuple[U32, ...], languages: list[str]
    ) -> None:
        with_marks = np.concatenate((np.array([NEXT_VALUE, NO_TERM], np.uint32), table))
        moved = tokens + np.uint32(MARKS)
        self._count(table, np.bincount(moved, minlength=len(with_marks))[MARKS:])
        if changes and len(changes[0]):
            tags = np.array([self.tagged.number(tag) for tag in languages], np.uint32)
            self.tagged.records.frombytes((changes[0] + np.uint32(len(self.slots))).tobytes())
            self.tagged.slots.frombytes(changes[1].tobytes())
            self.tagged.tags.frombytes(tags[changes[2]].tobytes())
        self.entities.frombytes(entities.tobytes())
        self.slots.frombytes(slots.tobytes())
        self._parts.append(with_marks[moved])
        self.n_tokens += len(tokens)
        self._in_memory += len(tokens)
        if self._in_memory > MAX_TOKENS_IN_MEMORY:
            self._spill()

    def _spill(self) -> None:
        with self._path.open("ab") as file:
            for part in self._parts:
                part.tofile(file)
        self._parts, self._in_memory = [], 0

    def _count(self, terms: U32, counts: NDArray[Any]) -> None:
        if not len(terms):
            return
        if (needed := int(terms.max()) + 1) > len(self._counts):
            grown = np.zeros(max(needed, 2 * len(self._counts)), np.int64)
            grown[: len(self._counts)] = self._counts
            self._counts = grown
        self._counts[terms] += counts

    def tokens(self, records: U32, starts: NDArray[np.int64]) -> U32:
        """The concatenated slots of records, after `finish`: records, uint32[r], slots of each; starts, int64[r]."""
        n = int(records.sum(dtype=np.int64))
        ends = np.cumsum(records, dtype=np.int64)
        contiguous = bool(np.all(starts[1:] == starts[:-1] + records[:-1]))
        if self._path.exists():
            if contiguous:
                return np.fromfile(self._path, np.uint32, n, offset=4 * int(starts[0]))
            stream: Any = np.memmap(self._path, np.uint32, mode="r")
        else:
            stream = self._parts[0] if self._parts else np.zeros(0, np.uint32)
            if contiguous:
                first = int(starts[0]) if n else 0
                return np.asarray(stream[first : first + n])
        return np.asarray(stream[np.repeat(starts - (ends - records), records) + np.arange(n)])

    def finish(self) -> None:
        """Completes the stream for `tokens`."""
        if self._path.exists() and self._parts:
            self._spill()
        elif len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]

    def remove(self) -> None:
        """Deletes the tokens."""
        self._path.unlink(missing_ok=True)
        self._parts = []
