"""Concatenated byte strings of a projection, mapped, with binary search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import Ids
from hybridkg.storage.arrays import Array
from hybridkg.storage.gather import gathered

APART = 64
"""The distance of cached strings: all binary searches begin with the same probes, of ranges longer than this."""


def view(array: Array) -> memoryview:
    """A memoryview: its elements are Python numbers, read several times as fast as from the array."""
    return array.data


def joined_slices(strings: Sequence[memoryview]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Strings as storage.gathered has them; 0.2 us each."""
    offsets = np.zeros(len(strings) + 1, np.int64)
    np.cumsum([len(string) for string in strings], out=offsets[1:])
    return np.frombuffer(b"".join(strings), np.uint8), offsets


class StoredStrings:
    """Concatenated byte strings, sorted within ranges that the caller passes."""

    def __init__(self, text: Array, offsets: Array):
        self.text, self.offsets = text, offsets
        self._view, self._ends = view(text), view(offsets)
        self._probed: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._ends) - 1

    def gathered(self, places: Ids) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The strings at some places, as storage.gathered has them."""
        return gathered(self.text, self.offsets[places], self.offsets[places + np.uint32(1)])

    def slice(self, i: int) -> memoryview:
        """The bytes of a string, which are not copied."""
        return self._view[self._ends[i] : self._ends[i + 1]]

    def string(self, i: int) -> str:
        return str(self._view[self._ends[i] : self._ends[i + 1]], "utf-8")

    def bytes_at(self, i: int) -> bytes:
        """A string; that of the first place is kept."""
        own = self._probed.get(i)
        if own is None:
            own = bytes(self._view[self._ends[i] : self._ends[i + 1]])
            if i == 0:
                self._probed[i] = own
        return own

    def place(self, key: bytes, first: int, end: int) -> int:
        """The place in the sorted range first..end before which a string belongs."""
        probed, text, ends, low, high = self._probed, self._view, self._ends, first, end
        while low < high:
            middle = (low + high) >> 1
            own = probed.get(middle)
            if own is None:
                own = bytes(text[ends[middle] : ends[middle + 1]])
                if high - low > APART:
                    probed[middle] = own
            if own < key:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, key: bytes, first: int, end: int) -> int:
        """The place of a string in the sorted range first..end by binary search; -1 for none."""
        place, ends = self.place(key, first, end), self._ends
        return place if place < end and bytes(self._view[ends[place] : ends[place + 1]]) == key else -1
