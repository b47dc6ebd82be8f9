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
"""How far a token moves so that the two marks come before the numbers (they wrap around to 0 and 1)."""


class FieldStream:
    """What has been analysed of a field so far.

    Args:
        path: of the temporary file.
    """

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
        """Adds records whose tokens are numbers of the whole index, of which there are `n_terms` by now."""
        if not stream.slots:
            return
        changes = (np.frombuffer(values, np.uint32) for values in _changes(stream.tagged)) if stream.tagged.tags else ()
        table = np.arange(n_terms, dtype=np.uint32)
        self._add(
            np.frombuffer(stream.tokens, np.uint32),
            table,
            np.frombuffer(stream.entities, np.uint32),
            np.frombuffer(stream.slots, np.uint32),
            tuple(changes),
            list(stream.tagged.numbers),
        )

    def add_batch(self, batch: AnalyzedBatch, entities: U32, table: U32) -> None:
        """Adds what came of a batch.

        Args:
            batch: of some records.
            entities: uint32[records], whose they are.
            table: uint32[terms of the batch], the numbers of its terms in the whole index.
        """
        changes = (batch.changed, batch.changed_at, batch.tags)
        self._add(batch.tokens, table, entities[batch.records], batch.slots, changes, list(batch.languages))

    def _add(
        self, tokens: U32, table: U32, entities: U32, slots: U32, changes: tuple[U32, ...], languages: list[str]
    ) -> None:
        whole = np.concatenate((np.array([NEXT_VALUE, NO_TERM], np.uint32), table))
        moved = tokens + np.uint32(MARKS)
        self._count(table, np.bincount(moved, minlength=len(whole))[MARKS:])
        if changes and len(changes[0]):
            tags = np.array([self.tagged.number(tag) for tag in languages], np.uint32)
            self.tagged.records.frombytes((changes[0] + np.uint32(len(self.slots))).tobytes())
            self.tagged.slots.frombytes(changes[1].tobytes())
            self.tagged.tags.frombytes(tags[changes[2]].tobytes())
        self.entities.frombytes(entities.tobytes())
        self.slots.frombytes(slots.tobytes())
        self._parts.append(whole[moved])
        self.n_tokens += len(tokens)
        self._in_memory += len(tokens)
        if self._in_memory > MAX_TOKENS_IN_MEMORY:
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
        """The slots of some records, one record after another; once everything is added and `finish` was called.

        Args:
            records: uint32[r], how many slots each has.
            starts: int64[r], where they begin in the stream.
        """
        n = int(records.sum(dtype=np.int64))
        ends = np.cumsum(records, dtype=np.int64)
        in_a_row = bool(np.all(starts[1:] == starts[:-1] + records[:-1]))
        if self._path.exists():
            if in_a_row:
                return np.fromfile(self._path, np.uint32, n, offset=4 * int(starts[0]))
            stream: Any = np.memmap(self._path, np.uint32, mode="r")  # unmapped again when this is done
        else:
            stream = self._parts[0]
            if in_a_row:
                first = int(starts[0])
                return np.asarray(stream[first : first + n])
        return np.asarray(stream[np.repeat(starts - (ends - records), records) + np.arange(n)])

    def finish(self) -> None:
        """Writes the rest, where there is a file."""
        if self._path.exists() and self._parts:
            with self._path.open("ab") as file:
                for part in self._parts:
                    part.tofile(file)
            self._parts = []
        elif len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]

    def remove(self) -> None:
        """Lets go of the tokens."""
        self._path.unlink(missing_ok=True)
        self._parts = []


def _changes(tagged: TaggedValues) -> tuple[array[int], ...]:
    return tagged.records, tagged.slots, tagged.tags
