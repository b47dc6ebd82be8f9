"""The lexical forms of the literals, stored in pieces so that a commit writes only those that it changes.

A piece is one file: the offsets of its forms, then the forms. build/literal_pieces.py cuts and writes them. A
projection of version 2 has all forms in one array and their offsets in another, which are read as one piece.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.stored_strings import StoredStrings, joined_slices
from hybridkg.interfaces.graph_index import Ids
from hybridkg.rdf.gather import joined
from hybridkg.rdf.string_bytes import decoded
from hybridkg.storage.arrays import Array, MappedArrays, smallest_unsigned

PIECES = "literal_pieces"
"""The key of the header: for each piece the number of its literals, and the bytes of their forms."""

OF_VERSION_2 = "literals.text", "literals.offsets"

FEW = 64
"""Forms up to which a slice for each takes no longer than an array of them."""


MANY = 1_000
"""Forms from which they are decoded as one text."""

LISTED = 4_096
"""Places that are converted to Python ints at a time."""


def piece_name(number: int) -> str:
    """The array of a piece."""
    return f"literals.{number}"


class StoredLiterals:
    """Lexical forms by place, from 0; thread-safe.

    Args:
        reader: of the projection.

    Raises:
        CorruptError: a piece is missing or has another size.
    """

    def __init__(self, reader: MappedArrays):
        self._reader = reader
        self.is_in_pieces = PIECES in reader.header
        """Whether the projection is of this version."""
        self._pieces: list[StoredStrings] = []
        self._sizes: list[tuple[int, int]] = []
        if not self.is_in_pieces:
            text, offsets = (reader.array(name) for name in OF_VERSION_2)
            self._add(text, offsets)
        else:
            for number, (count, size) in enumerate(reader.about(PIECES)):
                dtype = smallest_unsigned(int(size))
                data, end = reader.array(piece_name(number)), (int(count) + 1) * dtype.itemsize
                self._add(data[end:], data[:end].view(dtype))
        self._firsts = [0, *accumulate(count for count, _ in self._sizes)]

    def _add(self, text: Array, offsets: Array) -> None:
        self._pieces.append(StoredStrings(text, offsets))
        self._sizes.append((len(offsets) - 1, len(text)))

    def __len__(self) -> int:
        return self._firsts[-1]

    def ranges(self) -> list[tuple[int, int]]:
        """The first place of each piece, and the one behind its last."""
        return list(zip(self._firsts[:-1], self._firsts[1:], strict=True))

    def runs(self, most: int) -> Iterator[tuple[int, int, int]]:
        """(piece, first place, end) of each piece, or of several ranges of one with more than `most` bytes."""
        for number, (begin, last) in enumerate(self.ranges()):
            offsets, first = self._pieces[number].offsets, begin
            while first < last:
                reach = int(offsets[first - begin]) + most
                stop = begin + int(offsets.searchsorted(offsets.dtype.type(min(reach, int(offsets[-1]))), "right")) - 1
                end = min(last, max(first + 1, stop))
                yield number, first, end
                first = end

    def piece(self, number: int) -> StoredStrings:
        """The forms of a piece."""
        return self._pieces[number]

    def stored(self, number: int, first: int, end: int) -> tuple[Array, Array]:
        """The bytes of a piece, and the offsets into them of its forms first..end; none where there are none."""
        if first == end:
            return np.zeros(0, np.uint8), np.zeros(1, np.uint64)
        piece, begin = self._pieces[number], self._firsts[number]
        return piece.text, piece.offsets[first - begin : end - begin + 1]

    def size(self, number: int) -> tuple[int, int]:
        """The number of forms of a piece, and their bytes; (0, 0) where there are none."""
        return self._sizes[number] if self._sizes else (0, 0)

    def path(self, number: int) -> Path:
        """The file of a piece."""
        return self._reader.path(piece_name(number))

    def _at(self, place: int) -> int:
        """The piece of a place."""
        return bisect_right(self._firsts, place) - 1

    def string(self, place: int) -> str:
        """A form; about 1 us."""
        number = bisect_right(self._firsts, place) - 1
        return self._pieces[number].string(place - self._firsts[number])

    def strings(self, places: Sequence[int]) -> list[str]:
        """The forms at some places. 10,000 scattered ones take 0.8 us each; where they are near one another, 0.3, or
        0.15 as one text.
        """
        if len(places) >= MANY:
            own = np.array(places, np.uint32)
            if (own[1:] >= own[:-1]).all():
                return decoded(*self.gathered(own))
        return [str(form, "utf-8") for form in self._slices(places)]

    def _slices(self, places: Iterable[int]) -> list[memoryview]:
        """The bytes of the forms at some places, which are not copied."""
        found, firsts, begin, end = list[memoryview](), self._firsts, 0, 0
        for place in places:
            if not begin <= place < end:
                number = bisect_right(firsts, place) - 1
                begin, end = firsts[number], firsts[number + 1]
                view, ends = self._pieces[number].views
            at = place - begin
            found.append(view[ends[at] : ends[at + 1]])
        return found

    def place(self, key: bytes, first: int, end: int) -> int:
        """The place in the sorted range first..end before which a form belongs."""
        if first >= end:
            return first
        low, high = self._at(first), self._at(end - 1)
        while low < high:  # the last piece that begins with a form up to `key`, or the first piece
            middle = (low + high + 1) >> 1
            if self._pieces[middle].bytes_at(0) <= key:
                low = middle
            else:
                high = middle - 1
        begin = self._firsts[low]
        return begin + self._pieces[low].place(key, max(first, begin) - begin, min(end, self._firsts[low + 1]) - begin)

    def find(self, key: bytes, first: int, end: int) -> int:
        """The place of a form in the sorted range first..end by binary search; -1 for none."""
        place = self.place(key, first, end)
        if place >= end:
            return -1
        number = self._at(place)
        return place if self._pieces[number].bytes_at(place - self._firsts[number]) == key else -1

    def lexical(self, first: int, end: int) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        """(bytes, offsets from 0) of the forms from `first` to `end`, or to the end of the first one's piece."""
        if first >= end:
            return np.zeros(0, np.uint8), np.zeros(1, np.uint64)
        number = self._at(first)
        piece, begin = self._pieces[number], self._firsts[number]
        offsets = piece.offsets[first - begin : min(end - begin, len(piece)) + 1].astype(np.uint64)
        return piece.text[int(offsets[0]) : int(offsets[-1])], offsets - offsets[0]

    def lengths(self, first: int, end: int) -> NDArray[np.int64]:
        """int64[end - first]: the bytes of each form."""
        if end - first <= FEW:
            return np.array([len(form) for form in self._slices(range(first, end))], np.int64)
        parts = [np.zeros(0, np.int64)]
        while first < end:
            offsets = self.lexical(first, end)[1]
            parts.append((offsets[1:] - offsets[:-1]).astype(np.int64))
            first += len(offsets) - 1
        return np.concatenate(parts)

    def gathered(self, places: Ids, most: float = inf) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The forms at ascending places, as rdf.gathered has them; with `most`, the first ones as TermTable.forms."""
        return joined(list(self._parts(places, most)))

    def _parts(self, places: Ids, most: float) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
        """The forms at ascending places, until these have `most` bytes: those of a piece that has many of them, and
        those of adjacent pieces with few together.
        """
        few: list[memoryview] = []
        at = size = 0
        while at < len(places) and size < most:
            listed = places[at : at + LISTED].tolist()  # Python ints, because most pieces have few of the places
            first = 0
            while first < len(listed) and size < most:
                number = bisect_right(self._firsts, listed[first]) - 1
                begin, last = self._firsts[number], self._firsts[number + 1]
                end, piece = bisect_left(listed, last, first), self._pieces[number]
                if end - first > FEW:
                    if few:
                        yield joined_slices(few)
                        few = []
                    own = places[at + first : at + end] - places.dtype.type(begin)
                    if len(piece.text) > most:
                        own = own[: piece.fitting(own, most)]
                        end = first + len(own)
                    part = piece.gathered(own)
                    size += len(part[0])
                    yield part
                else:
                    slices = piece.slices(listed[first:end], begin)
                    size += sum(map(len, slices))
                    few += slices
                first = end
            at += first
        if few:
            yield joined_slices(few)
        elif not at:
            yield np.zeros(0, np.uint8), np.zeros(1, np.int64)
