"""The sort of the token stream of a field, in chunks of ascending entities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.index.build.field_stream import MARKS, FieldStream
from hybridkg.text.index.build.merging import RunSpill, SpilledRun
from hybridkg.text.index.build.runs import NEXT_VALUE, NO_TERM, U32, PostingRun, chunks, sort_run
from hybridkg.text.index.language_view import LanguageRuns, places_of


def table_of(places: U32) -> U32:
    """uint32[2 + terms]: the final number of each token of a stream shifted by MARKS."""
    return np.concatenate((np.array([NEXT_VALUE, NO_TERM], np.uint32), places))


@dataclass(frozen=True)
class SortedChunk:
    """A sorted chunk: the place of its run in the temporary file; its entities, uint32[r], ascending, and the tokens of
    each, int64[r]; its largest position; its slots of the token stream.
    """

    run: SpilledRun
    entities: U32
    counts: NDArray[np.int64]
    largest_position: int
    slots: int


class FieldInOrder:
    """The records of a field in ascending order of their entities. Chunks can be sorted in many threads.

    Raises:
        ValueError: an entity was added twice.
    """

    def __init__(self, name: str, number: int, stream: FieldStream):
        self._number, self._stream = number, stream
        entities = np.frombuffer(stream.entities, np.uint32)
        slots = np.frombuffer(stream.slots, np.uint32)
        starts = np.cumsum(slots, dtype=np.int64) - slots
        if np.all(entities[1:] > entities[:-1]):
            order = np.arange(len(entities))
        else:
            order = np.argsort(entities, kind="stable")
            entities, slots, starts = entities[order], slots[order], starts[order]
            if np.any(entities[1:] == entities[:-1]):
                raise ValueError(f"field {name!r} of one entity was added twice")
        self._entities, self._slots, self._starts = entities, slots, starts
        self._changed, self._changed_at, self._tags = stream.tagged.ordered(order)
        self._positions = np.zeros(len(self._changed), np.uint32)
        self._lengths = np.zeros(len(self._changed), np.uint32)

    def chunks(self, limit: int) -> list[tuple[int, int]]:
        """Ranges of records, each of at most `limit` slots or of one record."""
        return list(chunks(self._slots, limit))

    def sort(self, first: int, last: int, table: U32, spill: RunSpill) -> SortedChunk:
        """Sorts the records first..last-1 with the `table_of` terms, and writes the run to `spill`."""
        run, entities, counts, slots = self.sorted(first, last, table)
        largest = int(run.positions.max()) if len(run.positions) else 0
        return SortedChunk(spill.write(run, self._number), entities, counts, largest, slots)

    def sorted(self, first: int, last: int, table: U32) -> tuple[PostingRun, U32, NDArray[np.int64], int]:
        """The run of the records first..last-1; their entities and the tokens of each; and their slots."""
        entities, slots = self._entities[first:last], self._slots[first:last]
        tokens = self._stream.tokens(slots, self._starts[first:last])
        tokens = table[tokens + np.uint32(MARKS)]
        run, counts = sort_run(tokens, entities, slots)
        inside = slice(*np.searchsorted(self._changed, (first, last)).tolist())
        if inside.stop > inside.start:
            records = self._changed[inside] - np.uint32(first)
            self._positions[inside], self._lengths[inside] = places_of(tokens, slots, records, self._changed_at[inside])
        return run, entities, counts, len(tokens)

    def languages(self) -> LanguageRuns:
        """The language runs; valid once every chunk is sorted."""
        entities, numbers = self._entities[self._changed], self._stream.tagged.numbers
        return LanguageRuns.of(entities, self._positions, self._tags, self._lengths, numbers)
