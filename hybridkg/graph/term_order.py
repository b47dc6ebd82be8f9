"""Sort keys of ids: the order of terms without their texts, where the numbering of the ids decides it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import LiteralPart, TermTable
from hybridkg.graph.literal_order import FIRST_VALUED, SEGMENTS
from hybridkg.graph.match.ids import IdRanges
from hybridkg.graph.match.strings import TermStrings
from hybridkg.interfaces.graph_index import UNBOUND, Ids
from hybridkg.storage.distinct import sorted_distinct

Keys = NDArray[Any]

SHORT = 15
"""Integers and decimals of at most this many characters are distinct in float64."""


class TermOrder:
    """Sort keys of the ids of a term table (GraphIndex.order_keys)."""

    def __init__(self, table: TermTable, strings: TermStrings):
        self._table, self._strings = table, strings

    def keys(self, ids: Ids, *, total: bool) -> Keys | None:
        """number[len(ids)], or None; as GraphIndex.order_keys has it."""
        if not len(ids) or (high := int(ids.max())) < self._table.n_entities:
            return ids  # most often
        if high != UNBOUND:
            return self._of_bound(ids, int(ids.min()), high, total=total)
        is_bound = ids != UNBOUND
        bound = ids[is_bound]
        if not len(bound):
            return np.zeros(len(ids), np.int8)
        keys = self._of_bound(bound, int(bound.min()), int(bound.max()), total=total)
        if keys is None:
            return None
        if keys.dtype.kind == "f" and np.isneginf(keys).any():
            return None
        whole = np.full(len(ids), -np.inf)
        whole[is_bound] = keys
        return whole

    def _of_bound(self, ids: Ids, low: int, high: int, *, total: bool) -> Keys | None:
        """Keys of bound ids between `low` and `high`, both among them."""
        table = self._table
        if high < table.n_entities or (low >= table.n_entities and high < table.n_nodes) or low >= table.n_terms:
            return ids  # entities, other nodes, or predicates that are no nodes
        if high >= table.n_terms:
            return None
        name = self._segment(ids, low, high)
        if name is None or name == "other":
            return None
        if name == "language" and not self._has_one_language(ids, low, high):
            return None
        if name == "number" and len(self._crowded) and np.isin(ids, self._crowded).any():
            return None
        if total or name not in self._with_equal_values:
            return ids if high < table.parts[0].end else self._places(ids)
        return self._values(ids, name)

    def _segment(self, ids: Ids, low: int, high: int) -> str | None:
        """The segment that all ids are in; None for several, and for nodes."""
        base = self._table.parts[0]
        if low < base.end <= high:
            in_base, in_tail = ids[ids < base.end], ids[ids >= base.end]
            name = _segment_of(base, low, int(in_base.max()))
            return name if name == _segment_of(self._table.parts[1], int(in_tail.min()), high) else None
        return _segment_of(base if high < base.end else self._table.parts[1], low, high)

    def _has_one_language(self, ids: Ids, low: int, high: int) -> bool:
        """Whether all ids of the segment "language" have the same one."""
        for runs in self._strings.languages.values():
            if any(first <= low < end for first, end in runs):
                return any(first <= high < end for first, end in runs) and bool(IdRanges.of(runs).holds(ids).all())
        return False

    def _places(self, ids: Ids) -> Keys:
        """float64[len(ids)]: the place of each literal among all: that of the tail has one before its `before`.

        The places of literals of a tail are as many parts of 1 before an id; 32 bits for the id leave 20 for the part.
        """
        tail = self._table.parts[1]
        assert tail.before is not None
        keys = ids.astype(np.float64)
        is_late = ids >= tail.first
        own = ids[is_late] - np.uint32(tail.first)
        keys[is_late] = tail.before[own] - 1.0 + (own + 1.0) / (len(tail.before) + 1)
        return keys

    def _values(self, ids: Ids, name: str) -> Keys:
        """float64[len(ids)]: the values of literals of a segment."""
        values = np.empty(len(ids))
        for part in self._table.parts:
            first, end = part.segments[name]
            own = (ids >= first) & (ids < end)
            values[own] = part.values(name)[ids[own] - np.uint32(first)]
        return values

    def _of_all(self, name: str) -> tuple[Keys, Keys]:
        """(values ascending, ids) of all literals of a segment."""
        parts = [part for part in self._table.parts if part.segments[name][0] < part.segments[name][1]]
        values = [part.values(name) for part in parts] or [np.zeros(0)]
        ids = [np.arange(*part.segments[name]) for part in parts] or [np.zeros(0, np.int64)]
        if len(parts) < 2:
            return values[0], ids[0]
        all_values, all_ids = np.concatenate(values), np.concatenate(ids)
        order = np.argsort(all_values, kind="stable")
        return all_values[order], all_ids[order]

    @cached_property
    def _with_equal_values(self) -> frozenset[str]:
        """Segments with values in which two terms have the same one."""
        found = set()
        for name in SEGMENTS[FIRST_VALUED:]:
            values, _ = self._of_all(name)
            if (values[1:] == values[:-1]).any():
                found.add(name)
        return frozenset(found)

    @cached_property
    def _crowded(self) -> Ids:
        """Ids of numbers of the same float64 value, one of which is too long to be that value for sure; ascending."""
        values, ids = self._of_all("number")
        equal = np.flatnonzero(values[1:] == values[:-1])
        if not len(equal):
            return np.empty(0, np.uint32)
        numbers = [part.segments["number"] for part in self._table.parts]
        by_id = np.concatenate([self._table.lengths(first, end) for first, end in numbers])
        starts = np.concatenate([np.arange(first, end) for first, end in numbers])
        lengths = by_id[np.searchsorted(starts, ids)]
        long = (lengths[equal] > SHORT) | (lengths[equal + 1] > SHORT)
        places = sorted_distinct(np.concatenate([equal[long], equal[long] + 1]))
        return np.sort(ids[places]).astype(np.uint32)


def _segment_of(part: LiteralPart, low: int, high: int) -> str | None:
    """The segment of a part that has the ids from `low` to `high`; None for several, and for other ids."""
    return next((name for name, (first, end) in part.segments.items() if first <= low and high < end), None)
