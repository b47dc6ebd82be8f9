"""Counts of entities by the set of their fields, so that the N of any query fields is a small sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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


def write_presence(out: ArrayWriter, lengths: Array) -> int:
    """Writes `sets.fields` and `sets.entities`, by lengths, unsigned[fields, nodes], tokens, of at most 64 fields.

    Returns:
        The number of entities that have any field.
    """
    totals: dict[int, int] = {}
    for start in range(0, lengths.shape[1], _NODES_AT_ONCE):
        part = lengths[:, start : start + _NODES_AT_ONCE]
        sets = np.zeros(part.shape[1], smallest_unsigned((1 << len(lengths)) - 1))
        for i in range(len(lengths)):
            sets |= (part[i] > 0).astype(sets.dtype) << sets.dtype.type(i)
        for members, count in _counted(sets):
            if members:
                totals[members] = totals.get(members, 0) + count
    out.write("sets.fields", np.array(sorted(totals), np.uint64))
    out.write("sets.entities", np.array([totals[s] for s in sorted(totals)], np.uint64))
    return sum(totals.values())


def _counted(sets: Array) -> Iterator[tuple[int, int]]:
    """The distinct values of an array, with their numbers."""
    if sets.itemsize > 2:  # too many values for a table
        values, counts = np.unique(sets, return_counts=True)
    else:
        counts = np.bincount(sets)
        values = np.flatnonzero(counts)
        counts = counts[values]
    return zip(values.tolist(), counts.tolist(), strict=True)


def describe_fields(fields: Iterable[tuple[str, float, float, str]], lengths: Array) -> list[dict[str, object]]:
    """The fields, (name, weight, b, analyzer) each, for the header of an index, with their entities and tokens by
    lengths, unsigned[fields, nodes].
    """
    return [
        {"name": name, "weight": weight, "b": b, "analyzer": analyzer,
         "entities": int(np.count_nonzero(lengths[i])), "tokens": int(lengths[i].sum(dtype=np.int64))}
        for i, (name, weight, b, analyzer) in enumerate(fields)
    ]  # fmt: skip
