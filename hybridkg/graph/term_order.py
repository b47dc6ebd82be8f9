"""Sort keys of ids: the order of terms without their texts, where the numbering of the ids decides it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import TermTable
from hybridkg.graph.literal_order import FIRST_VALUED, SEGMENTS
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
        name = next((name for name, (first, end) in table.segments.items() if first <= low and high < end), None)
        if name is None or name == "other":
            return None
        if name == "string":
            return ids
        if name == "language":
            is_one = any(first <= low and high < end for first, end in self._strings.languages.values())
            return ids if is_one else None
        if name == "number" and len(self._crowded) and np.isin(ids, self._crowded).any():
            return None
        if total or name not in self._with_equal_values:
            return ids
        values: Keys = table.values(name)[ids - np.uint32(table.segments[name][0])]
        return values

    @cached_property
    def _with_equal_values(self) -> frozenset[str]:
        """Segments with values in which two terms have the same one."""
        found = set()
        for name in SEGMENTS[FIRST_VALUED:]:
            values = self._table.values(name)
            if (values[1:] == values[:-1]).any():
                found.add(name)
        return frozenset(found)

    @cached_property
    def _crowded(self) -> Ids:
        """Ids of numbers of the same float64 value, one of which is too long to be that value for sure; ascending."""
        first, end = self._table.segments["number"]
        if end - first < 2:
            return np.empty(0, np.uint32)
        values = self._table.values("number")
        equal = np.flatnonzero(values[1:] == values[:-1])
        if not len(equal):
            return np.empty(0, np.uint32)
        lengths = self._table.lengths(first, end)
        long = (lengths[equal] > SHORT) | (lengths[equal + 1] > SHORT)
        places = sorted_distinct(np.concatenate([equal[long], equal[long] + 1]))
        return (places + first).astype(np.uint32)
