"""Edits of packed posting lists: ids are renumbered, postings leave, and others enter.

A posting block in which nothing leaves or enters, and whose ids shift by one number, is copied as it is packed; so are
the positions between two edits. The blocks behind an edit are packed again, until they begin at the earlier places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.interfaces.staying import Staying
from hybridkg.storage.distinct import are_among, sorted_distinct
from hybridkg.text.index.codec.packing import LANES, PackedLists, blocks_of, pack
from hybridkg.text.index.layout import Array
from hybridkg.text.index.postings import SegmentPostings

KERNEL = LazyKernel("hybridkg.text.index.build.list_edits_kernel")

I64 = NDArray[np.int64]
U32 = NDArray[np.uint32]


@dataclass(frozen=True)
class Entering:
    """Postings that enter lists.

    Args:
        lists: int64[p], ascending.
        ids: uint32[p], new ids, ascending within each list; none of them stays in its list.
        tf: uint32[p].
        positions: unsigned[sum(tf)].
    """

    lists: I64
    ids: U32
    tf: U32
    positions: Array

    def only(self, chosen: NDArray[np.bool_]) -> Entering:
        """Some of the postings, by bool[p]."""
        if chosen.all():
            return self
        positions = self.positions[np.repeat(chosen, self.tf)]
        return Entering(self.lists[chosen], self.ids[chosen], self.tf[chosen], positions)


@dataclass(frozen=True)
class EditedLists:
    """Consecutive lists afterwards.

    Args:
        df, cf: int64[l].
        packed: their postings.
        positions: unsigned[sum(cf)].
        is_edited: bool[l], whether a posting has left or entered, or has another tf.
    """

    df: I64
    cf: I64
    packed: PackedLists
    positions: Array
    is_edited: NDArray[np.bool_]

    def kept(self) -> EditedLists:
        """A copy of what the next call of an editor overwrites."""
        packed = self.packed
        own = PackedLists(packed.first.copy(), packed.at.copy(), packed.widths.copy(), packed.words.copy())
        return replace(self, packed=own, positions=self.positions.copy())


class ReenteringLists(NamedTuple):
    """Lists that all postings that leave enter again, and no others.

    Args:
        same: int64[...], ascending: those whose postings are as they were.
        moved: int64[...], ascending: those of whose postings some have other positions, but all the tf of before.
    """

    same: I64
    moved: I64


def reentering(leaving: Entering, entering: Entering) -> ReenteringLists:
    """The lists that keep the entities and tf of their postings.

    A text that is added to others of a field moves those behind it alone, so most lists of the field stay the same.

    Args:
        leaving: the postings that leave, as those that enter are given; their ids are the same numbers.
        entering: the postings that enter.

    >>> left = Entering(np.array([4, 7, 7]), np.array([1, 1, 2]), np.array([1, 1, 1]), np.array([0, 5, 0]))
    >>> entered = Entering(np.array([4, 7, 7]), np.array([1, 1, 2]), np.array([1, 1, 1]), np.array([0, 6, 0]))
    >>> [lists.tolist() for lists in reentering(left, entered)]
    [[4], [7]]
    """
    lists = sorted_distinct(leaving.lists)
    lists = lists[are_among(lists, sorted_distinct(entering.lists))]
    left, entered = (one.only(are_among(one.lists, lists)) for one in (leaving, entering))
    rows = [np.searchsorted(lists, own.lists) for own in (left, entered)]
    sizes = [
        [np.bincount(row, own.tf if tokens else None, len(lists)) for tokens in (0, 1)]
        for row, own in zip(rows, (left, entered), strict=True)
    ]
    is_same: NDArray[np.bool_] = (np.array(sizes[0]) == np.array(sizes[1])).all(axis=0)
    left, entered = (own.only(is_same[row]) for row, own in zip(rows, (left, entered), strict=True))
    lists, row = lists[is_same], rows[1][is_same[rows[1]]]
    row = (np.cumsum(is_same) - 1)[row]
    has_same, is_moved = np.ones(len(lists), bool), np.zeros(len(lists), bool)
    has_same[row[(left.ids != entered.ids) | (left.tf != entered.tf)]] = False
    is_moved[np.repeat(row, entered.tf)[left.positions != entered.positions]] = True
    return ReenteringLists(lists[has_same & ~is_moved], lists[has_same & is_moved])


class _Room:
    """Arrays that are used again: the first use of a page of memory costs more than writing it."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def get(self, name: str, dtype: type[np.generic], size: int) -> Array:
        """An array of any content, valid until the next call with its name."""
        if name not in self._arrays or len(self._arrays[name]) < size:
            self._arrays[name] = np.empty(size, dtype)
        return self._arrays[name][:size]


