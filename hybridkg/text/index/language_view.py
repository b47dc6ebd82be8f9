"""Searches the literals of one language in a field, as if there were no others.

Postings do not tell languages apart. The index keeps where in each entity's
field the language changes (runs of values of one language, by position), so
that the occurrences within a language, and with them lengths, df, cf and the
number of entities, are counted when they are asked for, and remembered. No
posting is stored twice, and a field without any language tag stores nothing.
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
"""Occurrences in one language of one field that an open index remembers; 4 to 12 bytes each."""

MAX_CACHED_LENGTHS = 2
"""Sets of ON fields with a language whose lengths are kept side by side; 4 bytes for each field and entity."""

PARTS = ("entities", "starts", "tags", "tokens")


class TaggedValues:
    """Where the languages change in the token stream of a field that is being built."""

    def __init__(self) -> None:
        self.records, self.slots, self.tags = array("I"), array("I"), array("I")
        self.numbers: dict[str, int] = {"": 0}
        """Lower-case tag -> number."""

    def number(self, tag: str) -> int:
        """The number of a tag."""
        return self.numbers.setdefault(tag.lower(), len(self.numbers))

    def start(self, record: int, slot: int, tag: str) -> None:
        """From this slot of a record on, values have this tag; at the start of a record they have none."""
        self.records.append(record)
        self.slots.append(slot)
        self.tags.append(self.number(tag))

    def cut(self, length: int) -> None:
        """Forgets what was started since there were so many: the record came to nothing."""
        del self.records[length:], self.slots[length:], self.tags[length:]

    def ordered(self, order: NDArray[np.intp]) -> tuple[U32, U32, U32]:
        """(record, slot, tag) uint32[r] each, once the records are put in this order."""
        rank = np.empty(len(order), np.uint32)
        rank[order] = np.arange(len(order), dtype=np.uint32)
        records = rank[np.frombuffer(self.records, np.uint32)]
        kept = np.argsort(records, kind="stable")
        return records[kept], np.frombuffer(self.slots, np.uint32)[kept], np.frombuffer(self.tags, np.uint32)[kept]


def places_of(tokens: U32, slots: U32, records: U32, starts: U32) -> tuple[U32, U32]:
    """Where runs of values begin, and how many tokens they have.

    Args:
        tokens: uint32[n], the token streams of some records one after another.
        slots: uint32[m], the length of each record's stream.
        records: uint32[r], ascending, the record of each run.
        starts: uint32[r], the slot at which it begins.

    Returns:
        (position, indexed tokens), uint32[r] each. A run goes on to the next one of its record, or to its end.
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
    """The runs of one field, in the order of entities and positions; uint32[r] each.

    Args:
        entities: whose.
        starts: position at which it begins.
        tags: number of its language in `languages`, from 1; 0 for none.
        tokens: how many it has.
        languages: the tags that the field has, sorted.
    """

    entities: U32
    starts: U32
    tags: U32
    tokens: U32
    languages: tuple[str, ...]

    @classmethod
    def of(cls, entities: U32, starts: U32, tags: U32, tokens: U32, numbers: dict[str, int]) -> LanguageRuns:
        """From the numbers that tags got as they came; languages without a token are not kept."""
        present = np.zeros(len(numbers), bool)
        present[tags[tokens > 0]] = True
        languages = tuple(sorted(tag for tag, number in numbers.items() if tag and present[number]))
        final = np.zeros(len(numbers), np.uint32)
        final[[numbers[tag] for tag in languages]] = np.arange(1, len(languages) + 1)
        return cls(entities, starts, final[tags], tokens, languages)

    def write(self, out: ArrayWriter, prefix: str) -> None:
        """Writes the arrays, where there is any language."""
        if self.languages:
            for part in PARTS:
                values = getattr(self, part)
                out.write(f"{prefix}.languages.{part}", values.astype(smallest_unsigned(int(values.max()))))


