"""The cache of analysed batches, a folder that outlives an interrupted build.

Its files are named by the hash of their input, so that a later build finds those that are still valid. A successful
build removes the folder, with the files of older builds; until then its size is bounded: a build first deletes the
oldest files and then adds none beyond the bound.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

NAME = ".text-work"
"""Name of the folder in that of the knowledge base."""

SUFFIX = ".batch"

MAX_BYTES = 8 << 30
"""460 million tokens take 2.3 GB."""


def opened(folder: Path, max_bytes: int = MAX_BYTES) -> Path:
    """Creates the folder, or deletes its unfinished files and the oldest files beyond `max_bytes`.

    Raises:
        OSError: it cannot be created.
    """
    folder.mkdir(exist_ok=True)
    for unfinished in folder.glob("*.new"):
        unfinished.unlink(missing_ok=True)
    by_age = [(status.st_mtime_ns, path, status.st_size) for path in files(folder) if (status := path.stat())]
    size = 0
    for _, path, file_size in sorted(by_age, reverse=True):
        size += file_size
        if size > max_bytes:
            path.unlink(missing_ok=True)
    return folder


def files(folder: Path) -> list[Path]:
    """The files of batches, sorted by name."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def remove(folder: Path) -> None:
    """Removes the files of batches, and the folder unless it has other files."""
    with suppress(OSError):
        for path in [*files(folder), *folder.glob("*.new")]:
            path.unlink(missing_ok=True)
        folder.rmdir()
