"""The writer of all posting lists of a segment, in the order of their numbers.

The list of a term in a field has the number `term * fields + field`, so the lists of one term are adjacent. Three
arrays of `lists + 1` numbers are the offsets of each list in postings, tokens and blocks. `list_splicing.py` writes
lists that an update leaves mostly as they were.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybridkg.text.index.codec.packing import PADDING, U32, PackedLists, blocks_of, pack
from hybridkg.text.index.layout import Array, ArrayWriter, smallest_unsigned

LISTS = ("postings", "tokens", "blocks")
"""The arrays `lists.*`, in the order of their counts."""

MAX_ROWS = 0xFFFF_FFFF
"""Rows of packed words of a segment: their places are uint32."""


@dataclass(frozen=True)
class Piece:
    """Consecutive packed lists: their df and cf, int64[l], and positions, unsigned[sum(cf)]."""

    df: Array
    cf: Array
    packed: PackedLists
    positions: Array


class ListsWriter:
    """Writes `lists.*`, `blocks.*`, `packed` and `positions`.

    Args:
        out: of the segment.
        n_lists: number of the lists; None for any.
        largest_position: maximum of all positions.
    """

    def __init__(self, out: ArrayWriter, n_lists: int | None, largest_position: int):
        self._out, self._n_lists = out, n_lists
        self._first = out.stream("blocks.first", "<u4")
        self._at = out.stream("blocks.at", "<u4")
        self._widths = out.stream("blocks.widths", "<u1", 2)
        self._words = out.stream("packed", "<u4")
        self.positions_type = smallest_unsigned(largest_position)
        self._positions = out.stream("positions", self.positions_type)
        self._df: list[Array] = []
        self._cf: list[Array] = []
        self._rows = 0

    def packed(self, df: Array, cf: Array, ids: U32, tf: U32, positions: Array) -> Piece:
        """Packs consecutive lists; may be called from any thread.

        Args:
            df: int64[l], postings of each list.
            cf: int64[l], occurrences of each list.
            ids: uint32[sum(df)], ascending within each list.
            tf: uint32[sum(df)], at least 1.
            positions: unsigned[sum(cf)].
        """
        return Piece(
            df.astype(np.uint32), cf.astype(np.uint32), pack(df, ids, tf), positions.astype(self.positions_type)
        )

    def add(self, piece: Piece) -> None:
        """Appends lists.

        Raises:
            OverflowError: the segment has more than 64 GB of packed postings.
        """
        packed = piece.packed
        rows = len(packed.words) // 4
        if self._rows + rows > MAX_ROWS:
            raise OverflowError("a segment holds at most 64 GB of packed postings")
        self._first.append(packed.first)
        self._at.append(packed.at.astype(np.int64) + self._rows)
        self._widths.append(packed.widths)
        self._words.append(packed.words)
        self._positions.append(piece.positions)
        self._df.append(piece.df)
        self._cf.append(piece.cf)
        self._rows += rows

    def append(self, df: Array, cf: Array, ids: U32, tf: U32, positions: Array) -> None:
        """Packs and appends lists."""
        self.add(self.packed(df, cf, ids, tf, positions))

    def close(self) -> None:
        """Closes the files; required if `finish` is not reached."""
        for stream in (self._first, self._at, self._widths, self._words, self._positions):
            stream.close()

    def finish(self) -> int:
        """Finishes the arrays and returns the number of postings."""
        self._words.append(np.zeros(PADDING, np.uint32))
        self.close()
        df, cf = _joined(self._df), _joined(self._cf)
        if self._n_lists is not None and len(df) != self._n_lists:
            raise ValueError(f"{len(df)} lists instead of {self._n_lists}")
        return write_offsets(self._out, df, cf)


def write_offsets(out: ArrayWriter, df: Array, cf: Array) -> int:
    """Writes `lists.*`, by the postings and occurrences of each list; returns the number of postings."""
    for name, counts in zip(LISTS, (df, cf, blocks_of(df)), strict=True):
        ends = np.zeros(len(df) + 1, np.int64)
        np.cumsum(counts, dtype=np.int64, out=ends[1:])
        write_ends(out, name, ends)
    return int(df.sum(dtype=np.int64))


def write_ends(out: ArrayWriter, name: str, ends: Array) -> None:
    """Writes an array of LISTS, or `lists.positions`: where these of each list begin, and where all end."""
    out.write(f"lists.{name}", ends.astype(smallest_unsigned(int(ends[-1])), copy=False))


def _joined(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0, np.uint32)
