"""Seeds from names."""

from __future__ import annotations

import zlib


def seed_of(name: str) -> int:
    """A number of a name, the same in every process.

    >>> seed_of("star") == seed_of("star")
    True
    """
    return zlib.crc32(name.encode())