class ListEditor:
    """Edits the lists of a segment; the result of a call is valid until the next one.

    Args:
        old: the lists.
        staying: of each field, the entities whose postings stay. Fields may share an object, which saves memory.
        positions_type: of the positions afterwards.
    """

    def __init__(self, old: SegmentPostings, staying: Sequence[Staying], positions_type: np.dtype[Any]):
        self._old, self._type, self._room = old, positions_type, _Room()
        distinct = {id(own): own for own in staying}
        rows = list(distinct)
        self._row_of_field = np.array([rows.index(id(own)) for own in staying], np.int64)
        self._staying = list(distinct.values())
        self._kernel = KERNEL.for_work(int(old.ends[-1]))

    @cached_property
    def _ids(self) -> tuple[I64, I64, I64, I64]:
        """What the kernel knows of entities: (int64[rows, n] their new ids, int64[rows, n] the ends of their runs,
        int64[...] those that leave, row by row, int64[rows + 1] where each row begins among these).

        Where ids stay, those that leave say all, and the first two have no columns.
        """
        own = self._staying
        if all(one.ids is None for one in own):
            ends = np.cumsum([0, *(len(one.leaving) for one in own)])
            none = np.zeros((len(own), 0), np.int64)
            return none, none, np.concatenate([one.leaving for one in own]), ends
        arrays = self._arrays
        return arrays, np.stack([run_ends(one) for one in arrays]), arrays[0, :0], np.zeros(len(own) + 1, np.int64)

    @cached_property
    def _arrays(self) -> I64:
        """int64[rows, entities]: the new ids of entities; -1 for one whose postings leave."""
        return np.stack([one.array for one in self._staying])

    def another(self) -> ListEditor:
        """An editor of the same lists for another thread, with memory of its own."""
        other = copy(self)
        other._room = _Room()
        return other

    def edited(self, begin: int, end: int, new: I64, entering: Entering) -> EditedLists:
        """The lists begin..end-1 afterwards.

        Args:
            begin: number of the first list, which is of the first field.
            end: of the list behind the last.
            new: int64[...], places in 0..end-begin of empty lists that are inserted first, ascending.
            entering: by the number of the list among these.
        """
        if self._old.tail is not None:
            return self.edited_lists(np.arange(begin, end), new, entering)
        postings, tokens, blocks = (offsets[begin : end + 1].astype(np.int64) for offsets in self._old.arrays)
        df, cf = (np.insert(np.diff(offsets), new, 0) for offsets in (postings, tokens))
        positions = self._old.all_positions[int(tokens[0]) : int(tokens[-1])]
        own = slice(int(blocks[0]), int(blocks[-1]))
        return self._edited(df, cf, own, positions, self._row_of_field, lambda: self._old.lists(begin, end), entering)

    def edited_lists(self, numbers: I64, new: I64, entering: Entering) -> EditedLists:
        """Some lists afterwards.

        Args:
            numbers: int64[t], of the lists, ascending.
            new: int64[...], places in 0..t of empty lists that are inserted first, ascending; a term has all its lists.
            entering: by the number of the list among these.
        """
        n_fields = len(self._row_of_field)
        begins, ends = ([offsets[numbers + i].astype(np.int64) for offsets in self._old.arrays] for i in (0, 1))
        df, cf = (np.insert(ends[i] - begins[i], new, 0) for i in (0, 1))
        n_blocks = blocks_of(ends[0] - begins[0])
        blocks = np.arange(int(n_blocks.sum())) + np.repeat(begins[2] - (np.cumsum(n_blocks) - n_blocks), n_blocks)
        rows = np.insert(self._row_of_field[numbers % n_fields], new, np.tile(self._row_of_field, len(new) // n_fields))
        return self._edited(
            df,
            cf,
            blocks,
            self._old.positions_of(numbers),
            rows,
            lambda: self._old.chosen(numbers),
            entering,
        )

    def _edited(
        self,
        df: I64,
        cf: I64,
        own: slice | I64,
        positions: Array,
        row_of_list: I64,
        unpacked: Callable[[], tuple[I64, U32, U32]],
        entering: Entering,
    ) -> EditedLists:
        """Lists afterwards: of the blocks `own`, `unpacked` where there is no kernel."""
        positions = positions.astype(self._type, copy=False)
        if self._kernel is None:
            _, ids, tf = unpacked()
            return edit_lists_numpy(df, ids, tf, positions, self._arrays, row_of_list, entering)
        packed = self._old.packed
        old_first = packed.first[own]
        n_blocks = len(old_first) + len(entering.ids)
        # A value has at most as many bits as a word, and the values of a block begin in a row of their own.
        n_rows = (len(entering.ids) + int(df.sum())) // 2 + 2 * n_blocks
        words, first, at, widths, bytes_after = (
            self._room.get(*room)
            for room in (
                ("words", np.uint32, n_rows * LANES),
                ("first", np.uint32, n_blocks),
                ("at", np.uint32, n_blocks),
                ("widths", np.uint8, 2 * n_blocks),
                ("positions", np.uint8, (len(positions) + len(entering.positions)) * self._type.itemsize),
            )
        )
        widths = widths.reshape(-1, 2)
        new_df, new_cf, is_edited = np.empty_like(df), np.empty_like(cf), np.zeros(len(df), np.uint8)
        n_blocks, rows, n_bytes = self._kernel.edit_lists(
            df, cf, packed.words, old_first, packed.at[own], packed.widths[own], positions.view(np.uint8),
            row_of_list, *self._ids, self._staying[0].n, entering.lists, entering.ids, entering.tf,
            entering.positions.astype(self._type).view(np.uint8), self._type.itemsize,
            new_df, new_cf, first, at, widths, words, bytes_after, is_edited,
        )  # fmt: skip
        after = PackedLists(first[:n_blocks], at[:n_blocks], widths[:n_blocks], words[: rows * LANES])
        return EditedLists(new_df, new_cf, after, bytes_after[:n_bytes].view(self._type), is_edited.astype(bool))


def edited_in_chunks(
    editor: ListEditor, numbers: I64, sizes: I64, places: I64, entering: Entering, chunk_postings: int
) -> EditedLists:
    """Some lists afterwards, edited in chunks, so that the memory for unpacked postings is bounded.

    Args:
        editor: of the lists.
        numbers: int64[t], of the lists, ascending.
        sizes: int64[t], their postings.
        places: int64[...], the numbers of lists before which empty ones are inserted first, ascending; a term has all
            its lists.
        entering: by the number of the list among all of these.
        chunk_postings: of a chunk of more than one list.
    """
    new, ends = np.searchsorted(numbers, places), np.concatenate(([0], np.cumsum(sizes)))
    of_tf = np.concatenate(([0], np.cumsum(entering.tf, dtype=np.int64)))
    parts, first, row, at_new = list[EditedLists](), 0, 0, 0
    while not parts or first < len(numbers):
        end = min(max(first + 1, int(np.searchsorted(ends, ends[first] + chunk_postings, "right")) - 1), len(numbers))
        end_new = len(new) if end == len(numbers) else int(np.searchsorted(new, end))
        last_row = row + end - first + end_new - at_new
        begin, until = np.searchsorted(entering.lists, [row, last_row]).tolist()
        own = Entering(
            entering.lists[begin:until] - row,
            entering.ids[begin:until],
            entering.tf[begin:until],
            entering.positions[of_tf[begin] : of_tf[until]],
        )
        part = editor.edited_lists(numbers[first:end], new[at_new:end_new] - first, own)
        if end < len(numbers) or parts:
            part = part.kept()
        parts.append(part)
        first, row, at_new = end, last_row, end_new
    return joined_lists(parts)


def joined_lists(parts: Sequence[EditedLists]) -> EditedLists:
    """Lists one after the other."""
    if len(parts) == 1:
        return parts[0]
    rows = np.cumsum([0, *(len(part.packed.words) // LANES for part in parts[:-1])])
    at = [part.packed.at + np.uint32(row) for part, row in zip(parts, rows.tolist(), strict=True)]
    first, widths, words = (
        np.concatenate([getattr(part.packed, name) for part in parts]) for name in ("first", "widths", "words")
    )
    df, cf, positions, is_edited = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("df", "cf", "positions", "is_edited")
    )
    return EditedLists(df, cf, PackedLists(first, np.concatenate(at), widths, words), positions, is_edited)


def run_ends(old_to_new: I64) -> I64:
    """int64[n]: the end of the run of each id, in which ids shift by the same number and none has gone.

    >>> run_ends(np.array([0, 1, -1, 2, 5, 6])).tolist()
    [2, 2, 3, 4, 6, 6]
    """
    n = len(old_to_new)
    if not n:
        return np.zeros(0, np.int64)
    follows = (np.diff(old_to_new) == 1) & (old_to_new[:-1] >= 0)
    ends = np.append(np.flatnonzero(~follows) + 1, n)
    return np.repeat(ends, np.diff(ends, prepend=0))


def edit_lists_numpy(
    df: I64, ids: U32, tf: U32, positions: Array, old_to_new: I64, row_of_list: I64, entering: Entering
) -> EditedLists:
    """The numpy reference of `list_edits_kernel.edit_lists`, for unpacked lists.

    Args:
        df: int64[l], postings of each list.
        ids: uint32[sum(df)].
        tf: uint32[sum(df)].
        positions: unsigned[sum(tf)], of the type of the result.
        old_to_new: int64[rows, entities], or -1.
        row_of_list: int64[...], the row of `old_to_new` of each list; begins again behind its end.
        entering: what enters.
    """
    is_edited = np.zeros(len(df), bool)
    is_edited[entering.lists] = True
    number = np.repeat(np.arange(len(df)), df)
    after = old_to_new[row_of_list[number % len(row_of_list)], ids]
    stays = after >= 0
    is_edited[number[~stays]] = True
    positions = positions[np.repeat(stays, tf)]
    number, ids, tf = number[stays], after[stays].astype(np.uint32), tf[stays]
    keys = number.astype(np.uint64) << np.uint64(32) | ids
    at = np.searchsorted(keys, entering.lists.astype(np.uint64) << np.uint64(32) | entering.ids)
    sums = np.concatenate(([0], np.cumsum(tf, dtype=np.int64)))
    positions = np.insert(positions, np.repeat(sums[at], entering.tf), entering.positions.astype(positions.dtype))
    number = np.insert(number, at, entering.lists)
    ids, tf = np.insert(ids, at, entering.ids), np.insert(tf, at, entering.tf)
    new_df = np.bincount(number, minlength=len(df)).astype(np.int64)
    new_cf = np.bincount(number, tf, len(df)).astype(np.int64)
    return EditedLists(new_df, new_cf, pack(new_df, ids, tf), positions, is_edited)
