"""Checksums of files that this process has written, or has read whole, so that none is read a second time.

A file is known by its name, device, inode, size and time of modification; one that has been changed since has another
identity, and is read. The name tells it from another file that has got the inode of a removed one in the same tick of
the clock of the file system, 4 ms and more. CRC-32 is linear, so the checksum of a concatenation follows from those of
its parts, and that of one part from the others and the whole (as in zlib's `crc32_combine`).
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import TypeAlias

from hybridkg.storage.durable import checksum
from hybridkg.storage.mapped_files import StrPath

MAX_KNOWN = 4_096
"""Files that are remembered, those of some fifty commits."""

_POLYNOMIAL = 0xEDB88320
_ORDER = (1 << 32) - 1
"""The powers of x repeat after so many, because the polynomial is primitive."""

Identity: TypeAlias = tuple[str, int, int, int, int]

_known: OrderedDict[Identity, int] = OrderedDict()
_remembering = threading.Lock()


def remember(path: StrPath, crc: int) -> None:
    """Remembers the checksum of a file that is closed and stays as it is."""
    _remember(_identity(path), crc)


def known_checksum(path: StrPath) -> int | None:
    """The checksum of a file that this process has written or read whole; None for another, or a missing one."""
    try:
        return _known.get(_identity(path))
    except OSError:
        return None


def checksum_of(path: StrPath) -> int:
    """The checksum of a file, which is read if it is not known. Raises OSError."""
    identity = _identity(path)
    crc = _known.get(identity)
    if crc is None:
        crc = int(checksum(Path(path)), 16)
        if _identity(path) == identity:
            _remember(identity, crc)
    return crc


def as_text(crc: int) -> str:
    """A checksum as a manifest has it: 8 hexadecimal digits.

    >>> as_text(0xE8B7BE43)
    'e8b7be43'
    """
    return f"{crc:08x}"


def joined(first: int, second: int, size: int) -> int:
    """The checksum of a concatenation, whose second part has `size` bytes.

    >>> from zlib import crc32
    >>> joined(crc32(b"red "), crc32(b"fish"), 4) == crc32(b"red fish")
    True
    """
    return _shifted(first, size) ^ second


def middle(whole: int, before: int, after: int, size: int, size_after: int) -> int:
    """The checksum of `size` bytes between two parts of a whole, from those of the parts and of the whole.

    >>> from zlib import crc32
    >>> middle(crc32(b"a red fish"), crc32(b"a "), crc32(b" fish"), 3, 5) == crc32(b"red")
    True
    """
    return _shifted(whole ^ after, -size_after) ^ _shifted(before, size)


def _identity(path: StrPath) -> Identity:
    stat = os.stat(path)  # noqa: PTH116 - runs for each file of a commit, and a Path takes 6 us more
    return os.path.basename(path), stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns  # noqa: PTH119


def _remember(identity: Identity, crc: int) -> None:
    with _remembering:
        _known[identity] = crc
        _known.move_to_end(identity)
        while len(_known) > MAX_KNOWN:
            _known.popitem(last=False)


def _shifted(crc: int, size: int) -> int:
    """The remainder `crc` times x to the 8 `size`; for a negative size, the crc of which this is the product."""
    return _product(_power(8 * size % _ORDER), crc)


def _product(a: int, b: int) -> int:
    """The product of two polynomials modulo that of CRC-32; the highest bit is the coefficient of 1."""
    result, bit = 0, 1 << 31
    while a:
        if a & bit:
            result ^= b
            a ^= bit
        bit >>= 1
        b = b >> 1 ^ _POLYNOMIAL if b & 1 else b >> 1
    return result


def _power(exponent: int) -> int:
    """x to an exponent of at most 32 bits, modulo the polynomial."""
    result = 1 << 31
    for bit in range(exponent.bit_length()):
        if exponent >> bit & 1:
            result = _product(_POWERS[bit], result)
    return result


def _powers() -> list[int]:
    powers = [1 << 30]
    for _ in range(31):
        powers.append(_product(powers[-1], powers[-1]))
    return powers


_POWERS = _powers()
"""x to the powers 1, 2, 4, ..., 2^31."""
