"""Files mapped into memory, each once in a process for as long as somebody reads it.

Generations share most of their files by hard links, and a commit opens those of the one before several times. A new
mapping takes 60 us, and the first access to each 64 KB of it another; finding one that is there takes 8. A file is
known by its device, its inode and its size: while it is mapped, no other file gets its inode.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from mmap import ACCESS_READ, mmap
from typing import TypeAlias
from weakref import WeakValueDictionary

StrPath: TypeAlias = str | os.PathLike[str]

_mapped: WeakValueDictionary[Hashable, mmap] = WeakValueDictionary()


def identity_of(stat: os.stat_result) -> tuple[int, int, int]:
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
    pages = mapping_of(identity_of(stat))
    if pages is None:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            pages = mmap(descriptor, 0, access=ACCESS_READ)
            keep_mapping(identity_of(os.fstat(descriptor)), pages)
        finally:
            os.close(descriptor)
    return pages


def mapping_of(key: Hashable) -> mmap | None:
    """The mapping of a key, which tells its files and how they are mapped; None where nobody holds one."""
    return _mapped.get(key)


def keep_mapping(key: Hashable, pages: mmap) -> None:
    """Remembers a mapping for as long as somebody holds it."""
    _mapped[key] = pages
