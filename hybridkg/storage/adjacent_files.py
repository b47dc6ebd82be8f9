"""Two files mapped one behind the other, so that kernels see one range of memory.

An array that grows at its end keeps its file, the *base*, and gets a second one, the *tail*. The tail begins at the
next multiple of ALIGN bytes, which is a page boundary everywhere; the bytes between are zeros. Where the system cannot
map a file at a given address, both are read into memory.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import TypeAlias, cast

import numpy as np

from hybridkg.storage.mapped_files import StrPath, identity_of, keep_mapping, mapping_of

ALIGN = 1 << 16
"""Where a tail begins, in bytes: a multiple of every page size in use, 4 to 64 KB."""

_FIXED = 0x10
"""MAP_FIXED of Linux, macOS and the BSDs."""

_Map: TypeAlias = Callable[[int, int, int, int, int, int], int]


def tail_start(base_bytes: int) -> int:
    """Where the tail of a base of so many bytes begins.

    >>> tail_start(0), tail_start(1), tail_start(65_536)
    (0, 65536, 65536)
    """
    return -(-base_bytes // ALIGN) * ALIGN


def map_adjacent(base: StrPath, base_bytes: int, tail: StrPath, tail_bytes: int) -> mmap.mmap | bytearray:
    """Both files as one buffer: uint8[tail_start(base_bytes) + tail_bytes], which nobody writes.

    Raises:
        OSError: a file cannot be read, or has fewer bytes.
    """
    begin = tail_start(base_bytes)
    parts = [(base, 0, base_bytes), (tail, begin, tail_bytes)]
    stats = [os.stat(path) for path, _, _ in parts]  # noqa: PTH116 - runs for each array
    for (path, _, size), stat in zip(parts, stats, strict=True):
        if stat.st_size < size:
            raise OSError(f"{str(path)!r} has fewer than {size:,} bytes")
    put = _fixed_map()
    if put is None:
        return read_adjacent(base, base_bytes, tail, tail_bytes)
    pages = mapping_of((base_bytes, tail_bytes, *map(identity_of, stats)))
    return _map(put, begin + tail_bytes, parts) if pages is None else pages


def _map(put: _Map, whole: int, parts: Sequence[tuple[StrPath, int, int]]) -> mmap.mmap:
    """A range of `whole` bytes with files mapped into it, given as (path, first byte, bytes)."""
    # Pages that nobody may write are not charged to the memory of the machine, which an array can exceed.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    pages = mmap.mmap(-1, whole, flags=flags, prot=mmap.PROT_READ)
    address = np.frombuffer(pages, np.uint8).ctypes.data
    key: list[Hashable] = [size for _, _, size in parts]
    for path, at, size in parts:
        with open(path, "rb") as file:  # noqa: PTH123 - the path may be a str
            key.append(identity_of(os.fstat(file.fileno())))
            if not size:
                continue
            found = put(address + at, size, mmap.PROT_READ, mmap.MAP_SHARED | _FIXED, file.fileno(), 0)
        if found != address + at:
            raise OSError(f"{str(path)!r} cannot be mapped")
    keep_mapping(tuple(key), pages)
    return pages


def read_adjacent(base: StrPath, base_bytes: int, tail: StrPath, tail_bytes: int) -> bytearray:
    """As `map_adjacent`, in memory."""
    begin = tail_start(base_bytes)
    buffer = bytearray(begin + tail_bytes)
    view = memoryview(buffer)
    for path, at, size in ((base, 0, base_bytes), (tail, begin, tail_bytes)):
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - the path may be a str
            done = 0
            while done < size:
                n = file.readinto(view[at + done : at + size])
                if not n:
                    raise OSError(f"{str(path)!r} ends at {done:,} bytes")
                done += n
    return buffer


@cache
def _fixed_map() -> _Map | None:
    """The system call that maps a file at an address; None where there is none."""
    if os.name == "nt":
        return None
    import ctypes  # 5 ms, and most indexes have no tail

    try:
        function = ctypes.CDLL(None, use_errno=True).mmap
    except (OSError, AttributeError, TypeError):
        return None
    integer, size = ctypes.c_int, ctypes.c_size_t
    function.argtypes = ctypes.c_void_p, size, integer, integer, integer, ctypes.c_longlong
    function.restype = ctypes.c_void_p
    return cast(_Map, function)
