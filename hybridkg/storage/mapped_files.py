"""Files mapped into memory, each once in a process for as long as somebody reads it.

Generations share most of their files by hard links, and a commit opens those of the one before several times. A new
mapping takes 60 us, and the first access to each 64 KB of it another; finding one that is there takes 8. A file is
known by its device, its inode and its size: while it is mapped, no other file gets its inode.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from mmap import ACCESS_READ, mmap
from typing import TypeAlias
from weakref import WeakValueDictionary

StrPath: TypeAlias = str | os.PathLike[str]

Identity: TypeAlias = tuple[int, int, int]

_mapped: WeakValueDictionary[Hashable, mmap] = WeakValueDictionary()


def identity_of(stat: os.stat_result) -> Identity:
    """The device, inode and size of a file, which no other file has while it is mapped."""
    return stat.st_dev, stat.st_ino, stat.st_size


def map_file(path: StrPath) -> mmap | bytes:
    """The content of a file, read-only and mapped; b"" for an empty one, which cannot be mapped.

    Raises:
        OSError: it cannot be opened or mapped.
    """
    stat = os.stat(path)  # noqa: PTH116 - runs for each array
    if not stat.st_size:
        return b""
    return mapped_once(identity_of(stat), lambda: _map(path))


def mapped_once(key: Hashable, make: Callable[[], mmap]) -> mmap:
    """The mapping of a key, which tells its files and how they are mapped; made unless somebody holds it."""
    pages = _mapped.get(key)
    if pages is None:
        pages = _mapped[key] = make()
    return pages


def _map(path: StrPath) -> mmap:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return mmap(descriptor, 0, access=ACCESS_READ)
    finally:
        os.close(descriptor)
