"""The posting lists of the next index where few lists have changed: the ranges between them are copied in bulk.

Ids stay, so the bytes of a list depend on nothing but its postings; only offsets shift.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.storage.array_edit import ArrayEdit
from hybridkg.storage.distinct import sorted_distinct
from hybridkg.text.index.build.list_edits import EditedLists
from hybridkg.text.index.build.posting_lists import LISTS, MAX_ROWS, write_ends
from hybridkg.text.index.codec.packing import LANES, PADDING, blocks_of
from hybridkg.text.index.layout import Array, ArrayReader, ArrayWriter
from hybridkg.text.index.postings import SegmentPostings

I64 = NDArray[np.int64]


@dataclass(frozen=True)
class SplicedLists:
    """The terms after a splice.

    Args:
        postings: number of all postings.
        gone: int64[...], the earlier terms without a posting, ascending.
        same: int64[next terms], the earlier number of each term none of whose lists has been edited; else -1.
    """

    postings: int
    gone: I64
    same: I64


@dataclass(frozen=True)
class ListSplice:
    """Some earlier lists are replaced, and new ones enter.

    Args:
        old: the earlier lists.
        n_fields: consecutive lists of a term.
        numbers: int64[t], the replaced lists, ascending.
        places: int64[n], earlier lists before which new ones enter, ascending; those of a term are adjacent.
        edited: the t + n lists afterwards, in their order.
    """

    old: SegmentPostings
    n_fields: int
    numbers: I64
    places: I64
    edited: EditedLists

    def write(self, out: ArrayWriter, reader: ArrayReader) -> SplicedLists:
        """Writes the arrays of all lists; `reader` is of the earlier segment.

        Raises:
            OverflowError: the segment has more than 64 GB of packed postings.
        """
        groups, tokens = list(self._groups()), _ends(self.edited.cf)
        positions = _pieces(groups, self.old.arrays[1], tokens, self.edited.positions)
        with ThreadPoolExecutor(1, "hybridkg-commit") as beside:
            written = beside.submit(out.splice, "positions", reader, positions)
            self._write_blocks(out, reader, groups)
            lists = self._write_offsets(out)
            written.result()
        return lists

    def _groups(self) -> Iterator[tuple[int, int, int, int]]:
        """(first, end) of adjacent earlier lists that are replaced, and (first, end) of those that replace them."""
        is_new = self.is_new()
        begins = np.zeros(len(is_new), np.int64)
        begins[is_new], begins[~is_new] = self.places, self.numbers
        ends = begins + ~is_new
        cuts = np.flatnonzero(begins[1:] != ends[:-1]) + 1
        for own in np.split(np.arange(len(begins)), cuts):
            if len(own):
                first, last = int(own[0]), int(own[-1])
                yield int(begins[first]), int(ends[last]), first, last + 1

    def is_new(self) -> NDArray[np.bool_]:
        """Whether each edited list is new."""
        return np.insert(np.zeros(len(self.numbers), bool), np.searchsorted(self.numbers, self.places), True)

    def _write_blocks(self, out: ArrayWriter, reader: ArrayReader, groups: list[tuple[int, int, int, int]]) -> None:
        old, edited = self.old.packed, self.edited.packed
        of_old, of_edited = self.old.arrays[2], _ends(blocks_of(self.edited.df))
        for name, own in (("first", edited.first), ("widths", edited.widths)):
            out.splice(f"blocks.{name}", reader, _pieces(groups, of_old, of_edited, own))
        row, at, words = 0, [np.zeros(0, np.uint32)], list[Array | tuple[int, int]]()
        sources = {True: (old.at, len(old.words) - PADDING), False: (edited.at, len(edited.words))}
        for is_old, begin, end in _ranges(groups, of_old, of_edited):
            rows, n_words = sources[is_old]
            first, last = (int(rows[block]) if block < len(rows) else n_words // LANES for block in (begin, end))
            at.append(rows[begin:end] + np.uint32((row - first) % (1 << 32)))
            words.append((first * LANES, last * LANES) if is_old else edited.words[first * LANES : last * LANES])
            row += last - first
        if row > MAX_ROWS:
            raise OverflowError("a segment holds at most 64 GB of packed postings")
        out.write("blocks.at", np.concatenate(at))
        out.splice("packed", reader, [*words, np.zeros(PADDING, np.uint32)])

    def _write_offsets(self, out: ArrayWriter) -> SplicedLists:
        n_fields, is_new, edited, ends = self.n_fields, self.is_new(), self.edited, self.old.ends
        touched = sorted_distinct(self.numbers // n_fields)
        lists = touched[:, None] * n_fields + np.arange(n_fields)
        df = ends[lists + 1].astype(np.int64) - ends[lists].astype(np.int64)
        df.reshape(-1)[np.searchsorted(lists.reshape(-1), self.numbers)] = edited.df[~is_new]
        is_gone = ~df.any(axis=1)
        gone = touched[is_gone]
        edit, own = self._edit(np.union1d(self.numbers, lists[is_gone].reshape(-1)), gone)
        counts = edited.df[own], edited.cf[own], blocks_of(edited.df[own])
        for name, before, lengths in zip(LISTS, self.old.arrays, counts, strict=True):
            write_ends(out, name, edit.offsets(before, lengths))
        same = np.arange(edit.size // n_fields)
        same[self.numbers[edited.is_edited[~is_new]] // n_fields] = -1
        places = self.places[::n_fields] // n_fields
        postings = int(ends[-1]) + int(edited.df[own].sum()) - int(self.old.sizes(edit.removed).sum())
        return SplicedLists(postings, gone, ArrayEdit(len(same), gone, places).apply(same, np.full(len(places), -1)))

    def _edit(self, removed: I64, gone: I64) -> tuple[ArrayEdit, NDArray[np.bool_]]:
        """The edit of the lists, which are `removed` and enter again, and which of the edited ones enter: all but those
        of terms that are `gone`.
        """
        begins, is_new = np.zeros(len(self.edited.df), np.int64), self.is_new()
        begins[is_new], begins[~is_new] = self.places, self.numbers
        own = is_new | ~np.isin(begins // self.n_fields, gone)
        return ArrayEdit(len(self.old.ends) - 1, removed, begins[own]), own


def _ends(counts: I64) -> I64:
    return np.concatenate(([0], np.cumsum(counts)))


def _ranges(groups: list[tuple[int, int, int, int]], of_old: Array, of_edited: I64) -> Iterator[tuple[bool, int, int]]:
    """(whether of the earlier lists, first, end) of the elements of all lists, by the offsets of both."""
    at = 0
    for begin, end, first, last in groups:
        yield True, at, int(of_old[begin])
        yield False, int(of_edited[first]), int(of_edited[last])
        at = int(of_old[end])
    yield True, at, int(of_old[-1])


def _pieces(
    groups: list[tuple[int, int, int, int]], of_old: Array, of_edited: I64, edited: Array
) -> list[Array | tuple[int, int]]:
    """The pieces of an array whose elements belong to lists, in the order of the lists."""
    ranges = ((is_old, begin, end) for is_old, begin, end in _ranges(groups, of_old, of_edited) if begin < end)
    return [(begin, end) if is_old else edited[begin:end] for is_old, begin, end in ranges]
