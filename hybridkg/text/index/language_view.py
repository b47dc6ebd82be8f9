"""Views of fields in one language, as if they had no other literals.

Postings have no language. The index stores the runs of values of one language in each entity's field, by position, so
that the occurrences within a language, and with them lengths, df, cf and the number of entities, are counted when they
are requested, and cached. No posting is stored twice; a field without language tags stores nothing.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.ranking_model import Postings
from hybridkg.interfaces.text_index import IndexedField, speaks
from hybridkg.text.id_sets import NO_POSTINGS, NONE
from hybridkg.text.index.build.runs import NEXT_VALUE, U32, VALUE_GAP
from hybridkg.text.index.field_presence import Presence
from hybridkg.text.index.layout import Array, ArrayReader, ArrayWriter, smallest_unsigned
from hybridkg.text.index.postings import FieldPostings
from hybridkg.text.match_query.items import ResolvedField

MAX_CACHED_POSTINGS = 1_000_000
"""Cached occurrences in one language of one field; 4 to 12 bytes each."""

MAX_CACHED_LENGTHS = 2
"""Cached lengths of sets of ON fields with a language; 4 bytes for each field and entity."""

PARTS = ("entities", "starts", "tags", "tokens")


class TaggedValues:
    """The changes of language in the token stream of a field that is being built."""

    def __init__(self) -> None:
        self.records, self.slots, self.tags = array("I"), array("I"), array("I")
        self.numbers: dict[str, int] = {"": 0}
        """Lower-case tag -> number."""

    def number(self, tag: str) -> int:
        """The number of a tag."""
        return self.numbers.setdefault(tag.lower(), len(self.numbers))

    def start(self, record: int, slot: int, tag: str) -> None:
        """Starts a run at a slot of a record; values before the first run of a record have no tag."""
        self.records.append(record)
        self.slots.append(slot)
        self.tags.append(self.number(tag))

    def cut(self, length: int) -> None:
        """Truncates the runs to a length, where a record turned out empty."""
        del self.records[length:], self.slots[length:], self.tags[length:]

    def ordered(self, order: NDArray[np.intp]) -> tuple[U32, U32, U32]:
        """(record, slot, tag) uint32[r] each, after the records are permuted into this order."""
        rank = np.empty(len(order), np.uint32)
        rank[order] = np.arange(len(order), dtype=np.uint32)
        records = rank[np.frombuffer(self.records, np.uint32)]
        by_record = np.argsort(records, kind="stable")
        slots, tags = np.frombuffer(self.slots, np.uint32), np.frombuffer(self.tags, np.uint32)
        return records[by_record], slots[by_record], tags[by_record]


def places_of(tokens: U32, slots: U32, records: U32, starts: U32) -> tuple[U32, U32]:
    """The positions at which runs of values begin, and their numbers of tokens.

    Args:
        tokens: uint32[n], the concatenated token streams of the records.
        slots: uint32[m], the length of each stream.
        records: uint32[r], ascending, the record of each run.
        starts: uint32[r], its first slot.

    Returns:
        (position, indexed tokens), uint32[r] each. A run ends at the next run of its record, or with the record.
    """
    position = np.concatenate(([0], np.cumsum(np.where(tokens == NEXT_VALUE, VALUE_GAP, 1), dtype=np.int64)))
    real = np.concatenate(([0], np.cumsum(tokens < NEXT_VALUE, dtype=np.int64)))
    ends = np.cumsum(slots, dtype=np.int64)
    begins = ends - slots
    at = begins[records] + starts
    last = np.ones(len(records), bool)
    last[:-1] = records[1:] != records[:-1]
    until = np.where(last, ends[records], np.concatenate((at[1:], [0])))
    return (position[at] - position[begins[records]]).astype(np.uint32), (real[until] - real[at]).astype(np.uint32)


@dataclass(frozen=True)
class LanguageRuns:
    """The language runs of one field, in the order of entities and positions; uint32[r] each.

    A run has an entity, its first position, the number of its language in `languages` (sorted tags; from 1, 0 for none)
    and its number of tokens.
    """

    entities: U32
    starts: U32
    tags: U32
    tokens: U32
    languages: tuple[str, ...]

    @classmethod
    def of(cls, entities: U32, starts: U32, tags: U32, tokens: U32, numbers: dict[str, int]) -> LanguageRuns:
        """Runs that have a token, with tags renumbered in sorted order; an entity has no tag until its first one."""
        spoken = tokens > 0
        entities, starts, tags, tokens = entities[spoken], starts[spoken], tags[spoken], tokens[spoken]
        tagged = np.cumsum(tags > 0)
        begins = np.diff(entities.astype(np.int64), prepend=-1) != 0
        says = tagged > np.maximum.accumulate(np.where(begins, tagged - (tags > 0), 0))
        entities, starts, tags, tokens = entities[says], starts[says], tags[says], tokens[says]
        present = np.zeros(len(numbers), bool)
        present[tags] = True
        languages = tuple(sorted(tag for tag, number in numbers.items() if tag and present[number]))
        final = np.zeros(len(numbers), np.uint32)
        final[[numbers[tag] for tag in languages]] = np.arange(1, len(languages) + 1)
        return cls(entities, starts, final[tags], tokens, languages)

    def write(self, out: ArrayWriter, prefix: str) -> None:
        """Writes the arrays of a field that has any language."""
        if self.languages:
            for part in PARTS:
                values = getattr(self, part)
                out.write(f"{prefix}.languages.{part}", values.astype(smallest_unsigned(int(values.max()))))


class LanguagePostings:
    """The posting lists of one language of a field, as FieldPostings."""

    def __init__(self, reader: ArrayReader, prefix: str, whole: FieldPostings, languages: Sequence[str], wanted: str):
        entities, starts, tags, tokens = (reader.array(f"{prefix}.languages.{part}") for part in PARTS)
        self._whole = whole
        self._places = entities.astype(np.uint64) << np.uint64(32) | starts.astype(np.uint64)
        spoken = np.array([False, *(speaks(tag, wanted) for tag in languages)])
        self._spoken = spoken[tags]
        own = self._spoken & (tokens > 0)
        first = np.flatnonzero(np.diff(entities[own], prepend=np.array([-1])) != 0)
        self.ids = np.asarray(entities[own][first], np.uint32)
        """uint32[e], ascending: the entities that have a token in the language."""
        counts = tokens[own].astype(np.uint32)
        self.lengths = np.add.reduceat(counts, first) if len(first) else counts
        """uint32[e], tokens."""
        self._cached: dict[int, tuple[Postings, Array]] = {}
        self._size = 0
        self._lock = threading.Lock()

    @cached_property
    def tokens(self) -> int:
        """The number of tokens of all entities."""
        return int(self.lengths.sum(dtype=np.int64))

    def postings(self, term: int) -> Postings:
        """The posting list of a term."""
        return self._list(term)[0]

    def occurrences(self, term: int) -> int:
        """The cf of a term."""
        return len(self._list(term)[1])

    def positions(self, term: int) -> NDArray[Any]:
        """The positions of all occurrences, entity by entity, counted in the whole field."""
        return self._list(term)[1]

    def _list(self, term: int) -> tuple[Postings, Array]:
        cached = self._cached.get(term)
        if cached is None:
            cached = self._counted(term)
            with self._lock:
                self._size += len(cached[1]) + 1
                if self._size > MAX_CACHED_POSTINGS:
                    self._cached, self._size = {}, len(cached[1]) + 1
                self._cached[term] = cached
        return cached

    def _counted(self, term: int) -> tuple[Postings, Array]:
        whole, positions = self._whole.postings(term), self._whole.positions(term)
        if not len(whole.ids):
            return NO_POSTINGS, NONE
        ids = np.repeat(whole.ids, whole.tf.astype(np.int64)).astype(np.uint64)
        run = np.searchsorted(self._places, ids << np.uint64(32) | positions.astype(np.uint64), side="right") - 1
        own = (run >= 0) & self._spoken[run] & (self._places[run] >> np.uint64(32) == ids)
        starts = np.cumsum(whole.tf, dtype=np.int64) - whole.tf
        tf = np.add.reduceat(own, starts, dtype=np.uint32)
        return Postings(whole.ids[tf > 0], tf[tf > 0]), positions[own]


class Views:
    """The fields of an index, whole or in one language. Safe to use from many threads.

    postings, lengths (uint32[fields, nodes]), totals ((entities, tokens)) and presence are those of the whole fields.
    """

    def __init__(
        self,
        reader: ArrayReader,
        fields: Sequence[IndexedField],
        postings: Sequence[FieldPostings],
        lengths: NDArray[np.uint32],
        totals: Sequence[tuple[int, int]],
        presence: Presence,
    ):
        self._reader, self._fields, self._whole, self._totals = reader, fields, postings, totals
        self._whole_lengths, self._presence = lengths, presence
        self._views: dict[tuple[int, str], LanguagePostings] = {}
        self._text_lengths: dict[tuple[tuple[int, str], ...], NDArray[np.uint32]] = {}
        self._lengths: dict[tuple[tuple[int, str], ...], tuple[NDArray[np.uint32], int]] = {}
        self._lock = threading.Lock()

    @property
    def n_nodes(self) -> int:
        """Ids are below this."""
        return int(self._whole_lengths.shape[1])

    def postings(self, field: ResolvedField) -> FieldPostings | LanguagePostings:
        """The posting lists of a field."""
        return self._language(field) if field.language else self._whole[field.number]

    def totals(self, field: ResolvedField) -> tuple[int, int]:
        """(entities, tokens) of a field."""
        if not field.language:
            return self._totals[field.number]
        view = self._language(field)
        return len(view.ids), view.tokens

    def lengths(self, fields: Sequence[ResolvedField]) -> tuple[NDArray[np.uint32], Sequence[int]]:
        """uint32[rows, nodes], and the row of each field."""
        if not any(field.language for field in fields):
            return self._whole_lengths, [field.number for field in fields]
        return self._joined(fields)[0], range(len(fields))

    def text_lengths(self, fields: Sequence[ResolvedField]) -> NDArray[np.uint32]:
        """uint32[nodes]: tokens of all the fields."""
        lengths, rows = self.lengths(fields)
        if len(rows) == 1:
            return np.ascontiguousarray(lengths[rows[0]])
        key = tuple((field.number, field.language) for field in fields)
        total = self._text_lengths.get(key)
        if total is None:
            total = np.zeros(lengths.shape[1], np.uint32)
            for row in rows:
                total += lengths[row]
            with self._lock:
                while len(self._text_lengths) >= MAX_CACHED_LENGTHS:
                    del self._text_lengths[next(iter(self._text_lengths))]
                self._text_lengths[key] = total
        return total

    def entities(self, fields: Sequence[ResolvedField]) -> int:
        """The number of entities that have any of the fields."""
        if not any(field.language for field in fields):
            return self._presence.entities(field.number for field in fields)
        return self._joined(fields)[1]

    def _joined(self, fields: Sequence[ResolvedField]) -> tuple[NDArray[np.uint32], int]:
        """The lengths, uint32[fields, nodes], and the number of entities that have any of the fields."""
        key = tuple((field.number, field.language) for field in fields)
        joined = self._lengths.get(key)
        if joined is None:
            rows = np.zeros((len(fields), self._whole_lengths.shape[1]), np.uint32)
            for row, field in zip(rows, fields, strict=True):
                if field.language:
                    view = self._language(field)
                    row[view.ids] = view.lengths
                else:
                    row[:] = self._whole_lengths[field.number]
            joined = rows, int(np.count_nonzero(rows.any(axis=0)))
            with self._lock:
                while len(self._lengths) >= MAX_CACHED_LENGTHS:
                    del self._lengths[next(iter(self._lengths))]
                self._lengths[key] = joined
        return joined

    def _language(self, field: ResolvedField) -> LanguagePostings:
        key = (field.number, field.language)
        view = self._views.get(key)
        if view is None:
            languages = self._fields[field.number].languages or ()
            whole = self._whole[field.number]
            view = LanguagePostings(self._reader, f"field{field.number}", whole, languages, field.language)
            self._views[key] = view
        return view
