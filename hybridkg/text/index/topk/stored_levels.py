"""Where the levels of words are written: all of them, or those that have changed behind the earlier ones.

The parts of a word (the levels in each form, then the sets of fields) are adjacent. The words follow one another where
all are written. Otherwise the earlier array stays as the base, and words with another part are in a tail.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias, cast

from hybridkg.text.index.layout import Array, ArrayReader, ArrayWriter

ArrayPiece: TypeAlias = "Array | tuple[int, int]"
"""New rows of an array, or a range of rows of the earlier one."""

LEVELS = "peaks.levels"

MAX_TAIL = 0.5
"""Size of a tail, as a share of its base, above which all levels are written: each commit writes the tail again, and
the base keeps what the tail replaces."""

MIN_BASE = 1 << 20
"""Bytes of a base below which all levels are written: a second file costs more than the copy."""


def write_levels(out: ArrayWriter, words: Sequence[Sequence[ArrayPiece]], earlier: ArrayReader | None) -> list[int]:
    """Writes `peaks.levels`; returns where each part of each word begins, and the end of the array.

    Args:
        out: of the segment.
        words: the parts of each word.
        earlier: the segment that ranges are from; None where there are none.
    """
    if earlier is not None:
        starts = _written_behind(out, words, earlier)
        if starts is not None:
            return starts
    parts = [part for word in words for part in word]
    write_pieces(out, LEVELS, ("<u1", 0), parts, earlier)
    return list(accumulate(map(_size, parts), initial=0))


def _written_behind(out: ArrayWriter, words: Sequence[Sequence[ArrayPiece]], earlier: ArrayReader) -> list[int] | None:
    """As `write_levels`, with the earlier base; None where it is too small, or the tail too large."""
    size, base = earlier.check(LEVELS)[1][0], earlier.base_rows(LEVELS)
    end_of_base = size if base is None else base
    moves = [not all(isinstance(part, tuple) and part[1] <= end_of_base for part in word) for word in words]
    tail = [part for word, is_moved in zip(words, moves, strict=True) if is_moved for part in word]
    tail_size = sum(map(_size, tail))
    if end_of_base < MIN_BASE or tail_size > MAX_TAIL * end_of_base or (base is not None and not tail):
        return None
    if tail:
        out.extend(LEVELS, earlier, _joined(tail))
    else:
        out.link(earlier, (LEVELS,))
    place, starts = earlier.tail_start(LEVELS), []
    for word, is_moved in zip(words, moves, strict=True):
        for part in word:
            starts.append(place if is_moved else cast("tuple[int, int]", part)[0])
            place += _size(part) if is_moved else 0
    return [*starts, place if tail else size]


def write_pieces(
    out: ArrayWriter,
    name: str,
    columns: tuple[str, int],
    pieces: Sequence[ArrayPiece],
    earlier: ArrayReader | None,
) -> None:
    """Writes an array of new rows and of ranges of rows of the earlier one; `columns` are its type and their number."""
    if earlier is not None:
        out.splice(name, earlier, _joined(pieces))
        return
    stream = out.stream(name, *columns)
    for piece in pieces:
        stream.append(cast(Array, piece))
    stream.close()


def _joined(pieces: Sequence[ArrayPiece]) -> list[ArrayPiece]:
    """The pieces; adjacent ranges are one, which is copied at once."""
    joined: list[ArrayPiece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if isinstance(piece, tuple) and isinstance(last, tuple) and last[1] == piece[0]:
            joined[-1] = last[0], piece[1]
        else:
            joined.append(piece)
    return joined


def _size(piece: ArrayPiece) -> int:
    return piece[1] - piece[0] if isinstance(piece, tuple) else len(piece)
