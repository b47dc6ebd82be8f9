"""Pairs of words in whole fields, as phrases and in unordered windows, for sequential dependence models.

One kernel call searches the packed lists for all pairs and fields of a query. The postings are cached.
`phrases.pair_postings` is the numpy reference.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError
from hybridkg.interfaces.ranking_model import Postings
from hybridkg.text.id_sets import NO_POSTINGS
from hybridkg.text.index.positions.phrases import KERNEL, pair_postings
from hybridkg.text.index.postings import FieldPostings, SegmentPostings

MAX_CACHED_POSTINGS = 2_000_000
"""Cached postings of phrases and expansions; 8 bytes each."""

PATTERN_AS_POSTINGS = 60
"""The memory of a pattern in the keys, about 500 bytes, in postings: phrases that occur nowhere take it, too."""

I64 = NDArray[np.int64]

Pair = tuple[int, int, int]
"""(term number, term number, places from the first to the second)."""


class PairPostings(NamedTuple):
    """Postings, and the sum of their tf."""

    postings: Postings
    occurrences: int


NOTHING = PairPostings(NO_POSTINGS, 0)


class PostingsCache:
    """A cache of postings that are expensive to compute; cleared when full. Safe to use from many threads."""

    def __init__(self) -> None:
        self.entries: dict[object, PairPostings] = {}
        self._size = 0
        self._lock = threading.Lock()

    def add(self, key: object, postings: PairPostings, patterns: int = 1) -> None:
        """Caches the postings of a number of patterns."""
        size = len(postings.postings.ids) + PATTERN_AS_POSTINGS * patterns
        with self._lock:
            self._size += size
            if self._size > MAX_CACHED_POSTINGS:
                self.entries, self._size = {}, size
            self.entries[key] = postings


def pair_key(pair: Pair, window: int, field: int) -> tuple[Pair, int, int]:
    """The cache key of a pair of terms in a whole field; window 0 is the phrase."""
    return pair, window, field


class PairLists(NamedTuple):
    """The posting lists of pairs in the queried fields: the phrases of all pairs, then their windows.

    rows, int64[5, lists], and ids and tf, uint32[...], are those of QueryLists; cf is int64[2 * pairs, fields].
    """

    rows: I64
    ids: NDArray[np.uint32]
    tf: NDArray[np.uint32]
    cf: I64


class Pairs:
    """The pairs of a segment. Safe to use from many threads."""

    def __init__(self, lists: SegmentPostings, n_fields: int, cache: PostingsCache | None = None):
        self._lists, self._n_fields = lists, n_fields
        self._cache = cache or PostingsCache()
        packed, positions = lists.packed, lists.all_positions
        wanted = ("<u4", "<u4", "<u4", "|u1")
        arrays = (packed.words, packed.first, packed.at, packed.widths)
        self._positions: NDArray[np.uint8] | None = None
        if tuple(array.dtype.str for array in arrays) == wanted and positions.dtype.str in ("|u1", "<u2", "<u4"):
            self._positions = positions.view(np.uint8)
        self._width = positions.itemsize

    def lists(self, pairs: Sequence[Pair], fields: Sequence[int], window: int) -> PairLists:
        """The lists of pairs, in which -1 is a term that the index lacks, in fields by number; `window` >= 1 places."""
        by_pair = self._all(pairs, fields, window)
        rows: list[tuple[int, int, int, int, int]] = []
        parts: list[Postings] = []
        cf = np.zeros((2 * len(pairs), len(fields)), np.int64)
        start = 0
        for t, p, kind in [(p + kind * len(pairs), p, kind) for kind in (0, 1) for p in range(len(pairs))]:
            for f in range(len(fields)):
                both = by_pair.get((p, f))
                if both is not None and both[kind].occurrences:
                    postings, cf[t, f] = both[kind]
                    rows.append((t, f, -1, start, len(postings.ids)))
                    parts.append(postings)
                    start += len(postings.ids)
        columns = np.ascontiguousarray(np.array(rows, np.int64).reshape(len(rows), 5).T)
        if not parts:
            return PairLists(columns, NO_POSTINGS.ids, NO_POSTINGS.ids, cf)
        ids = np.concatenate([part.ids for part in parts])
        return PairLists(columns, ids, np.concatenate([part.tf for part in parts], dtype=np.uint32), cf)

    def _all(
        self, pairs: Sequence[Pair], fields: Sequence[int], window: int
    ) -> dict[tuple[int, int], tuple[PairPostings, PairPostings]]:
        """(phrase, windows) by pair and field, of those that may have postings."""
        if all(min(first, second) < 0 for first, second, _ in pairs):
            return {}
        jobs = self._jobs(pairs, fields)
        size = np.minimum(jobs[:, :, 2], jobs[:, :, 7])
        cached = self._cache.entries
        by_pair: dict[tuple[int, int], tuple[PairPostings, PairPostings]] = {}
        missing: list[tuple[int, int]] = []
        # Field by field, so that a word's list serves two neighbouring pairs.
        for f, p in zip(*(places.tolist() for places in np.nonzero(size.T)), strict=True):
            phrase = cached.get(pair_key(pairs[p], 0, fields[f]))
            near = cached.get(pair_key(pairs[p], window, fields[f]))
            if phrase is None or near is None:
                missing.append((p, f))
            else:
                by_pair[p, f] = phrase, near
        if not missing:
            return by_pair
        columns = np.array(missing, np.int64).T
        new = self._search(pairs, fields, window, missing, jobs[columns[0], columns[1]])
        for (p, f), both in zip(missing, new, strict=True):
            by_pair[p, f] = both
            for own, width in zip(both, (0, window), strict=True):
                self._cache.add(pair_key(pairs[p], width, fields[f]), own)
        return by_pair

    def _jobs(self, pairs: Sequence[Pair], fields: Sequence[int]) -> NDArray[np.uint64]:
        """uint64[pairs, fields, 11]: the jobs of the kernel; without postings where the index lacks a word."""
        table = np.array(pairs, np.int64)
        terms = table[:, :2, None]
        numbers = np.maximum(terms, 0) * self._n_fields + np.array(fields, np.int64)
        ends, tokens, blocks = self._lists.arrays
        jobs = np.empty((len(pairs), len(fields), 11), np.uint64)
        sizes, occurrences = ends[numbers + 1] - ends[numbers], tokens[numbers + 1] - tokens[numbers]
        sizes, begins = np.where(terms >= 0, sizes, 0), self._lists.position_starts[numbers]
        for column, values in enumerate((numbers, blocks[numbers], sizes, begins, occurrences)):
            jobs[:, :, column], jobs[:, :, column + 5] = values[:, 0], values[:, 1]
        jobs[:, :, 10] = table[:, 2:]
        return jobs

    def _search(
        self, pairs: Sequence[Pair], fields: Sequence[int], window: int, wanted: Sequence[tuple[int, int]],
        jobs: NDArray[np.uint64],
    ) -> list[tuple[PairPostings, PairPostings]]:  # fmt: skip
        """(phrase, windows) of each wanted (pair, field), by its job."""
        kernel = KERNEL.for_work(int(jobs[:, 2].sum() + jobs[:, 7].sum())) if self._positions is not None else None
        if kernel is not None:
            return self._compiled(kernel, jobs, window)
        new = []
        for p, f in wanted:
            first, second, distance = pairs[p]
            field = FieldPostings(self._lists, fields[f], self._n_fields)
            both = pair_postings(field, (0, first), (distance, second), window)
            new.append((_counted(both[0]), _counted(both[1])))
        return new

    def _compiled(self, kernel: Any, jobs: NDArray[np.uint64], window: int) -> list[tuple[PairPostings, PairPostings]]:
        room = int(np.minimum(jobs[:, 2], jobs[:, 7]).sum())
        ids, tf, near_ids, near_tf = (np.empty(room, np.uint32) for _ in range(4))
        counts = np.empty((len(jobs), 4), np.uint64)
        packed = self._lists.packed
        if not kernel.packed_pairs(
            packed.words, packed.first, packed.at, packed.widths, self._positions, self._width, jobs, window,
            ids, tf, near_ids, near_tf, counts,
        ):  # fmt: skip
            raise CorruptError("the positions of the text index and its postings differ in size", hint="index again")
        new = []
        at = near_at = 0
        for n, phrases, n_near, windows in counts.tolist():
            one = other = NOTHING
            if n:
                one = PairPostings(Postings(ids[at : at + n].copy(), tf[at : at + n].copy()), phrases)
            if n_near:
                end = near_at + n_near
                other = PairPostings(Postings(near_ids[near_at:end].copy(), near_tf[near_at:end].copy()), windows)
            at += n
            near_at += n_near
            new.append((one, other))
        return new


def _counted(postings: Postings) -> PairPostings:
    return PairPostings(postings, int(postings.tf.sum(dtype=np.int64))) if len(postings.ids) else NOTHING
