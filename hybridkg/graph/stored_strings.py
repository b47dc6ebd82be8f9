"""Concatenated byte strings of a projection, mapped, with binary search."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import Ids
from hybridkg.rdf.gather import gathered
from hybridkg.storage.arrays import Array

APART = 64
"""The distance of cached strings: all binary searches begin among these."""


def view(array: Array) -> memoryview:
    """A memoryview: its elements are Python numbers, read several times as fast as from the array."""
    return array.data


class _Cached(dict[int, bytes]):
    """Some of the strings by their places, read when they are first asked for."""

    def __init__(self, text: memoryview, ends: memoryview):
        super().__init__()
        self._text, self._ends = text, ends

    def __missing__(self, place: int) -> bytes:
        own = self[place] = bytes(self._text[self._ends[place] : self._ends[place + 1]])
        return own


def joined_slices(strings: Sequence[memoryview]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Strings as rdf.gathered has them; 0.2 us each."""
    offsets = np.zeros(len(strings) + 1, np.int64)
    np.cumsum([len(string) for string in strings], out=offsets[1:])
    return np.frombuffer(b"".join(strings), np.uint8), offsets


class StoredStrings:
    """Concatenated byte strings, sorted within ranges that the caller passes."""

    def __init__(self, text: Array, offsets: Array):
        self.text, self.offsets = text, offsets
        self._view, self._ends = view(text), view(offsets)
        self._cached = _Cached(self._view, self._ends)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @property
    def views(self) -> tuple[memoryview, memoryview]:
        """Views of the bytes and of the offsets, of which a slice copies nothing."""
        return self._view, self._ends

    def gathered(self, places: Ids) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The strings at some places, as rdf.gathered has them."""
        return gathered(self.text, self.offsets[places], self.offsets[places + np.uint32(1)])

    def fitting(self, places: Ids, most: float) -> int:
        """How many of the strings have at most so many bytes together; at least 1."""
        lengths = self.offsets[places + np.uint32(1)] - self.offsets[places]
        return max(1, int(lengths.cumsum(dtype=np.int64).searchsorted(most, "right")))

    def slice(self, i: int) -> memoryview:
        """The bytes of a string, which are not copied."""
        return self._view[self._ends[i] : self._ends[i + 1]]

    def slices(self, places: Sequence[int], begin: int) -> list[memoryview]:
        """The bytes of some strings, which are not copied; `begin` is the place of the first string."""
        view, ends = self._view, self._ends
        return [view[ends[place - begin] : ends[place - begin + 1]] for place in places]

    def string(self, i: int) -> str:
        return str(self._view[self._ends[i] : self._ends[i + 1]], "utf-8")

    def strings(self, places: Sequence[int]) -> list[str]:
        """The strings at some places."""
        view, ends = self._view, self._ends
        return [str(view[ends[i] : ends[i + 1]], "utf-8") for i in places]

    def bytes_at(self, i: int) -> bytes:
        """A string; that of the first place is kept."""
        return self._cached[0] if i == 0 else bytes(self._view[self._ends[i] : self._ends[i + 1]])

    def place(self, key: bytes, first: int, end: int) -> int:
        """The place in the sorted range first..end before which a string belongs."""
        cached = range(first + (-first % APART), end, APART)
        part = bisect_left(cached, key, key=self._cached.__getitem__)
        low, high = cached[part - 1] + 1 if part else first, cached[part] if part < len(cached) else end
        text, ends = self._view, self._ends
        while low < high:  # bisect_left, without a call for each of its six steps
            middle = (low + high) >> 1
            if bytes(text[ends[middle] : ends[middle + 1]]) < key:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, key: bytes, first: int, end: int) -> int:
        """The place of a string in the sorted range first..end by binary search; -1 for none."""
        place = self.place(key, first, end)
        return place if place < end and self.bytes_at(place) == key else -1
