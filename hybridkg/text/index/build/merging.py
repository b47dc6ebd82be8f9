"""The merge of sorted runs into posting lists, in bounded memory.

All lists are cut into ranges of bounded size before sorting, by the counts of the terms. Each run is written to one
temporary file as a block for each range, in the narrowest types, so that a range needs one read for each run. The runs
of a field are disjoint and ascend by entity: within a list, its blocks are concatenated.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.index.build.runs import KERNEL, U32, PostingRun, chunks
from hybridkg.text.index.layout import Array, smallest_unsigned

RANGE_TOKENS = 4_000_000
"""Tokens of a range, with one more for each list; about 60 bytes of memory each during the merge. A longer list is a
range of its own."""

_Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ListRanges:
    """Consecutive ranges of lists; bounds: int64[ranges + 1], the first list of each, and the number of all lists."""

    bounds: _Counts
    n_fields: int

    @classmethod
    def of(cls, cf: Sequence[_Counts], limit: int = RANGE_TOKENS) -> ListRanges:
        """The ranges of an index, by cf, int64[terms] for each field, of at most `limit` tokens and lists each.

        >>> ListRanges.of([np.array([5, 0, 2]), np.array([1, 1, 1])], 8).bounds
        array([0, 2, 6])
        """
        sizes = np.stack(cf, axis=1).reshape(-1) + 1 if cf else np.zeros(0, np.int64)
        bounds = [0, *(last for _, last in chunks(sizes, limit))]
        return cls(np.array(bounds, np.int64), len(cf))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def terms(self, field: int) -> _Counts:
        """int64[ranges + 1]: the first term whose list of this field is in each range."""
        return -((field - self.bounds) // self.n_fields)


@dataclass(frozen=True)
class SpilledRun:
    """The place of a run in the temporary file.

    Args:
        field: of the run.
        base: the minimum id, subtracted from its ids.
        types: of terms, df, cf, ids, tf, positions.
        entries: int64[ranges + 1], the first (term, df, cf) of each range.
        postings, tokens: the same of its postings and positions.
        at: the first byte of its block of each range.
    """

    field: int
    base: int
    types: tuple[np.dtype[np.unsignedinteger], ...]
    entries: _Counts
    postings: _Counts
    tokens: _Counts
    at: _Counts


class RunSpill:
    """The temporary file of runs, new at `path`. Safe to use from many threads."""

    def __init__(self, path: Path, ranges: ListRanges):
        self.ranges = ranges
        self._path, self._size, self._lock = path, 0, threading.Lock()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)

    def close(self) -> None:
        """Removes the file."""
        if self._file >= 0:
            os.close(self._file)
            self._path.unlink(missing_ok=True)
            self._file = -1

    def write(self, run: PostingRun, field: int) -> SpilledRun:
        """Writes a run, which may be empty."""
        base = int(run.ids.min()) if len(run.ids) else 0
        arrays = (run.terms, run.df, run.cf, run.ids - np.uint32(base), run.tf, run.positions)
        narrow = [a.astype(smallest_unsigned(int(a.max()) if len(a) else 0)) for a in arrays]
        entries = np.searchsorted(run.terms, self.ranges.terms(field))
        postings, tokens = (np.concatenate(([0], np.cumsum(a, dtype=np.int64)))[entries] for a in (run.df, run.cf))
        cuts = (entries, entries, entries, postings, postings, tokens)
        sizes = sum(np.diff(cut) * a.itemsize for a, cut in zip(narrow, cuts, strict=True))
        parts: list[memoryview] = []
        for i in np.flatnonzero(np.diff(entries)).tolist():
            parts += [a[cut[i] : cut[i + 1]].data for a, cut in zip(narrow, cuts, strict=True)]
        at = np.concatenate(([0], np.cumsum(sizes))) + self._append(b"".join(parts))
        return SpilledRun(field, base, tuple(a.dtype for a in narrow), entries, postings, tokens, at)

    def _append(self, data: bytes) -> int:
        with self._lock:
            start = self._size
            self._size += len(data)
        view, at = memoryview(data), start
        while view:
            written = os.pwrite(self._file, view, at)
            view, at = view[written:], at + written
        return start

    def read(self, run: SpilledRun, i: int) -> list[Array]:
        """Terms, df, cf, ids, tf and positions of a run in range `i`, in narrow types, ids without their base.

        Raises:
            OSError: the file has become shorter.
        """
        start, end = int(run.at[i]), int(run.at[i + 1])
        parts: list[bytes] = []
        while start < end:
            parts.append(os.pread(self._file, end - start, start))
            if not parts[-1]:
                raise OSError(f"{str(self._path)!r} has become shorter while it was read")
            start += len(parts[-1])
        data, offset, arrays = b"".join(parts), 0, []
        cuts = (run.entries, run.entries, run.entries, run.postings, run.postings, run.tokens)
        for dtype, cut in zip(run.types, cuts, strict=True):
            count = int(cut[i + 1] - cut[i])
            arrays.append(np.frombuffer(data, dtype, count, offset))
            offset += count * dtype.itemsize
        return arrays


@dataclass(frozen=True)
class Blocks:
    """The blocks of a range, run by run; each entry is a piece of a list.

    Args:
        lists: int64[e], the list of each entry, counted from the first one of the range.
        df, cf: int64[e], its postings and its tokens.
        ids, tf: uint32[sum(df)].
        positions: uint32[sum(cf)].
    """

    lists: _Counts
    df: _Counts
    cf: _Counts
    ids: U32
    tf: U32
    positions: U32

    @classmethod
    def read(cls, spill: RunSpill, runs: Sequence[SpilledRun], i: int) -> Blocks:
        """The blocks of range `i`; runs ascend by field and entities."""
        runs = [run for run in runs if run.entries[i] < run.entries[i + 1]]
        n_entries, n_postings, n_tokens = (
            sum(int(cut[i + 1] - cut[i]) for cut in cuts)
            for cuts in ([r.entries for r in runs], [r.postings for r in runs], [r.tokens for r in runs])
        )
        lists, df, cf = (np.empty(n_entries, np.int64) for _ in range(3))
        ids, tf = (np.empty(n_postings, np.uint32) for _ in range(2))
        positions = np.empty(n_tokens, np.uint32)
        e = p = t = 0
        first = int(spill.ranges.bounds[i])
        for run in runs:
            arrays = spill.read(run, i)
            e_end, p_end, t_end = e + len(arrays[0]), p + len(arrays[3]), t + len(arrays[5])
            lists[e:e_end] = arrays[0]
            lists[e:e_end] *= spill.ranges.n_fields
            lists[e:e_end] += run.field - first
            df[e:e_end], cf[e:e_end] = arrays[1], arrays[2]
            ids[p:p_end], tf[p:p_end], positions[t:t_end] = arrays[3], arrays[4], arrays[5]
            ids[p:p_end] += np.uint32(run.base)
            e, p, t = e_end, p_end, t_end
        return cls(lists, df, cf, ids, tf, positions)


def merged(blocks: Blocks, n_lists: int) -> tuple[_Counts, _Counts, U32, U32, U32]:
    """The lists of a range: (df int64[n_lists], cf int64[n_lists], ids, tf, positions), list by list."""
    if n_lists == 1:
        counts = np.array([len(blocks.ids)]), np.array([len(blocks.positions)])
        return *counts, blocks.ids, blocks.tf, blocks.positions
    kernel = KERNEL.for_work(len(blocks.ids))
    if kernel is None:
        return merged_numpy(blocks, n_lists)
    df, cf = np.zeros(n_lists, np.int64), np.zeros(n_lists, np.int64)
    ids, tf, positions = (np.empty_like(a) for a in (blocks.ids, blocks.tf, blocks.positions))
    kernel.merge(
        blocks.lists, blocks.df, blocks.cf, blocks.ids, blocks.tf, blocks.positions, df, cf, ids, tf, positions
    )
    return df, cf, ids, tf, positions


def merged_numpy(blocks: Blocks, n_lists: int) -> tuple[_Counts, _Counts, U32, U32, U32]:
    """The numpy reference of the kernel `merge`."""
    order = np.argsort(blocks.lists, kind="stable")
    df, cf = (
        np.bincount(blocks.lists, counts, n_lists).astype(np.int64)  # float64 holds these counts exactly
        for counts in (blocks.df, blocks.cf)
    )
    postings, tokens = _places(blocks.df, order), _places(blocks.cf, order)
    return df, cf, blocks.ids[postings], blocks.tf[postings], blocks.positions[tokens]


def _places(widths: _Counts, order: NDArray[np.intp]) -> _Counts:
    """int64[sum(widths)]: the places of the elements of pieces of these widths, the pieces in this order."""
    starts = (np.cumsum(widths) - widths)[order]
    widths = widths[order]
    ends = np.cumsum(widths)
    return np.repeat(starts - (ends - widths), widths) + np.arange(int(ends[-1]) if len(ends) else 0)
