"""Edits of one direction of a predicate: a few pairs leave, others enter, and nothing is sorted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import Adjacency
from hybridkg.rdf.terms import Term, Triple
from hybridkg.storage.array_edit import ArrayEdit

I64 = NDArray[np.int64]
Pairs = NDArray[np.uint64]

_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


class PatchMismatchError(Exception):
    """The earlier projection does not have a triple that the change removes; the caller builds from scratch."""


def pairs_by_predicate(triples: Iterable[Triple], id_of: Callable[[Term], int]) -> dict[str, Pairs]:
    """uint64 pairs (subject << 32) | object by the IRI of the predicate.

    Raises:
        PatchMismatchError: a term has no id.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for triple in triples:
        pair = id_of(triple.subject), id_of(triple.object)
        if min(pair) < 0:
            raise PatchMismatchError
        found.setdefault(triple.predicate.value, []).append(pair)
    return {iri: np.array([(s << 32) | o for s, o in pairs], np.uint64) for iri, pairs in found.items()}


def directed(pairs: Pairs | None, direction: int) -> Pairs:
    """Sorted pairs of a direction, from those of subjects and objects."""
    if pairs is None:
        return np.zeros(0, np.uint64)
    own = (pairs << _HALF) | (pairs >> _HALF) if direction else pairs.copy()
    own.sort()
    return own


def edited_adjacency(old: Adjacency, removed: Pairs, added: Pairs) -> Adjacency:
    """A direction afterwards, with the arrays of before where they stay as they are.

    Args:
        old: the direction; `keys` may be empty.
        removed: uint64[...], pairs (key << 32) | target that it has, ascending.
        added: pairs that it does not have, ascending.

    Raises:
        PatchMismatchError: it does not have a pair that leaves.

    >>> old = Adjacency(np.array([1, 4], np.uint32), np.array([0, 1, 3]), np.array([7, 2, 9], np.uint32))
    >>> pair = lambda key, target: np.array([key << 32 | target], np.uint64)
    >>> after = edited_adjacency(old, pair(1, 7), pair(4, 5))
    >>> after.keys.tolist(), after.offsets.tolist(), after.targets.tolist()
    ([4], [0, 3], [2, 5, 9])
    """
    leaving, entering = _places(old, removed), _places(old, added)
    if not leaving.is_there.all():
        raise PatchMismatchError
    targets = ArrayEdit(len(old.targets), leaving.target, entering.target)
    new_keys, first_of_each, counts = np.unique(
        (added >> _HALF)[~entering.is_key], return_index=True, return_counts=True
    )
    before = entering.key[~entering.is_key][first_of_each]
    steps = dict.fromkeys(leaving.key.tolist(), 0)
    for place in entering.key[entering.is_key].tolist():
        steps[place] = steps.get(place, 0) + 1
    for place in leaving.key.tolist():
        steps[place] -= 1
    gone = [p for p in sorted(steps) if int(old.offsets[p + 1]) - int(old.offsets[p]) + steps[p] == 0]
    keys = ArrayEdit(len(old.keys), np.array(gone, np.int64), before)
    offsets, begins = _shifted(old.offsets, steps, before.tolist(), counts.tolist())
    return Adjacency(
        keys.apply(old.keys, new_keys.astype(np.uint32)),
        ArrayEdit(len(offsets), keys.removed, before).apply(offsets, begins),
        targets.apply(old.targets, (added & _LOW).astype(np.uint32)),
    )


def _shifted(
    offsets: NDArray[Any], steps: Mapping[int, int], before: Sequence[int], counts: Sequence[int]
) -> tuple[I64, I64]:
    """(int64[keys + 1], the offsets of the earlier keys afterwards; int64[new keys], the offset of each new key).

    Args:
        offsets: of the earlier keys.
        steps: the targets that a key, by its place, has more.
        before: the place before which each new key belongs, ascending.
        counts: the targets of each new key.
    """
    # A new key shifts the one before which it belongs; another key shifts those behind it.
    events = [(place, 0, count) for place, count in zip(before, counts, strict=True)]
    events += [(place + 1, -1, step) for place, step in steps.items() if step]
    result, begins, shift, at = offsets.astype(np.int64), list[int](), 0, 0
    for place, order, step in sorted(events, key=itemgetter(0, 1)):
        if shift:
            result[at:place] += shift
        at = place
        if not order:
            begins.append(int(offsets[place]) + shift)
        shift += step
    result[at:] += shift
    return result, np.array(begins, np.int64)


class _Places(NamedTuple):
    """Where pairs are in a direction, or before what they belong.

    Args:
        key: int64[pairs], the place of the key.
        is_key: bool[pairs], whether it is there.
        target: int64[pairs], the place of the target.
        is_there: bool[pairs], whether the pair is there.
    """

    key: I64
    is_key: NDArray[np.bool_]
    target: I64
    is_there: NDArray[np.bool_]


def _places(old: Adjacency, pairs: Pairs) -> _Places:
    wanted, targets = (pairs >> _HALF).astype(np.uint32), (pairs & _LOW).astype(np.uint32)
    key = old.keys.searchsorted(wanted).astype(np.int64)
    is_key = np.zeros(len(pairs), bool)
    inside = key < len(old.keys)
    is_key[inside] = old.keys[key[inside]] == wanted[inside]
    low, end = old.offsets[key].astype(np.int64), old.offsets[key].astype(np.int64)
    end[is_key] = old.offsets[key[is_key] + 1]
    high = end.copy()
    while (open_ := low < high).any():  # a binary search of all pairs at once
        middle = (low + high) >> 1
        is_below = open_.copy()
        is_below[open_] = old.targets[middle[open_]] < targets[open_]
        low = np.where(is_below, middle + 1, low)
        high = np.where(open_ & ~is_below, middle, high)
    is_there = is_key & (low < end)
    is_there[is_there] = old.targets[low[is_there]] == targets[is_there]
    return _Places(key, is_key, low, is_there)
