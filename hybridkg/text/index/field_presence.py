"""Counts of entities by the set of their fields, so that the N of any query fields is a small sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from hybridkg.errors import CorruptError
from hybridkg.text.index.layout import Array, ArrayReader, ArrayWriter, smallest_unsigned

MAX_FIELDS = 64
"""Maximum number of fields of an index: a set of fields is a 64-bit number."""

_NODES_AT_ONCE = 1_000_000


class Presence:
    """The counts of entities by sets of fields in an index."""

    def __init__(self, reader: ArrayReader):
        fields, entities = (reader.array(f"sets.{name}").tolist() for name in ("fields", "entities"))
        if len(fields) != len(entities):
            raise CorruptError("the sets of fields of the text index have the wrong size", hint="index again")
        self._sets = list(zip(fields, entities, strict=True))

    def entities(self, fields: Iterable[int]) -> int:
        """The number of entities that have any of the fields, by field numbers."""
        wanted = sum(1 << field for field in fields)
        return sum(count for members, count in self._sets if members & wanted)


@dataclass(frozen=True)
class FieldTotals:
    """Totals of the lengths of the fields of all entities.

    Args:
        entities: of each field, the entities that have it.
        tokens: of each field, the tokens of all of them.
        sets: the entities that have just the fields of a bit mask, for each mask but 0 that occurs.
        longest: of each field, the largest length, then that of the whole text of an entity.
    """

    entities: tuple[int, ...]
    tokens: tuple[int, ...]
    sets: Mapping[int, int]
    longest: tuple[int, ...]

    @classmethod
    def of(cls, lengths: Array) -> FieldTotals:
        """The totals of lengths, unsigned[fields, nodes], tokens, of at most 64 fields.

        >>> FieldTotals.of(np.array([[3, 0, 1], [0, 0, 2]], np.uint32))
        FieldTotals(entities=(2, 1), tokens=(4, 2), sets={1: 1, 3: 1}, longest=(3, 2, 3))
        """
        return cls(
            tuple(int(np.count_nonzero(row)) for row in lengths),
            tuple(int(row.sum(dtype=np.int64)) for row in lengths),
            _sets_of(lengths),
            _longest(lengths),
        )

    @classmethod
    def stored(cls, reader: ArrayReader) -> FieldTotals:
        """The totals of a segment."""
        about = reader.about("fields")
        fields, entities = (reader.array(f"sets.{name}").tolist() for name in ("fields", "entities"))
        return cls(
            tuple(about["entities"]),
            tuple(about["tokens"]),
            dict(zip(fields, entities, strict=True)),
            tuple(reader.array("peaks.longest").tolist()),
        )

    def changed(self, before: Array, after: Array) -> FieldTotals | None:
        """The totals when some entities get other lengths, unsigned[fields, n] each; None where a longest one of all
        may have got shorter.

        >>> totals = FieldTotals.of(np.array([[3, 0, 1]], np.uint32))
        >>> totals.changed(np.array([[1, 0]], np.uint32), np.array([[0, 2]], np.uint32))
        FieldTotals(entities=(2,), tokens=(5,), sets={1: 2}, longest=(3, 3))
        >>> totals.changed(np.array([[3]], np.uint32), np.array([[2]], np.uint32)) is None
        True
        """
        old, new = FieldTotals.of(before), FieldTotals.of(after)
        if any(
            left >= most and entered < most
            for most, left, entered in zip(self.longest, old.longest, new.longest, strict=True)
        ):
            return None
        sets = {
            members: self.sets.get(members, 0) - old.sets.get(members, 0) + new.sets.get(members, 0)
            for members in {*self.sets, *new.sets}
        }
        return FieldTotals(
            _moved(self.entities, old.entities, new.entities),
            _moved(self.tokens, old.tokens, new.tokens),
            {members: count for members, count in sets.items() if count},
            tuple(map(max, self.longest, new.longest)),
        )

    def write_sets(self, out: ArrayWriter) -> int:
        """Writes `sets.fields` and `sets.entities`; returns the number of entities that have any field."""
        out.write("sets.fields", np.array(sorted(self.sets), np.uint64))
        out.write("sets.entities", np.array([self.sets[members] for members in sorted(self.sets)], np.uint64))
        return sum(self.sets.values())


def _moved(totals: tuple[int, ...], left: tuple[int, ...], entered: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(total - less + more for total, less, more in zip(totals, left, entered, strict=True))


def _sets_of(lengths: Array) -> dict[int, int]:
    totals: dict[int, int] = {}
    for start in range(0, lengths.shape[1], _NODES_AT_ONCE):
        part = lengths[:, start : start + _NODES_AT_ONCE]
        sets = np.zeros(part.shape[1], smallest_unsigned((1 << len(lengths)) - 1))
        for i in range(len(lengths)):
            sets |= (part[i] > 0).astype(sets.dtype) << sets.dtype.type(i)
        for members, count in _counted(sets):
            if members:
                totals[members] = totals.get(members, 0) + count
    return totals


def _longest(lengths: Array) -> tuple[int, ...]:
    texts = lengths.sum(axis=0, dtype=np.uint32)
    return (*(int(row.max(initial=0)) for row in lengths), int(texts.max(initial=0)))


def _counted(sets: Array) -> Iterator[tuple[int, int]]:
    """The distinct values of an array, with their numbers."""
    if sets.itemsize > 2:  # too many values for a table
        values, counts = np.unique(sets, return_counts=True)
    else:
        counts = np.bincount(sets)
        values = np.flatnonzero(counts)
        counts = counts[values]
    return zip(values.tolist(), counts.tolist(), strict=True)


def describe_fields(fields: Iterable[tuple[str, float, float, str]], totals: FieldTotals) -> list[dict[str, object]]:
    """The fields, (name, weight, b, analyzer) each, for the header of an index, with their entities and tokens."""
    columns = fields, totals.entities, totals.tokens
    return [
        {"name": name, "weight": weight, "b": b, "analyzer": analyzer, "entities": entities, "tokens": tokens}
        for (name, weight, b, analyzer), entities, tokens in zip(*columns, strict=True)
    ]
