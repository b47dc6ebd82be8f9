"""Writer of the next `documents` folder: the segments of the previous one, and a new one.

Older segments are shared by hard links. The newest ones are merged as in a log-structured merge tree (O'Neil et al.,
Acta Informatica 1996), so a folder of any size has about eight, and a small change does not rewrite a large segment.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from hybridkg.entities.documents.document_segment import SUFFIX, Row, SegmentSize, write_segment
from hybridkg.entities.documents.segments import Segments, merged, newest_first

GROWTH = 4
"""A segment stays apart from the newer ones if it is this many times as large as they are together."""


def write_next(previous: Path | None, folder: Path, rows: Iterable[Row]) -> None:
    """Writes the next folder.

    Args:
        previous: the `documents` folder of the live generation, or None.
        folder: the new folder; must not exist.
        rows: fields that are replaced, or removed by tombstones; the last row of a (field, entity) counts.

    Raises:
        CorruptError: a segment is damaged.
        OSError: the disk is full or fails.
    """
    folder.mkdir()
    older = newest_first(previous) if previous is not None else []
    linked = [_linked(path, folder / path.name) for path in older]
    new = folder / f"{int(older[0].stem) + 1 if older else 1:06d}{SUFFIX}"
    write_segment(new, rows, Segments(linked).has)
    if linked and not SegmentSize.of(new).rows:
        new.unlink()
        return
    segments = [new, *linked]
    _merge(segments, _due([SegmentSize.of(path) for path in segments]))


def _linked(path: Path, link: Path) -> Path:
    try:
        link.hardlink_to(path)
    except OSError:
        shutil.copyfile(path, link)
    return link


def _due(sizes: Sequence[SegmentSize]) -> int:
    """How many of the newest segments become one.

    Rows count beside bytes, so that many tombstones, which are short, are merged with the texts that they hide.

    >>> _due([SegmentSize(10, 10), SegmentSize(30, 30), SegmentSize(200, 200)])
    2
    >>> _due([SegmentSize(10, 10), SegmentSize(40, 40)])
    1
    """
    total = sizes[0]
    for number, size in enumerate(sizes[1:], 1):
        few_rows = 0 < size.rows < GROWTH * total.rows
        if size.bytes >= GROWTH * total.bytes and not few_rows:
            return number
        total += size
    return len(sizes)


def _merge(segments: Sequence[Path], number: int) -> None:
    """Replaces the newest segments by one with the name of the newest, a file of this folder alone."""
    if number == 1:
        return
    newest, older = segments[:number], segments[number:]
    whole = newest[0].with_suffix(".merged")
    hides = Segments(older).has
    rows = (row[:3] for row in merged(newest, None))
    write_segment(whole, (row for row in rows if row[2] or hides(*row[:2])))
    for path in newest:
        path.unlink()
    whole.replace(newest[0])