class LanguagePostings:
    """What FieldPostings tells of a field, in one language of it."""

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
        """uint32[e]: how many."""
        self._known: dict[int, tuple[Postings, Array]] = {}
        self._size = 0
        self._lock = threading.Lock()

    @cached_property
    def tokens(self) -> int:
        """All entities together."""
        return int(self.lengths.sum(dtype=np.int64))

    def postings(self, term: int) -> Postings:
        """Entities and occurrences of a term."""
        return self._of(term)[0]

    def occurrences(self, term: int) -> int:
        """Occurrences of a term, all entities together."""
        return len(self._of(term)[1])

    def positions(self, term: int) -> NDArray[Any]:
        """Positions of all occurrences, entity by entity, counted in the whole field."""
        return self._of(term)[1]

    def _of(self, term: int) -> tuple[Postings, Array]:
        found = self._known.get(term)
        if found is None:
            found = self._counted(term)
            with self._lock:
                self._size += len(found[1]) + 1
                if self._size > MAX_CACHED_POSTINGS:
                    self._known, self._size = {}, len(found[1]) + 1
                self._known[term] = found
        return found

    def _counted(self, term: int) -> tuple[Postings, Array]:
        whole, positions = self._whole.postings(term), self._whole.positions(term)
        if not len(whole.ids):
            return NO_POSTINGS, NONE
        ids = np.repeat(whole.ids, whole.tf.astype(np.int64)).astype(np.uint64)
        run = np.searchsorted(self._places, ids << np.uint64(32) | positions.astype(np.uint64), side="right") - 1
        kept = (run >= 0) & self._spoken[run] & (self._places[run] >> np.uint64(32) == ids)
        starts = np.cumsum(whole.tf, dtype=np.int64) - whole.tf
        tf = np.add.reduceat(kept, starts, dtype=np.uint32)
        return Postings(whole.ids[tf > 0], tf[tf > 0]), positions[kept]


class Views:
    """The fields of an index as queries name them: whole, or in one language. Safe to use from many threads.

    Args:
        reader: has the arrays.
        fields: of the index.
        postings: of the whole fields.
        lengths: uint32[fields, nodes], of the whole fields.
        totals: (entities, tokens) of the whole fields.
        presence: counts entities with any of some whole fields.
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
        """The postings of a field."""
        return self._language(field) if field.language else self._whole[field.number]

    def totals(self, field: ResolvedField) -> tuple[int, int]:
        """Entities that have the field, and their tokens."""
        if not field.language:
            return self._totals[field.number]
        view = self._language(field)
        return len(view.ids), view.tokens

    def lengths(self, fields: Sequence[ResolvedField]) -> tuple[NDArray[np.uint32], Sequence[int]]:
        """uint32[rows, nodes], and the row of each field."""
        if not any(field.language for field in fields):
            return self._whole_lengths, [field.number for field in fields]
        return self._side_by_side(fields)[0], range(len(fields))

    def text_lengths(self, fields: Sequence[ResolvedField]) -> NDArray[np.uint32]:
        """uint32[nodes]: tokens of all the fields together."""
        lengths, rows = self.lengths(fields)
        if len(rows) == 1:
            return np.ascontiguousarray(lengths[rows[0]])
        key = tuple((field.number, field.language) for field in fields)
        found = self._text_lengths.get(key)
        if found is None:
            found = np.zeros(lengths.shape[1], np.uint32)
            for row in rows:
                found += lengths[row]
            with self._lock:
                while len(self._text_lengths) >= MAX_CACHED_LENGTHS:
                    del self._text_lengths[next(iter(self._text_lengths))]
                self._text_lengths[key] = found
        return found

    def entities(self, fields: Sequence[ResolvedField]) -> int:
        """How many have any of the fields."""
        if not any(field.language for field in fields):
            return self._presence.entities(field.number for field in fields)
        return self._side_by_side(fields)[1]

    def _side_by_side(self, fields: Sequence[ResolvedField]) -> tuple[NDArray[np.uint32], int]:
        key = tuple((field.number, field.language) for field in fields)
        found = self._lengths.get(key)
        if found is None:
            rows = np.zeros((len(fields), self._whole_lengths.shape[1]), np.uint32)
            for row, field in zip(rows, fields, strict=True):
                if field.language:
                    view = self._language(field)
                    row[view.ids] = view.lengths
                else:
                    row[:] = self._whole_lengths[field.number]
            found = rows, int(np.count_nonzero(rows.any(axis=0)))
            with self._lock:
                while len(self._lengths) >= MAX_CACHED_LENGTHS:
                    del self._lengths[next(iter(self._lengths))]
                self._lengths[key] = found
        return found

    def _language(self, field: ResolvedField) -> LanguagePostings:
        key = (field.number, field.language)
        view = self._views.get(key)
        if view is None:
            languages = self._fields[field.number].languages or ()
            whole = self._whole[field.number]
            view = LanguagePostings(self._reader, f"field{field.number}", whole, languages, field.language)
            self._views[key] = view
        return view
