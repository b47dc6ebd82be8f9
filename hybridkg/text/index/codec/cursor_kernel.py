"""Cursors over packed and plain posting lists, compiled. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import int64, njit, uint8, uint32, uint64
from numba.core.types import Array
from numba.extending import intrinsic

BLOCK = 128
ROOM = BLOCK + 4
"""Room of an unpacked block, which may be filled up to three values beyond its end."""

NEVER = 1 << 40
"""The next id of an exhausted list."""

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}

HELPER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True}
"""For functions that only kernels call: what Python would call them by takes a twentieth of the compilation."""


def readonly(dtype: Any, dimensions: int = 1) -> Any:
    return Array(dtype, dimensions, "C", readonly=True)


SEGMENT = (readonly(uint32), readonly(uint32), readonly(uint32), readonly(uint8, 2))
"""packed, blocks.first, blocks.at, blocks.widths"""

LISTS = (readonly(int64, 2), readonly(uint32), readonly(uint32))
"""int64[5, lists]: term, field, first block or -1, first plain posting, postings; plain ids and tf"""


def _lowest_bit(typing: Any, bits: Any) -> Any:
    del typing, bits

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return uint64(uint64), generate


lowest_bit: Any = intrinsic(_lowest_bit)
"""The place of the lowest bit of a uint64 other than 0."""


def _popcount(typing: Any, bits: Any) -> Any:
    del typing, bits

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.ctpop(arguments[0])

    return uint64(uint64), generate


popcount: Any = intrinsic(_popcount)
"""The number of set bits of a uint64."""

INLINE: dict[str, Any] = {"inline": "always"}
"""For functions called for each list and window: a call passes each array as seven numbers and counts references."""


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def open_lists(first: Any, block: Any, start: Any, size: Any, plain: Any, cursor: Any, following: Any) -> None:
    """Moves every cursor to its first posting; cursor columns: block, place, unpacked ids (-1: none), whether their tf
    are unpacked. For a plain list: -, place, end, -.
    """
    for i in range(len(block)):
        if block[i] < 0:
            cursor[i, 0], cursor[i, 1], cursor[i, 2] = 0, start[i], start[i] + size[i]
            following[i] = plain[start[i]] if size[i] else NEVER
        else:
            cursor[i, 0], cursor[i, 1], cursor[i, 2] = block[i], 0, -1
            following[i] = first[block[i]] if size[i] else NEVER


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def nearest(following: Any, term: Any, words: Any) -> Any:
    low = int64(NEVER)
    for i in range(len(following)):
        if term[i] < words and following[i] < low:
            low = following[i]
    return low


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def seek_plain(low: Any, plain: Any, a: Any, b: Any) -> Any:
    """The first place of a..b whose id is not below `low`."""
    while a < b:
        middle = (a + b) >> 1
        if plain[middle] < low:
            a = middle + 1
        else:
            b = middle
    return a


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def seek_block(low: Any, first: Any, a: Any, end: Any) -> Any:
    """The last block of a..end-1 that begins at or below `low`, or a."""
    step = 1
    while a + step < end and first[a + step] <= low:
        a += step
        step *= 2
    b = min(end, a + step)
    while b - a > 1:
        middle = (a + b) >> 1
        if first[middle] <= low:
            a = middle
        else:
            b = middle
    return a
