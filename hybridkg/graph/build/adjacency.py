"""The builder of adjacency: triples grouped by predicate, sorted and deduplicated, in both directions.

A pair of ids is a 64-bit number. All pairs are in one memory-mapped file, grouped by predicate: 8 bytes of disk a
triple, and only pages that the system can evict.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.graph.build.nquads_reader import I64, U32
from hybridkg.graph.build.spool import Spool, mapped
from hybridkg.graph.build.term_runs import Runs
from hybridkg.graph.stored_projection import DIRECTIONS, PLACES
from hybridkg.storage.arrays import Array, ArrayStream, Writer, smallest_unsigned
from hybridkg.storage.distinct import sorted_distinct

KERNEL = LazyKernel("hybridkg.graph.build.adjacency_kernel")

BLOCK = 1 << 20
"""Entries that are written in one step."""

SORTED_AT_ONCE = 1 << 20
"""The minimum number of pairs in one task of the sorting threads."""

_HALF = np.uint64(32)

_RUN = 1 << 63
"""Marks a place that is not known yet: _RUN plus the first of consecutive numbers."""

_STARTS, _COUNTS = [1, 3, 4, 6], [2, 2, 5, 5]
"""Columns of `predicates.places`: the first keys and offsets in both directions, and the numbers of keys."""

Pairs = NDArray[np.uint64]


def write_adjacency(runs: Runs, ids: U32, out: Writer, folder: Path) -> int:
    """Writes the arrays of predicates and of both directions; returns the number of distinct triples.

    `ids` is uint32[terms of all runs]; `folder` is for temporary files.
    """
    triples = runs.triples.map()
    kernel = KERNEL.for_work(8 * len(triples))
    names, numbers, bounds = _predicates(runs, triples)
    pairs = mapped(folder / "pairs", np.uint64, (len(triples),))
    cursors = bounds[:-1].copy()
    for run in runs.runs:
        own, predicates = triples[run.first_triple : run.end_triple], numbers[run.predicates]
        if kernel is None:
            _scatter(own, run.first, ids, predicates, cursors, pairs)
        else:
            kernel.scatter(own, run.first, ids, predicates, cursors, pairs)

    def forward() -> Pairs:
        _sort(pairs, bounds)
        return pairs

    def backward() -> Pairs:
        for i in range(0, len(pairs), BLOCK):
            part = pairs[i : i + BLOCK]
            part[:] = (part << _HALF) | (part >> _HALF)
        _sort(pairs, bounds)
        return pairs

    directions = forward, backward

    def columns(number: int, targets: ArrayStream) -> Iterator[tuple[U32, Pairs]]:
        return _emitted(directions[number](), bounds, targets, folder, kernel)

    return write_directions(columns, names, out)


def write_directions(
    columns: Callable[[int, ArrayStream], Iterator[tuple[U32, Array]]], names: Sequence[bytes], out: Writer
) -> int:
    """Writes the arrays of predicates and of both directions; returns the number of distinct triples.

    Args:
        columns: appends the targets of a direction, 0 or 1, to a stream; gives the keys and offsets of each predicate.
        names: of the predicates, ascending; each has a triple.
        out: of the projection.
    """
    places = np.zeros((len(names) + 1, PLACES), np.uint64)
    shared = _Shared(out)
    for number, direction in enumerate(DIRECTIONS):
        targets, end = out.stream(f"{direction}.targets", np.uint32), 0
        try:
            for i, (keys, offsets) in enumerate(columns(number, targets)):
                end += int(offsets[-1])
                places[i + 1, 0], places[i, 1 + 3 * number : 4 + 3 * number] = end, shared.add(keys, offsets)
        finally:
            targets.close()
    shared.close(places[:-1])
    text = np.frombuffer(b"".join(names), np.uint8)
    out.write("predicates.text", text)
    out.write("predicates.offsets", np.cumsum([0, *map(len, names)], dtype=np.uint64))
    out.write("predicates.places", places)
    return int(places[-1, 0])


class _Shared:
    """The keys and offsets of all predicates, each distinct array stored once (every paper has a title and a year).

    Consecutive numbers (keys of a class with consecutive ids, offsets of keys with one target each) are runs of 0, 1,
    2, ... They are marked until all runs are complete; then the union of the runs is written once.
    """

    def __init__(self, out: Writer):
        self._keys, self._offsets = out.stream("keys", np.uint32), out.stream("offsets", np.uint8)
        self._place_by_digest: dict[bytes, int] = {}

    def add(self, keys: U32, offsets: Array) -> tuple[int, int, int]:
        """Writes the keys and offsets of a predicate in a direction.

        Returns the place of the first key, the number of keys, and the place of the first offset.
        """
        first, n = int(keys[0]), len(keys)
        consecutive = int(keys[-1]) - first == n - 1
        place = _RUN + first if consecutive else self._place_of(keys)
        return place, n, _RUN if int(offsets[-1]) == n else self._place_of_offsets(offsets)

    def _place_of(self, keys: U32) -> int:
        digest = sha256(keys.data).digest()
        place = self._place_by_digest.get(digest)
        if place is None:
            place = self._place_by_digest[digest] = self._keys.rows
            self._keys.append(keys)
        return place

    def _place_of_offsets(self, offsets: Array) -> int:
        dtype = smallest_unsigned(int(offsets[-1]))
        self._offsets.append(np.zeros(-self._offsets.rows % dtype.itemsize, np.uint8))
        place = self._offsets.rows
        self._offsets.append(offsets.astype(dtype, copy=False).view(np.uint8))
        return place

    def close(self, places: Pairs) -> None:
        """Writes the runs, and replaces the marks in `places`, uint64[predicates, PLACES], by places among the keys."""
        starts, counts = places[:, _STARTS], places[:, _COUNTS]
        counts[:, 1::2] += np.uint64(1)  # there is one more offset than keys
        marked = starts >= _RUN
        first = (starts[marked] - np.uint64(_RUN)).astype(np.int64)
        begins, ends = _union_of_runs(first, first + counts[marked].astype(np.int64))
        written = self._keys.rows + np.cumsum(ends - begins) - (ends - begins)
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            for i in range(begin, end, BLOCK):
                self._keys.append(np.arange(i, min(i + BLOCK, end)))
        within = np.searchsorted(begins, first, "right") - 1
        starts[marked] = written[within] + first - begins[within]
        places[:, _STARTS] = starts
        self._keys.close()
        self._offsets.close()


def _union_of_runs(first: I64, end: I64) -> tuple[I64, I64]:
    """The union of ranges of numbers, as (first, end) of ascending ranges that do not touch.

    >>> _union_of_runs(np.array([7, 0, 2]), np.array([9, 3, 5]))
    (array([0, 7]), array([5, 9]))
    """
    order = np.argsort(first, kind="stable")
    first, reach = first[order], np.maximum.accumulate(end[order])
    new = np.ones(len(first), bool)
    new[1:] = first[1:] > reach[:-1]
    return first[new], reach[np.roll(new, -1)]


def _predicates(runs: Runs, triples: U32) -> tuple[list[bytes], U32, I64]:
    """The sorted predicates with triples; the place of each number among them; and the bounds of their pairs."""
    counts = np.zeros(len(runs.predicates.numbers), np.int64)
    for run in runs.runs:
        for i in range(run.first_triple, run.end_triple, BLOCK):
            part = triples[i : min(i + BLOCK, run.end_triple), 1]
            np.add.at(counts, run.predicates, np.bincount(part, minlength=len(run.predicates)))
    names = sorted(name for name, number in runs.predicates.numbers.items() if counts[number])
    numbers, bounds = np.zeros(len(counts), np.uint32), np.zeros(len(names) + 1, np.int64)
    for place, name in enumerate(names):
        number = runs.predicates.numbers[name]
        numbers[number], bounds[place + 1] = place, bounds[place] + counts[number]
    return names, numbers, bounds


def _scatter(triples: U32, first: int, ids: U32, predicates: U32, cursors: I64, pairs: Pairs) -> None:
    own = predicates[triples[:, 1]]
    order = np.argsort(own, kind="stable")
    counts = np.bincount(own, minlength=len(cursors))
    before = np.cumsum(counts) - counts
    places = np.arange(len(own)) + np.repeat(cursors - before, counts)
    subjects, targets = (ids[first + triples[order, column].astype(np.int64)].astype(np.uint64) for column in (0, 2))
    pairs[places] = (subjects << _HALF) | targets
    cursors += counts


def _sort(pairs: Pairs, bounds: I64) -> None:
    edges = bounds.tolist()

    def batches() -> Iterator[tuple[int, int]]:
        first = 0
        for i in range(1, len(edges)):
            if edges[i] - edges[first] >= SORTED_AT_ONCE or i == len(edges) - 1:
                yield first, i
                first = i

    def sort(batch: tuple[int, int]) -> None:
        for i in range(*batch):
            pairs[edges[i] : edges[i + 1]].sort()

    tasks = list(batches())
    if len(tasks) < 2:
        for task in tasks:
            sort(task)
        return
    with ThreadPoolExecutor(os.cpu_count() or 1, "hybridkg-projection") as pool:
        list(pool.map(sort, tasks))


def _emitted(
    pairs: Pairs, bounds: I64, targets: ArrayStream, folder: Path, kernel: ModuleType | None
) -> Iterator[tuple[U32, Pairs]]:
    """The keys and offsets of each predicate, after its targets have been appended."""
    keys, offsets = Spool(folder / "keys", np.uint32), Spool(folder / "offsets", np.uint64)
    sizes = _emit_all(pairs, bounds, (keys, offsets, targets), kernel)
    all_keys, all_offsets, key = keys.map(), offsets.map(), 0
    for i, n in enumerate(sizes[:, 1].tolist()):
        yield all_keys[key : key + n], all_offsets[key + i : key + i + n + 1]
        key += n


def _emit_all(pairs: Pairs, bounds: I64, streams: tuple[Spool, Spool, ArrayStream], kernel: ModuleType | None) -> I64:
    """Writes one direction; returns int64[predicates, 2], the targets and keys of each."""

    def append(keys: Array, offsets: Array, targets: Array) -> None:
        streams[0].append(keys)
        streams[1].append(offsets)
        streams[2].append(targets)

    sizes = np.zeros((len(bounds) - 1, 2), np.int64)
    if kernel is None:
        for i in range(len(sizes)):
            distinct = sorted_distinct(pairs[bounds[i] : bounds[i + 1]])
            keys, counts = np.unique(distinct >> _HALF, return_counts=True)
            append(keys, np.concatenate(([0], np.cumsum(counts))), distinct & np.uint64(0xFFFFFFFF))
            sizes[i] = len(distinct), len(keys)
        return sizes
    keys, offsets, targets = np.empty(BLOCK, np.uint32), np.empty(BLOCK + 1, np.uint64), np.empty(BLOCK, np.uint32)
    state = np.array([0, 0, -1, 0, 0, 0], np.int64)
    while state[0] < len(sizes):
        kernel.emit(pairs, bounds, state, keys, offsets, targets, sizes)
        n_keys, n_offsets, n_targets = state[3:].tolist()
        append(keys[:n_keys], offsets[:n_offsets], targets[:n_targets])
    return sizes
