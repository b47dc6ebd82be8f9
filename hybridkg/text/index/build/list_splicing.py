"""The posting lists of the next index where few lists have changed: the ranges between them are copied in bulk.

Ids stay, so the bytes of a list depend on nothing but its postings; only offsets shift. Either all lists are written,
in the order of their numbers, or the base of the earlier segment is linked, and only the lists that are not in it are
written, to the tail.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.storage.array_edit import ArrayEdit
from hybridkg.storage.distinct import are_among, sorted_distinct
from hybridkg.text.index.build.list_edits import EditedLists
from hybridkg.text.index.build.list_places import ListPlaces, all_lists, block_offsets, some_lists, tail_lists
from hybridkg.text.index.build.posting_lists import LISTS, MAX_ROWS, write_ends
from hybridkg.text.index.codec.packing import LANES, PADDING, blocks_of
from hybridkg.text.index.layout import Array, ArrayReader, ArrayWriter, smallest_unsigned
from hybridkg.text.index.postings import SegmentPostings

I64 = NDArray[np.int64]

Pieces = list[Array | tuple[int, int]]
"""Of an array: ranges of rows of the earlier one, and new rows."""


class _Put(Protocol):
    """`Writer.splice` or `Writer.extend`."""

    def __call__(self, name: str, earlier: ArrayReader, pieces: Pieces, /) -> None: ...


@dataclass(frozen=True)
class SplicedLists:
    """The terms after a splice.

    Args:
        postings: number of all postings.
        gone: int64[...], the earlier terms without a posting, ascending.
        same: int64[next terms], the earlier number of each term none of whose lists is marked as edited; else -1.
    """

    postings: int
    gone: I64
    same: I64


class _Ranges(NamedTuple):
    """Ranges of lists that lie one after the other, in the order of the lists afterwards.

    Args:
        is_old: bool[r], whether a range is of earlier lists, or of edited ones.
        blocks: int64[2, r], its first posting block and the one behind its last, among the earlier or the edited ones.
        positions: int64[2, r], likewise.
    """

    is_old: NDArray[np.bool_]
    blocks: I64
    positions: I64


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
        ranges = self._ranges(all_lists(self.old))
        with ThreadPoolExecutor(1, "hybridkg-commit") as beside:
            written = beside.submit(out.splice, "positions", reader, self._positions(ranges))
            self._write_blocks(out.splice, reader, ranges, (0, 0))
            edit = self._edit()
            lengths = blocks_of(self.edited.df[edit.enters])
            write_ends(out, "blocks", edit.lists.offsets(block_offsets(self.old), lengths))
            lists = self._write_terms(out, edit)
            written.result()
        return lists

    def extend(self, out: ArrayWriter, reader: ArrayReader) -> SplicedLists:
        """As `write`, with the base of the earlier segment: only the lists that are not in it are written, to the tail.

        The tail of the posting blocks begins where that of the narrowest of their arrays does.
        """
        old, edited = self.old, self.edited
        kept = tail_lists(old)
        kept = kept[~are_among(kept, self.numbers)]
        ranges = self._ranges(some_lists(old, kept))
        begins = reader.tail_start("blocks.widths"), reader.tail_start("positions")
        out.extend("positions", reader, self._positions(ranges))
        gap, row = begins[0] - reader.tail_start("blocks.first"), reader.tail_start("packed") // LANES
        self._write_blocks(out.extend, reader, ranges, (gap, row))
        edit, places = self._edit(), np.searchsorted(self._begins(), kept, "right")
        is_kept, tokens = np.insert(np.zeros(len(edited.df), bool), places, True), old.arrays[1]
        cf = tokens[kept + 1].astype(np.int64) - tokens[kept].astype(np.int64)
        for name, begin, before, counts in (
            ("blocks", begins[0], old.arrays[2], np.insert(blocks_of(edited.df), places, blocks_of(old.sizes(kept)))),
            ("positions", begins[1], old.position_starts, np.insert(edited.cf, places, cf)),
        ):
            ends = np.cumsum(counts) + begin
            end = int(ends[-1]) if len(ends) else begin
            starts = before[:-1].astype(smallest_unsigned(end))
            starts[kept] = (ends - counts)[is_kept]
            starts = edit.lists.apply(starts, (ends - counts)[~is_kept][edit.enters])
            write_ends(out, name, np.append(starts, starts.dtype.type(end)))
        return self._write_terms(out, edit)

    def with_same_tf(self, moved: I64) -> ListSplice:
        """The splice with some lists not marked as edited: those in which postings have moved within their entities.

        Args:
            moved: int64[...], ascending, replaced lists that the texts of entities say so of.
        """
        rows = np.flatnonzero(~self.is_new())[are_among(self.numbers, moved)]
        tokens = self.old.arrays[1]
        cf = tokens[moved + 1].astype(np.int64) - tokens[moved].astype(np.int64)
        stays = (self.edited.df[rows] == self.old.sizes(moved)) & (self.edited.cf[rows] == cf)
        is_edited = self.edited.is_edited.copy()
        is_edited[rows[stays]] = False
        return replace(self, edited=replace(self.edited, is_edited=is_edited))

    def is_new(self) -> NDArray[np.bool_]:
        """Whether each edited list is new."""
        return np.insert(np.zeros(len(self.numbers), bool), np.searchsorted(self.numbers, self.places), True)

    def _begins(self) -> I64:
        """int64[t + n]: the earlier list that each edited one replaces, or that it enters before."""
        is_new = self.is_new()
        begins = np.zeros(len(is_new), np.int64)
        begins[is_new], begins[~is_new] = self.places, self.numbers
        return begins

    def _groups(self) -> tuple[I64, I64, I64]:
        """For each group of adjacent lists that are replaced: the first of them, the one behind their last, and the
        first edited list in their place.
        """
        begins = self._begins()
        ends = begins + ~self.is_new()
        firsts = np.flatnonzero(np.append(True, begins[1:] != ends[:-1])[: len(begins)])
        lasts = np.append(firsts[1:], len(begins)) - 1
        return begins[firsts], ends[lasts[: len(firsts)]], firsts

    def _ranges(self, places: ListPlaces) -> _Ranges:
        """The ranges of the lists afterwards, in their order: the edited ones, and the earlier ones of some places."""
        begins, ends, firsts = self._groups()
        old = places.spans(np.append(0, ends), np.append(begins, len(self.old.ends) - 1))
        # Edited lists lie one after the other, also those of several groups without earlier lists between them.
        runs = np.flatnonzero(are_among(np.arange(len(firsts)), np.append(0, old.owners[old.owners > 0])))
        edges = np.append(firsts[runs], len(self.edited.df))
        blocks, positions = (
            np.array([offsets[edges[:-1]], offsets[edges[1:]]])
            for offsets in (_ends(blocks_of(self.edited.df)), _ends(self.edited.cf))
        )
        has_blocks = blocks[0] < blocks[1]
        runs, blocks, positions = runs[has_blocks], blocks[:, has_blocks], positions[:, has_blocks]
        order = np.argsort(np.concatenate([2 * old.owners, 2 * runs + 1]), kind="stable")
        return _Ranges(
            order < len(old.owners),
            np.concatenate([old.blocks, blocks], axis=1)[:, order],
            np.concatenate([old.positions, positions], axis=1)[:, order],
        )

    def _positions(self, ranges: _Ranges) -> Pieces:
        edited = self.edited.positions
        spans = zip(ranges.is_old.tolist(), *ranges.positions.tolist(), strict=True)
        return [(first, end) if is_old else edited[first:end] for is_old, first, end in spans]

    def _write_blocks(self, put: _Put, reader: ArrayReader, ranges: _Ranges, start: tuple[int, int]) -> None:
        """Writes `blocks.*` and `packed`, by `put`; `start` are empty blocks before them, and their first row."""
        old, edited = self.old.packed, self.edited.packed
        gap, first_row = start
        sizes = ranges.blocks[1] - ranges.blocks[0]
        before = np.cumsum(sizes) - sizes
        at = np.repeat(ranges.blocks[0] - before, sizes) + np.arange(int(sizes.sum()))
        is_old = np.repeat(ranges.is_old, sizes)

        def chosen(earlier: Array, new: Array) -> Array:
            found = np.empty((len(at), *earlier.shape[1:]), earlier.dtype)
            found[is_old], found[~is_old] = earlier[at[is_old]], new[at[~is_old]]
            return found

        empty, rows = np.zeros(gap, np.uint32), chosen(old.at, edited.at)
        put("blocks.first", reader, [empty, chosen(old.first, edited.first)])
        put("blocks.widths", reader, [chosen(old.widths, edited.widths)])
        begins = rows[before].astype(np.int64)
        old_ends, edited_ends = self._end_rows(reader), {len(edited.at): len(edited.words) // LANES}
        ends = np.where(
            ranges.is_old, _rows(old.at, ranges.blocks[1], old_ends), _rows(edited.at, ranges.blocks[1], edited_ends)
        )
        counts = ends - begins
        if first_row + int(counts.sum()) > MAX_ROWS:
            raise OverflowError("a segment holds at most 64 GB of packed postings")
        shifts = first_row + np.cumsum(counts) - counts - begins
        put("blocks.at", reader, [empty, rows + np.repeat(shifts % (1 << 32), sizes).astype(np.uint32)])
        words = zip(ranges.is_old.tolist(), (begins * LANES).tolist(), (ends * LANES).tolist(), strict=True)
        pieces = [(first, end) if own else edited.words[first:end] for own, first, end in words]
        put("packed", reader, [*pieces, np.zeros(PADDING, np.uint32)])

    def _end_rows(self, reader: ArrayReader) -> dict[int, int]:
        """The end of the rows of the earlier blocks that no block follows, by the number behind theirs."""
        packed = self.old.packed
        ends = {len(packed.at): (len(packed.words) - PADDING) // LANES}
        blocks, words = reader.base_rows("blocks.at"), reader.base_rows("packed")
        if blocks is not None and words is not None:
            ends[blocks] = (words - PADDING) // LANES
        return ends

    def _edit(self) -> _Edit:
        n_fields, edited, ends, is_new = self.n_fields, self.edited, self.old.ends, self.is_new()
        touched = sorted_distinct(self.numbers // n_fields)
        lists = touched[:, None] * n_fields + np.arange(n_fields)
        df = ends[lists + 1].astype(np.int64) - ends[lists].astype(np.int64)
        df.reshape(-1)[np.searchsorted(lists.reshape(-1), self.numbers)] = edited.df[~is_new]
        is_gone = ~df.any(axis=1)
        gone, begins = touched[is_gone], self._begins()
        enters = is_new | ~are_among(begins // n_fields, gone)
        removed = sorted_distinct(np.concatenate([self.numbers, lists[is_gone].reshape(-1)]))
        return _Edit(ArrayEdit(len(ends) - 1, removed, begins[enters]), enters, gone)

    def _write_terms(self, out: ArrayWriter, edit: _Edit) -> SplicedLists:
        """Writes df and cf."""
        n_fields, edited, ends, own = self.n_fields, self.edited, self.old.ends, edit.enters
        for name, before, lengths in zip(LISTS[:2], self.old.arrays, (edited.df[own], edited.cf[own]), strict=False):
            dtype = smallest_unsigned(edit.lists.end(before, lengths))
            write_ends(out, name, edit.lists.offsets(before, lengths, dtype))
        same = np.arange(edit.lists.size // n_fields)
        same[self.numbers[edited.is_edited[~self.is_new()]] // n_fields] = -1
        places = self.places[::n_fields] // n_fields
        postings = int(ends[-1]) + int(edited.df[own].sum()) - int(self.old.sizes(edit.lists.removed).sum())
        after = ArrayEdit(len(same), edit.gone, places).apply(same, np.full(len(places), -1))
        return SplicedLists(postings, edit.gone, after)


class _Edit(NamedTuple):
    """The edit of all lists.

    Args:
        lists: the earlier lists, of which the replaced ones and those of terms that are gone leave.
        enters: bool[edited], which of the edited lists enter: all but those of terms that are gone.
        gone: int64[...], earlier terms without a posting, ascending.
    """

    lists: ArrayEdit
    enters: NDArray[np.bool_]
    gone: I64


def _rows(at: Array, blocks: I64, ends: dict[int, int]) -> I64:
    """int64[n]: the first rows of some blocks; `ends` has the rows of those that do not begin behind another one."""
    rows = at[np.minimum(blocks, len(at) - 1)].astype(np.int64) if len(at) else np.zeros(len(blocks), np.int64)
    for block, row in ends.items():
        rows[blocks == block] = row
    return rows


def _ends(counts: I64) -> I64:
    return np.concatenate(([0], np.cumsum(counts)))
