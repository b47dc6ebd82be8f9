"""Document frequencies over any set of fields, without reading postings.

The index counts, for each term, the entities by the set of fields in which they have it. Such sets are few, and the df
of a term over some fields is the sum over the sets that intersect them. `Presence` does the same for whole entities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError
from hybridkg.storage.distinct import sorted_distinct
from hybridkg.text.index.codec.packing import KERNEL
from hybridkg.text.index.layout import Array, ArrayReader, ArrayWriter, smallest_unsigned
from hybridkg.text.index.postings import SegmentPostings
from hybridkg.text.match_query.vocabulary import damaged_terms

MAX_FIELDS_OF_KERNEL = 8
"""Maximum for the kernel, which counts in a table of all sets of fields."""

_POSTINGS_AT_ONCE = 4_000_000

THREADS = 2
"""Parts of the changed terms that are counted at the same time."""

Numbers = NDArray[np.int64]


class TermSets:
    """The counts of entities by term and set of fields in a segment."""

    def __init__(self, reader: ArrayReader, n_terms: int):
        self._offsets, self._fields, self._entities = (
            reader.array(f"terms.sets.{name}") for name in ("offsets", "fields", "entities")
        )
        consistent = len(self._offsets) == n_terms + 1 and int(self._offsets[-1]) == len(self._fields) == len(
            self._entities
        )
        if not consistent:
            raise CorruptError("the sets of fields of the text index have the wrong size", hint="index again")

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """`terms.sets.offsets`, `terms.sets.fields` and `terms.sets.entities`."""
        return self._offsets, self._fields, self._entities

    def df(self, term: int, mask: int, sizes: Sequence[int]) -> int:
        """The number of entities that have a term in any of the fields of a bit mask.

        Args:
            term: its number.
            mask: bits of the fields.
            sizes: its postings in each of these fields.

        Raises:
            CorruptError: the number is below the largest of the sizes, or above their sum.
        """
        begin, end = int(self._offsets[term]), int(self._offsets[term + 1])
        pairs = zip(self._fields[begin:end].tolist(), self._entities[begin:end].tolist(), strict=True)
        df = sum(int(count) for fields, count in pairs if fields & mask)
        if not max(sizes, default=0) <= df <= sum(sizes):
            raise damaged_terms()
        return df

    def at_least(self, df: int) -> list[int]:
        """The terms with at least this df, 1 or more, over all fields."""
        counts = self._offsets[1:] - self._offsets[:-1]
        if not len(self._entities):
            return []
        # Of so many sets, one at least has its share of the entities: few terms have one that has.
        large = np.flatnonzero(self._entities >= -(-df // int(counts.max())))
        owners = sorted_distinct(self._offsets.searchsorted(large.astype(self._offsets.dtype), "right") - 1)
        pairs = zip(self._offsets[owners].tolist(), self._offsets[owners + 1].tolist(), strict=True)
        df_of = np.array([int(self._entities[begin:end].sum(dtype=np.int64)) for begin, end in pairs], np.int64)
        terms: list[int] = owners[df_of >= df].tolist()
        return terms


def mask_of(fields: Iterable[int]) -> int:
    """The bit mask of fields.

    >>> mask_of([0, 2])
    5
    """
    return sum(1 << field for field in fields)


def write_term_sets(out: ArrayWriter, lists: SegmentPostings, n_terms: int, n_fields: int) -> None:
    """Writes `terms.sets.*`, counted in chunks of bounded size."""
    counts: list[Array] = []
    fields = out.stream("terms.sets.fields", smallest_unsigned((1 << n_fields) - 1))
    entities = out.stream("terms.sets.entities", "<u4")
    first = 0
    while first < n_terms:
        last = _chunk_end(lists, first, n_terms, n_fields)
        sizes, ids, _ = lists.lists(first * n_fields, last * n_fields)
        per_term, sets, number = _count(sizes, ids, n_fields)
        counts.append(per_term)
        fields.append(sets)
        entities.append(number)
        first = last
    fields.close()
    entities.close()
    offsets = np.concatenate([np.zeros(1, np.int64), *counts]).cumsum()
    out.write("terms.sets.offsets", offsets.astype(smallest_unsigned(int(offsets[-1]))))


def write_changed_term_sets(
    out: ArrayWriter, lists: SegmentPostings, n_fields: int, same: Numbers, earlier: TermSets
) -> None:
    """Writes `terms.sets.*`, and counts only the terms that have changed: ids do not matter to the others.

    Args:
        out: of the segment.
        lists: its lists.
        n_fields: of the segment.
        same: int64[terms], the earlier number of each term that no entity has gained or lost; -1 for the others.
        earlier: the sets of the earlier terms.
    """
    changed = np.flatnonzero(same < 0)
    numbers = changed[:, None] * n_fields + np.arange(n_fields)
    cuts = np.cumsum(lists.sizes(numbers).sum(axis=1)) // max(1, _POSTINGS_AT_ONCE)
    parts = [(np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.int64))]

    def counted_of(own: Numbers) -> tuple[Numbers, NDArray[np.uint64], Numbers]:
        sizes, ids, _ = lists.chosen(own.reshape(-1))
        return _count(sizes, ids, n_fields)

    chunks = np.split(numbers, np.flatnonzero(np.diff(cuts)) + 1)
    if len(chunks) == 1:  # a thread would wait for the interpreter's lock, up to 5 ms beside another
        parts.append(counted_of(chunks[0]))
    else:
        with ThreadPoolExecutor(THREADS, "hybridkg-sets") as threads:
            parts += threads.map(counted_of, chunks)
    per_changed, *counted = (np.concatenate(column) for column in zip(*parts, strict=True))
    offsets, *stored = earlier.arrays
    dtypes = smallest_unsigned((1 << n_fields) - 1), np.dtype("<u4")
    is_new = same < 0
    follows = is_new[1:] & is_new[:-1] | ~is_new[1:] & (np.diff(same) == 1) & ~is_new[:-1]
    cuts = np.flatnonzero(~follows) + 1
    firsts, lasts = np.append(0, cuts)[: len(same)], np.append(cuts, len(same))[: len(same)]  # of runs of terms
    ends = np.concatenate(([0], np.cumsum(per_changed)))  # of the sets of the changed terms
    starts = np.empty(len(same), np.int64)
    starts[is_new], starts[~is_new] = ends[:-1], offsets[same[~is_new]]
    stops = np.where(is_new[firsts], ends[changed.searchsorted(lasts)], offsets[same[lasts - 1] + 1])
    begins = starts[firsts]
    after = np.cumsum(stops - begins)
    starts += np.repeat(after - stops, lasts - firsts)
    pieces = [*zip(is_new[firsts].tolist(), begins.tolist(), stops.tolist(), strict=True)]
    for name, dtype, old, new in zip(("fields", "entities"), dtypes, stored, counted, strict=True):
        stream = out.stream(f"terms.sets.{name}", dtype)
        stream.append_pieces(old, [new[begin:end] if counts else (begin, end) for counts, begin, end in pieces])
        stream.close()
    total = int(after[-1]) if len(after) else 0
    out.write("terms.sets.offsets", np.append(starts, total).astype(smallest_unsigned(total)))


def _count(sizes: Numbers, ids: NDArray[np.uint32], n_fields: int) -> tuple[Numbers, NDArray[np.uint64], Numbers]:
    """As `count_numpy`, by the kernel where it is loaded."""
    kernel = KERNEL.for_work(len(ids)) if n_fields <= MAX_FIELDS_OF_KERNEL else None
    if kernel is None:
        return count_numpy(sizes, ids, n_fields)
    n_terms = len(sizes) // n_fields
    room = min(len(ids), n_terms * ((1 << n_fields) - 1))
    per_term = np.zeros(n_terms, np.int64)
    sets, number = np.empty(room, np.uint64), np.empty(room, np.int64)
    n_sets = kernel.count_sets(sizes, ids, n_fields, per_term, sets, number)
    return per_term, sets[:n_sets], number[:n_sets]


def count_numpy(
    sizes: NDArray[np.int64], ids: NDArray[np.uint32], n_fields: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]:
    """The numpy reference of the kernel `count_sets`.

    Args:
        sizes: int64[t * fields], postings of each list.
        ids: uint32[sum(sizes)].
        n_fields: of the index.

    Returns:
        (number of sets of each term int64[t], the sets uint64[s], ascending by term, their entities int64[s]).
    """
    n_terms = len(sizes) // n_fields
    if not len(ids):
        return np.zeros(n_terms, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.int64)
    number = np.repeat(np.arange(len(sizes)), sizes)
    key = (number // n_fields).astype(np.uint64) << np.uint64(32) | ids
    order = np.argsort(key, kind="stable")
    key, bit = key[order], np.uint64(1) << (number[order] % n_fields).astype(np.uint64)
    begins = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    sets, term = np.bitwise_or.reduceat(bit, begins), (key[begins] >> np.uint64(32)).astype(np.int64)
    order = np.lexsort((sets, term))
    sets, term = sets[order], term[order]
    begins = np.flatnonzero(np.concatenate(([True], (sets[1:] != sets[:-1]) | (term[1:] != term[:-1]))))
    return (
        np.bincount(term[begins], minlength=n_terms).astype(np.int64),
        sets[begins],
        np.diff(begins, append=len(sets)),
    )


def _chunk_end(lists: SegmentPostings, first: int, n_terms: int, n_fields: int) -> int:
    """The end of the chunk of bounded size that begins with the term `first`; at least `first` + 1."""
    limit = int(lists.ends[first * n_fields]) + _POSTINGS_AT_ONCE
    low, high = first + 1, n_terms
    while low < high:
        middle = (low + high + 1) // 2
        if int(lists.ends[middle * n_fields]) <= limit:
            low = middle
        else:
            high = middle - 1
    return low
