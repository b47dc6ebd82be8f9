"""The pieces of the literals' forms, cut where the forms say, so that a change moves only the cuts near it.

A piece ends behind a form whose hash is small for its size (content-defined chunking: Muthitacharoen et al., "A
Low-Bandwidth Network File System", SOSP 2001). The cuts depend on the forms alone, from the last cut on. So a change
followed by a cut of before leaves all pieces behind it as they were, and a build from scratch makes the same files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from isal.isal_zlib import crc32
from numpy.typing import NDArray

from hybridkg.graph.stored_literals import StoredLiterals, piece_name
from hybridkg.storage.arrays import MappedArrays, Writer, smallest_unsigned
from hybridkg.storage.checksums import known_checksum

I64 = NDArray[np.int64]

OFFSET_BYTES = 4
"""Bytes that a form counts besides its own, so that empty forms make pieces, too."""

SAMPLE = 8
"""Bytes at the end and in the middle of a form that its hash depends on."""

_FACTORS = tuple(np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))
"""Odd numbers with irregular bits (those of xxHash)."""

_HALF = np.uint64(32)


@dataclass(frozen=True)
class PieceLimits:
    """Bytes of pieces. A commit writes each piece that it changes, and links, names and checks each other one.

    Args:
        least: of a piece that is not the last.
        mean: beyond the least, where no piece is cut for its size.
        most: a piece ends behind the form with which it has so many.
    """

    least: int = 1 << 20
    mean: int = 3 << 20
    most: int = 16 << 20


LIMITS = PieceLimits()


class DamagedPieceError(Exception):
    """The bytes of an earlier piece are not those of its checksum."""


class LiteralPieces:
    """Writes the pieces of forms that arrive in their order.

    Args:
        out: gets the arrays.
    """

    def __init__(self, out: Writer):
        self._out, self._limits = out, LIMITS
        self._parts: list[tuple[NDArray[np.uint8], I64]] = []
        self._size = 0
        self.sizes: list[tuple[int, int]] = []
        """The number of forms of each piece, and their bytes: the header's."""

    @property
    def is_between(self) -> bool:
        """Whether the last form ended a piece."""
        return not self._parts

    def append(self, text: NDArray[np.uint8], lengths: NDArray[Any]) -> None:
        """Adds concatenated forms, which must stay as they are."""
        lengths = lengths.astype(np.int64)
        n, ends, sizes = len(lengths), np.cumsum(lengths), lengths + OFFSET_BYTES
        totals = np.cumsum(sizes)
        marks = np.flatnonzero(may_end(text, lengths, self._limits.mean))
        first, limits = 0, self._limits
        while first < n:
            begun = self._size - (int(totals[first - 1]) if first else 0)
            least, most = (int(totals.searchsorted(limit - begun)) for limit in (limits.least, limits.most))
            mark = int(marks.searchsorted(max(first, least)))
            last = min(max(first, most), int(marks[mark]) if mark < len(marks) else n)
            end = min(n, last + 1)
            begin = int(ends[first - 1]) if first else 0
            self._parts.append((text[begin : int(ends[end - 1])], lengths[first:end]))
            self._size += int(sizes[first:end].sum())
            if last < n:
                self._write()
            first = end

    def link(self, earlier: MappedArrays, literals: StoredLiterals, number: int) -> None:
        """Adds an earlier piece as it is; only between pieces, and where the forms behind it follow it again."""
        count, size = literals.size(number)
        self._out.link_as(piece_name(len(self.sizes)), earlier, piece_name(number))
        self.sizes.append((count, size))

    def close(self) -> None:
        """Writes the last piece."""
        if self._parts:
            self._write()

    def _write(self) -> None:
        texts, lengths = [text for text, _ in self._parts], np.concatenate([own for _, own in self._parts])
        self.sizes.append(write_piece(self._out, len(self.sizes), texts, lengths))
        self._parts, self._size = [], 0


def write_piece(out: Writer, number: int, texts: Iterable[NDArray[np.uint8]], lengths: I64) -> tuple[int, int]:
    """Writes a piece of forms, given as their bytes in parts and the length of each; returns their number and bytes."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    size = int(offsets[-1])
    stream = out.stream(piece_name(number), np.uint8)
    stream.append(offsets.astype(smallest_unsigned(size)).view(np.uint8))
    for text in texts:
        stream.append(text)
    stream.close()
    return len(lengths), size


def check_piece(literals: StoredLiterals, number: int) -> None:
    """Compares an earlier piece with its checksum, where that is known, so that a copy does not hide damage.

    Raises:
        DamagedPieceError: it differs.
    """
    path = literals.path(number)
    known = known_checksum(path)
    if known is not None and crc32(path.read_bytes()) != known:
        raise DamagedPieceError(str(path))


def may_end(text: NDArray[np.uint8], lengths: I64, mean: int) -> NDArray[np.bool_]:
    """bool[n]: which forms may end a piece; those of `mean` bytes together contain one on average.

    >>> bool(may_end(np.frombuffer(b"red fish", np.uint8), np.array([8]), 12)[0])
    True
    """
    padded = np.concatenate([np.zeros(SAMPLE, np.uint8), text, np.zeros(SAMPLE, np.uint8)])
    words = np.ndarray((len(padded) - SAMPLE + 1,), "<u8", padded.data, strides=(1,))
    ends = np.cumsum(lengths)
    short = np.minimum(lengths, SAMPLE).astype(np.uint64)
    last = np.where(short > 0, words[ends] >> (np.uint64(8) * np.minimum(SAMPLE - short, np.uint64(SAMPLE - 1))), 0)
    middle = np.where(lengths >= 2 * SAMPLE, words[ends - lengths + lengths // 2 + SAMPLE], 0)
    mixed = last.astype(np.uint64) * _FACTORS[0] ^ middle.astype(np.uint64) * _FACTORS[1]
    mixed ^= lengths.astype(np.uint64)
    mixed = (mixed ^ mixed >> _HALF) * _FACTORS[2]
    share = np.minimum(lengths + OFFSET_BYTES, mean).astype(np.uint64)
    found: NDArray[np.bool_] = (mixed >> _HALF) * np.uint64(mean) < share << _HALF
    return found
