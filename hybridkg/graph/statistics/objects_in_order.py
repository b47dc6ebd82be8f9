"""The objects of a predicate in the order of their terms, also where some are literals of a tail.

Statistics follow the order of terms. Where a predicate has literals of a tail, its objects are renumbered as a
projection without a tail has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import Adjacency, LiteralPart
from hybridkg.graph.literal_order import FIRST_VALUED, SEGMENTS
from hybridkg.interfaces.graph_index import Ids
from hybridkg.storage.array_edit import ArrayEdit

I64 = NDArray[np.int64]

if TYPE_CHECKING:
    from hybridkg.graph.columns import TermTable


@dataclass(frozen=True)
class ObjectsInOrder:
    """Objects numbered in the order of their terms.

    Args:
        backward: from objects to subjects; the order of its targets may be another one.
        literals: segments and values of the literals, by the same numbers.
    """

    backward: Adjacency
    literals: LiteralPart


def ranks(backward: Adjacency, terms: TermTable) -> Callable[[Ids], I64] | None:
    """The function from objects of a predicate to their numbers in the order of terms; None where ids are in order."""
    base = terms.parts[0]
    if len(terms.parts) == 1 or not len(backward.keys) or int(backward.keys[-1]) < base.end:
        return None
    tail = terms.parts[1]
    before = tail.before
    assert before is not None

    def numbers(ids: Ids) -> I64:
        result = ids + before.searchsorted(ids, "right")
        late = ids >= tail.first
        own = ids[late] - np.uint32(tail.first)
        result[late] = before[own].astype(np.int64) + own
        return result

    return numbers


def objects_in_order(backward: Adjacency, terms: TermTable) -> ObjectsInOrder:
    """The objects of a predicate in order; `backward` is from objects to subjects."""
    base, keys = terms.parts[0], backward.keys
    if len(terms.parts) == 1 or not len(keys) or int(keys[-1]) < base.end:
        return ObjectsInOrder(backward, base)
    tail = terms.parts[1]
    before = tail.before
    assert before is not None
    in_base = int(keys.searchsorted(np.uint32(base.end)))
    own, late = keys[:in_base], keys[in_base:] - np.uint32(tail.first)
    # A literal of the base is shifted by those of the tail before it, one of the tail by those of the base.
    shifts = np.cumsum(np.bincount(own.searchsorted(before), minlength=in_base + 1))[:-1]
    entering = ArrayEdit(in_base, np.zeros(0, np.int64), own.searchsorted(before[late]))
    degrees = np.diff(backward.offsets.astype(np.int64))
    numbers = entering.apply(own + shifts, before[late].astype(np.int64) + late)
    offsets = np.zeros(len(keys) + 1, np.int64)
    np.cumsum(entering.apply(degrees[:in_base], degrees[in_base:]), out=offsets[1:])
    in_order = Adjacency(numbers.astype(np.uint32), offsets, backward.targets)
    return ObjectsInOrder(in_order, _joined(base, tail))


def _joined(base: LiteralPart, tail: LiteralPart) -> LiteralPart:
    """Both parts as one."""
    segments, first = {}, base.first
    for name, (begin, end) in base.segments.items():
        size = end - begin + tail.segments[name][1] - tail.segments[name][0]
        segments[name] = first, first + size
        first += size
    values: list[NDArray[np.float64]] = [
        np.sort(np.concatenate([base.values(name), tail.values(name)])) for name in SEGMENTS[FIRST_VALUED:]
    ]
    return LiteralPart(segments, np.concatenate(values))
