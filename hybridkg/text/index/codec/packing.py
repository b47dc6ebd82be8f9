"""The posting codec: bit-packed blocks of 128 postings.

A block holds the gaps between consecutive ids less one, then the tf less one, each with the bits of the largest of
them. Values are in four interleaved lanes: value i is in row i // 4 of lane i % 4, and the four lanes of a row are
adjacent 32-bit words, so that one vector instruction unpacks a row. Source: Lemire and Boytsov, "Decoding billions of
integers per second through vectorization" (2015), the variant without exceptions (PFOR), since a small block has few
outliers. Bits instead of bytes, because most gaps of common words need 2 to 6 bits.

`packing_kernel.py` is the compiled implementation and gives the same bytes: change both together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.text.index.layout import Array

BLOCK = 128
"""Postings of a block; the last one of a list may have fewer."""

LANES = 4

PADDING = 2 * LANES
"""Words of zeros after the last block: a reader reads up to two rows beyond it."""

KERNEL = LazyKernel("hybridkg.text.index.codec.packing_kernel", background=True)

U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]


@dataclass(frozen=True)
class PackedLists:
    """Consecutive packed lists.

    Args:
        first, at: uint32[b], the first id of each block, and the first row of its values in `words`, of four words
        each.
        widths: uint8[b, 2], bits of its gaps and of its tf, 0..32.
        words: uint32[...], the values; a multiple of four words, without padding.
    """

    first: U32
    at: U32
    widths: NDArray[np.uint8]
    words: U32


def blocks_of(df: NDArray[np.integer]) -> I64:
    """int64[n]: the number of blocks of lists with `df` postings.

    >>> blocks_of(np.array([0, 1, 128, 129])).tolist()
    [0, 1, 1, 2]
    """
    return (np.asarray(df, np.int64) + (BLOCK - 1)) // BLOCK


def pack(df: I64, ids: U32, tf: U32) -> PackedLists:
    """Packs concatenated lists.

    Args:
        df: int64[l], postings of each list.
        ids: uint32[sum(df)], ascending within each list.
        tf: uint32[sum(df)], at least 1.

    >>> packed = pack(np.array([3]), np.array([7, 9, 10], np.uint32), np.array([1, 1, 2], np.uint32))
    >>> packed.first.tolist(), packed.widths.tolist(), packed.words.tolist()
    ([7], [[1, 1]], [0, 1, 0, 0, 0, 0, 1, 0])
    """
    kernel = KERNEL.for_work(len(ids))
    if kernel is None:
        return pack_numpy(df, ids, tf)
    blocks = int(blocks_of(df).sum())
    first, at, widths = np.empty(blocks, np.uint32), np.empty(blocks, np.uint32), np.empty((blocks, 2), np.uint8)
    rows = kernel.measure(df, ids, tf, first, at, widths)
    words = np.zeros(rows * LANES, np.uint32)
    kernel.pack(df, ids, tf, at, widths, words)
    return PackedLists(first, at, widths, words)


def pack_numpy(df: I64, ids: U32, tf: U32) -> PackedLists:
    """The numpy reference of the kernel `pack`."""
    if not len(ids):
        return PackedLists(*(np.zeros(0, np.uint32),) * 2, np.zeros((0, 2), np.uint8), np.zeros(0, np.uint32))
    sizes = block_sizes(df)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    gaps = np.zeros(len(ids), np.uint64)
    gaps[1:] = ids[1:].astype(np.int64) - ids[:-1] - 1
    gaps[starts] = 0
    streams = gaps, tf.astype(np.uint64) - np.uint64(1)
    # The exponent of a whole number as a float is its number of bits; exact below 2**53.
    bits = [np.frexp(np.maximum.reduceat(values, starts).astype(np.float64))[1].astype(np.int64) for values in streams]
    rows = [rows_of(sizes, width) for width in bits]
    block_rows = rows[0] + rows[1]
    at = np.cumsum(block_rows) - block_rows
    words = np.zeros(int(block_rows.sum()) * LANES + PADDING)
    place = np.arange(len(ids)) - np.repeat(starts, sizes)
    for values, width, row in zip(streams, bits, (at, at + rows[0]), strict=True):
        word, shift = _addresses(place, np.repeat(width, sizes), np.repeat(row, sizes))
        shifted = values << shift
        # Bits of different values do not overlap, so sums are exact: below 2**32 in a float64.
        words += np.bincount(word, (shifted & np.uint64(0xFFFF_FFFF)).astype(np.float64), len(words))
        words += np.bincount(word + LANES, (shifted >> np.uint64(32)).astype(np.float64), len(words))
    return PackedLists(
        ids[starts],
        at.astype(np.uint32),
        np.stack(bits, axis=1).astype(np.uint8),
        words[:-PADDING].astype(np.uint32),
    )


def unpack_numpy(words: Array, first: Array, at: Array, widths: Array, sizes: I64) -> tuple[U32, U32]:
    """The concatenated postings of blocks: (ids uint32[n], tf uint32[n]); the numpy reference of the kernel `unpack`.

    Args (in part):
        words: uint32[...], of the whole segment, padding included.
        first, at, widths: of each block, as of PackedLists.
        sizes: int64[b], postings of each block.
    """
    if not len(first):
        return np.zeros(0, np.uint32), np.zeros(0, np.uint32)
    starts = np.cumsum(sizes) - sizes
    place = np.arange(int(sizes.sum())) - np.repeat(starts, sizes)
    row, bits = at.astype(np.int64), widths.astype(np.int64)
    gaps = _values(words, place, bits[:, 0], row, sizes) + 1
    gaps[starts] = 0
    ids = np.cumsum(gaps)
    ids += np.repeat(first.astype(np.int64) - ids[starts], sizes)
    tf = _values(words, place, bits[:, 1], row + rows_of(sizes, bits[:, 0]), sizes) + 1
    return ids.astype(np.uint32), tf.astype(np.uint32)


def _values(words: Array, place: I64, width: I64, row: I64, sizes: I64) -> I64:
    if not width.any():
        return np.zeros(len(place), np.int64)
    each = np.repeat(width, sizes)
    word, shift = _addresses(place, each, np.repeat(row, sizes))
    both = words[word].astype(np.uint64) | words[word + LANES].astype(np.uint64) << np.uint64(32)
    mask = (np.uint64(1) << each.astype(np.uint64)) - np.uint64(1)
    return ((both >> shift) & mask).astype(np.int64)


def _addresses(place: I64, width: I64, row: I64) -> tuple[I64, NDArray[np.uint64]]:
    """The first word of each value, and its first bit in that."""
    bit = (place >> 2) * width
    return (row + (bit >> 5)) * LANES + (place & 3), (bit & 31).astype(np.uint64)


def rows_of(sizes: Any, width: Any) -> Any:
    """The number of rows of four words for `sizes` values of a width.

    >>> rows_of(128, 5), rows_of(3, 1)
    (5, 1)
    """
    return ((sizes + (LANES - 1)) // LANES * width + 31) // 32


def block_sizes(df: I64) -> I64:
    """int64[b]: the postings of each block of lists of `df` postings."""
    blocks = blocks_of(df)
    ends = np.cumsum(blocks)
    sizes = np.full(int(ends[-1]) if len(ends) else 0, BLOCK, np.int64)
    present = blocks > 0
    sizes[ends[present] - 1] = df[present] - BLOCK * (blocks[present] - 1)
    return sizes
