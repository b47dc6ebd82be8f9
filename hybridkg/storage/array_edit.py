"""Edits of sorted arrays: elements leave and others enter, without a sort of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Places = NDArray[np.int64]


MAX_SLICES = 1_000
"""Elements that leave or enter up to which an array is put together from slices: one pass, and 1 us for each."""


@dataclass(frozen=True)
class ArrayEdit:
    """Some elements of an array of n leave, others enter before elements that have a place in it, or at its end.

    Args:
        size: n.
        removed: int64[r], places in 0..n-1, ascending and distinct.
        inserted: int64[m], places in 0..n, ascending; equal ones enter in the order of their values.

    >>> edit = ArrayEdit(3, np.array([1]), np.array([0, 3]))
    >>> edit.apply(np.array([10, 20, 30]), np.array([5, 40])).tolist(), edit.places().tolist()
    ([5, 10, 30, 40], [1, -1, 2])
    """

    size: int
    removed: Places
    inserted: Places

    def __bool__(self) -> bool:
        return bool(len(self.removed) or len(self.inserted))

    @property
    def new_size(self) -> int:
        """Elements afterwards."""
        return self.size - len(self.removed) + len(self.inserted)

    def apply(self, array: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
        """The array afterwards; `values` are those of the m elements that enter."""
        if not self:
            return array
        if len(self.removed) + len(self.inserted) <= MAX_SLICES:
            values = values.astype(array.dtype, copy=False)
            parts = (
                array[piece[0] : piece[1]] if isinstance(piece, tuple) else values[piece : piece + 1]
                for piece in self.pieces()
            )
            return np.concatenate([array[:0], *parts])
        kept = np.ones(self.size, bool)
        kept[self.removed] = False
        result: NDArray[Any] = np.insert(array, self.inserted, values)[np.insert(kept, self.inserted, True)]
        return result

    def places(self) -> Places:
        """int64[n]: the place afterwards of each element; -1 for one that leaves."""
        if len(self.removed) + len(self.inserted) <= MAX_SLICES:
            result = np.arange(self.size)
            at = 0
            for piece in self.pieces():
                if isinstance(piece, tuple):
                    if piece[0] != at:
                        result[slice(*piece)] += at - piece[0]
                    at += piece[1] - piece[0]
                else:
                    at += 1
            result[self.removed] = -1
            return result
        steps = np.ones(self.size + 1, np.int64)
        steps[self.removed] = 0
        before = np.cumsum(steps) - steps
        result = before[:-1] + np.cumsum(np.bincount(self.inserted, minlength=self.size + 1))[:-1]
        result[self.removed] = -1
        return result

    def behind(self, first: int, new: int) -> ArrayEdit:
        """The edit of the elements from `first` on, without the first `new` that enter."""
        removed = self.removed[np.searchsorted(self.removed, first) :]
        return ArrayEdit(self.size - first, removed - first, self.inserted[new:] - first)

    def new_places(self) -> Places:
        """int64[m]: the place afterwards of each element that enters."""
        gone = np.searchsorted(self.removed, self.inserted)
        return self.inserted - gone + np.arange(len(self.inserted))

    def pieces(self) -> Iterator[tuple[int, int] | int]:
        """The pieces of the array afterwards: ranges of earlier elements, and numbers of elements that enter."""
        events = sorted(
            [(place, 0, number) for number, place in enumerate(self.inserted.tolist())]
            + [(place, 1, 0) for place in self.removed.tolist()]
        )
        at = 0
        for place, leaves, number in events:
            if at < place:
                yield at, place
            at = place + leaves
            if not leaves:
                yield number
        if at < self.size:
            yield at, self.size

    def text_pieces(self, offsets: NDArray[Any], values: Sequence[bytes]) -> list[tuple[int, int] | NDArray[np.uint8]]:
        """The pieces of the concatenated texts afterwards: ranges of the earlier bytes, and new bytes.

        Args:
            offsets: int[n + 1], of the earlier texts.
            values: m texts.
        """
        return [
            (int(offsets[piece[0]]), int(offsets[piece[1]]))
            if isinstance(piece, tuple)
            else np.frombuffer(values[piece], np.uint8)
            for piece in self.pieces()
        ]

    def text_parts(
        self, text: NDArray[np.uint8], offsets: NDArray[Any], values: Sequence[bytes]
    ) -> Iterator[NDArray[np.uint8]]:
        """The concatenated texts afterwards, in parts; `offsets` are int[n + 1], `values` m texts."""
        for piece in self.text_pieces(offsets, values):
            yield text[piece[0] : piece[1]] if isinstance(piece, tuple) else piece

    def offsets(
        self, offsets: NDArray[Any], lengths: Sequence[int] | NDArray[Any], dtype: DTypeLike = np.uint64
    ) -> NDArray[Any]:
        """The offsets of the concatenated texts afterwards, unsigned, of a type that holds `end`; `lengths` are those
        of the m texts that enter.

        >>> edit = ArrayEdit(3, np.array([1]), np.array([0, 3]))
        >>> edit.offsets(np.array([0, 2, 5, 6]), [4, 1]).tolist()
        [0, 4, 6, 7, 8]
        """
        if len(self.removed) + len(self.inserted) > MAX_SLICES:
            after = self.apply(np.diff(offsets).astype(dtype, copy=False), np.asarray(lengths))
            whole = np.zeros(self.new_size + 1, dtype)
            np.cumsum(after, out=whole[1:], dtype=dtype)
            return whole
        result, at, end = np.zeros(self.new_size + 1, dtype), 0, 0
        for piece in self.pieces():
            if isinstance(piece, tuple):
                first, last = piece
                n, begin = last - first, int(offsets[first])
                own = result[at : at + n + 1]
                own[:] = offsets[first : last + 1]
                if end != begin:  # an earlier offset may be too large for the type: modulo its range all are right
                    own += result.dtype.type((end - begin) % (1 << 8 * result.itemsize))
                at, end = at + n, end + int(offsets[last]) - begin
            else:
                at, end = at + 1, end + int(lengths[piece])
                result[at] = end
        return result

    def end(self, offsets: NDArray[Any], lengths: Sequence[int] | NDArray[Any]) -> int:
        """The last of `offsets` afterwards.

        >>> ArrayEdit(3, np.array([1]), np.array([0, 3])).end(np.array([0, 2, 5, 6]), [4, 1])
        8
        """
        gone = offsets[self.removed + 1].astype(np.int64) - offsets[self.removed].astype(np.int64)
        return int(offsets[-1]) + int(np.sum(lengths)) - int(gone.sum())


def add_from(array: NDArray[np.int64], places: Places, amounts: Places) -> None:
    """Adds each amount, in place, to the elements from a place on; the places ascend.

    >>> ends = np.array([0, 2, 5])
    >>> add_from(ends, np.array([1, 2]), np.array([1, 10]))
    >>> ends.tolist()
    [0, 3, 16]
    """
    if len(places) > MAX_SLICES:
        steps = np.zeros(len(array) + 1, np.int64)
        np.add.at(steps, places, amounts)
        array += np.cumsum(steps[:-1])
        return
    total, ends = 0, [*places[1:].tolist(), len(array)]
    for first, amount, end in zip(places.tolist(), amounts.tolist(), ends, strict=False):
        total += amount
        array[first:end] += total


def edit_of_sorted(array: NDArray[Any], removed: NDArray[Any], inserted: NDArray[Any]) -> ArrayEdit:
    """The edit of an ascending array of distinct values: `removed` are in it, `inserted` are not; both ascending."""
    return ArrayEdit(
        len(array), np.searchsorted(array, removed).astype(np.int64), np.searchsorted(array, inserted).astype(np.int64)
    )
