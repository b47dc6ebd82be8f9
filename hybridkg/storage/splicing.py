"""Files made of ranges of an earlier file and of new bytes, copied in bulk.

The checksum of the new file is remembered (checksums.py). Where that of the earlier file is known, the longest range is
not looked at: its checksum follows from those of the other bytes and of the whole. So the copy of a range that has been
damaged since gets the checksum that it would have undamaged, and a comparison finds the damage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TypeAlias

from isal.isal_zlib import crc32

from hybridkg.storage.checksums import joined, known_checksum, middle, remember
from hybridkg.storage.durable import start_writing
from hybridkg.storage.mapped_files import map_file

BLOCK = 1 << 20
"""Bytes whose checksum is computed, and that are written, at once."""

MAX_JOINED = 64
"""Pieces up to which checksums of parts are joined: 30 us each, the time of the checksum of 100 kB."""

Range: TypeAlias = tuple[int, int]
"""The first byte in the earlier file, and the one behind the last."""

Piece: TypeAlias = "Range | bytes | memoryview"


def splice(target: Path, source: Path, pieces: Sequence[Piece]) -> int:
    """Writes a file of pieces, and returns its size.

    Args:
        target: the new file.
        source: the earlier file, which stays as it is.
        pieces: ranges of the earlier file, ascending, and new bytes.

    Raises:
        OSError: the disk is full or fails, or the earlier file ends inside a range.
    """
    with ExitStack() as stack:
        out = stack.enter_context(target.open("wb", buffering=BLOCK))
        splicing, whole, end = _Splicing(source, out), known_checksum(source), source.stat().st_size
        place, (first, last) = _longest(pieces)
        if whole is None or 2 * (last - first) <= end:
            crc, size, _ = splicing.write(pieces)
        else:
            crc, size, before = splicing.write(pieces[:place], (0, first))
            for block in splicing.blocks(first, last):
                out.write(block)
            crc_behind, size_behind, after = splicing.write(pieces[place + 1 :], (last, end))
            crc = joined(crc, middle(whole, before, after, last - first, end - last), last - first)
            crc, size = joined(crc, crc_behind, size_behind), size + last - first + size_behind
        out.flush()
        start_writing(out.fileno())
    remember(target, crc)
    return size


def _longest(pieces: Sequence[Piece]) -> tuple[int, Range]:
    """The longest range among a few pieces, and its place."""
    ranges = [(piece[1] - piece[0], place, piece) for place, piece in enumerate(pieces) if isinstance(piece, tuple)]
    if not ranges or len(pieces) > MAX_JOINED:
        return 0, (0, 0)
    _, place, longest = max(ranges)
    return place, longest


class _Splicing:
    """An earlier file and the new one."""

    def __init__(self, source: Path, out: IO[bytes]):
        self._name, self._source, self._out = str(source), memoryview(map_file(source)), out

    def blocks(self, begin: int, end: int) -> Iterator[memoryview]:
        """The bytes of a range, in parts that stay in the processor's cache."""
        if end > len(self._source):
            raise OSError(f"{self._name!r} ends at {len(self._source):,} bytes")
        for at in range(begin, end, BLOCK):
            yield self._source[at : min(at + BLOCK, end)]

    def write(self, pieces: Sequence[Piece], part: Range | None = None) -> tuple[int, int, int]:
        """Writes pieces; returns their checksum, their size, and the checksum of a part of the source.

        Args:
            pieces: their ranges are in `part`.
            part: of the source; None where its checksum is not wanted, which is then 0.
        """
        crc = size = of_part = 0
        at, end = part or (0, 0)
        for piece in pieces:
            if not isinstance(piece, tuple):
                self._out.write(piece)
                crc, size = crc32(piece, crc), size + len(piece)
                continue
            own = 0 if part else crc
            for block in self.blocks(*piece):
                own = crc32(block, own)
                self._out.write(block)
            length = piece[1] - piece[0]
            if part:
                of_part = joined(self._checksum(at, piece[0], of_part), own, length)
                at, own = piece[1], joined(crc, own, length)
            crc, size = own, size + length
        return crc, size, self._checksum(at, end, of_part)

    def _checksum(self, begin: int, end: int, crc: int) -> int:
        for block in self.blocks(begin, end):
            crc = crc32(block, crc)
        return crc
