"""The folder of analysed batches, which outlives an interrupted build.

Its files are named by what they were made from, so a later build finds those
that still fit and nobody has to tell it which. A build that succeeds removes
the folder, files of older builds included; until then its size is bounded: at the beginning of a build the oldest
files go, and in its course what comes when there is no more room.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

NAME = ".text-work"
"""Of the folder, in that of the knowledge base."""

SUFFIX = ".batch"
"""Of the files."""

MAX_BYTES = 8 << 30
"""460 million tokens take 2.3 GB."""


def opened(folder: Path, most: int = MAX_BYTES) -> Path:
    """Makes the folder, or clears it of unfinished files and of the oldest beyond `most` bytes.

    Raises:
        OSError: it cannot be made.
    """
    folder.mkdir(exist_ok=True)
    for unfinished in folder.glob("*.new"):
        unfinished.unlink(missing_ok=True)
    found = [(status.st_mtime_ns, path, status.st_size) for path in kept(folder) if (status := path.stat())]
    size = 0
    for _, path, own in sorted(found, reverse=True):
        size += own
        if size > most:
            path.unlink(missing_ok=True)
    return folder


def kept(folder: Path) -> list[Path]:
    """The files of batches, in the order of their names."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def remove(folder: Path) -> None:
    """Removes the files of batches, and the folder unless it holds anything else."""
    with suppress(OSError):
        for path in [*kept(folder), *folder.glob("*.new")]:
            path.unlink(missing_ok=True)
        folder.rmdir()
