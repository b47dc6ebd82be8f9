"""Edits of one direction of a predicate: a few pairs leave, others enter, and nothing is sorted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import Adjacency
from hybridkg.graph.pair_places import HALF, I64, LOW, Pairs, places_of_pairs
from hybridkg.rdf.terms import Term
from hybridkg.rdf.triple_columns import TripleColumns
from hybridkg.storage.array_edit import ArrayEdit, add_from
from hybridkg.storage.distinct import sorted_distinct


class PatchMismatchError(Exception):
    """The earlier projection does not have a triple that the change removes; the caller builds from scratch."""


def pairs_by_predicate(triples: TripleColumns, id_of: Callable[[Term], int]) -> dict[str, Pairs]:
    """uint64 pairs (subject << 32) | object by the IRI of the predicate.

    Raises:
        PatchMismatchError: a term has no id.
    """
    found: dict[str, Pairs] = {}
    for iri, own in triples.by_predicate.items():
        subjects, objects = (np.fromiter(map(id_of, terms), np.int64, len(terms)) for terms in own)
        if min(int(subjects.min()), int(objects.min())) < 0:
            raise PatchMismatchError
        found[iri] = (subjects.astype(np.uint64) << HALF) | objects.astype(np.uint64)
    return found


def directed(pairs: Pairs | None, direction: int) -> Pairs:
    """Sorted pairs of a direction, from those of subjects and objects."""
    if pairs is None:
        return np.zeros(0, np.uint64)
    own = (pairs << HALF) | (pairs >> HALF) if direction else pairs.copy()
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
    leaving, entering = places_of_pairs(old, removed), places_of_pairs(old, added)
    if not leaving.is_there.all():
        raise PatchMismatchError
    targets = ArrayEdit(len(old.targets), leaving.target, entering.target)
    new_keys, first_of_each, counts = np.unique(
        (added >> HALF)[~entering.is_key], return_index=True, return_counts=True
    )
    before = entering.key[~entering.is_key][first_of_each]
    grown = entering.key[entering.is_key]
    changed = np.concatenate([grown, leaving.key])
    places = sorted_distinct(changed)  # of the keys that get or lose targets
    more = np.zeros(len(places), np.int64)
    np.add.at(more, places.searchsorted(changed), np.repeat([1, -1], [len(grown), len(leaving.key)]))
    shrunk = sorted_distinct(leaving.key)
    sizes = old.offsets[shrunk + 1].astype(np.int64) - old.offsets[shrunk].astype(np.int64)
    sizes += more[places.searchsorted(shrunk)]
    keys = ArrayEdit(len(old.keys), shrunk[sizes == 0], before)
    offsets, begins = _shifted(old.offsets, (places, more), before, counts)
    return Adjacency(
        keys.apply(old.keys, new_keys.astype(np.uint32)),
        ArrayEdit(len(offsets), keys.removed, before).apply(offsets, begins),
        targets.apply(old.targets, (added & LOW).astype(np.uint32)),
    )


def _shifted(offsets: NDArray[Any], more: tuple[I64, I64], before: I64, counts: I64) -> tuple[I64, I64]:
    """(int64[keys + 1], the offsets of the earlier keys afterwards; int64[new keys], the offset of each new key).

    Args:
        offsets: of the earlier keys.
        more: the places of keys, ascending, and the targets that each has more.
        before: the place before which each new key belongs, ascending.
        counts: the targets of each new key.
    """
    shifted = offsets.astype(np.int64)
    add_from(shifted, more[0] + 1, more[1])
    begins = shifted[before] + np.cumsum(counts) - counts
    add_from(shifted, before, counts)
    return shifted, begins
