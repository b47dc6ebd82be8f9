"""Postings of a list in the document blocks of a batch. Import it from kernel modules only: it imports numba.

Each posting gives its slot, DOC_BLOCK * number of the document block in the batch + place in it, to `docs`, and its id
and tf to `ids` and `tf`. `cursor[i]` is a posting block (a place of a plain list) before which nothing is wanted. Each
function returns the number of postings.
"""

from __future__ import annotations

from typing import Any

from numba import int64, njit, uint32, uint64

from hybridkg.text.index.codec.cursor_kernel import BLOCK, INLINE, seek_block, seek_plain
from hybridkg.text.index.codec.packing_kernel import occurrences_of, unpack_ids, unpack_occurrences
from hybridkg.text.index.layout import DOC_BLOCK, DOC_BLOCK_SHIFT

SOME = 16
"""Up to this many tf of a posting block are read one by one; for more, the block is unpacked."""


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def scan_plain(
    i: Any, plain: Any, plain_tf: Any, end: Any, low: Any, high: Any, cursor: Any, slot_of: Any, docs: Any, ids: Any,
    tf: Any,
) -> Any:  # fmt: skip
    """The postings of a plain list; the batch is in low..high."""
    begin = seek_plain(low, plain, cursor[i], end)
    stop = seek_plain(high, plain, begin, end)
    cursor[i] = begin
    n = uint64(0)
    for j in range(uint64(begin), uint64(stop)):
        d = uint64(plain[j])
        slot = int64(slot_of[d >> uint64(DOC_BLOCK_SHIFT)])
        docs[n], ids[n], tf[n] = (
            uint32((slot << DOC_BLOCK_SHIFT) | int64(d & uint64(DOC_BLOCK - 1))),
            plain[j],
            plain_tf[j],
        )
        n += uint64(slot >= 0)
    return n


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def scan_packed(
    i: Any, packed: Any, first: Any, at: Any, widths: Any, first_block: Any, postings: Any, low: Any, high: Any,
    cursor: Any, slot_of: Any, unpacked_ids: Any, unpacked_tf: Any, docs: Any, ids: Any, tf: Any,
) -> Any:  # fmt: skip
    """The postings of a packed list, by a scan of all in low..high."""
    n, end = uint64(0), first_block + (postings + BLOCK - 1) // BLOCK
    cursor[i] = seek_block(low, first, cursor[i], end)
    block = uint64(cursor[i])
    while block < uint64(end) and int64(first[block]) < high:
        size = uint64(min(BLOCK, postings - (int64(block) - first_block) * BLOCK))
        unpack_ids(packed, first[block], uint64(at[block]), widths, block, size, unpacked_ids, uint64(0))
        before = n
        for j in range(size):  # without a branch, which the processor could not predict
            tf[n] = uint32(j)
            n += uint64(slot_of[uint64(unpacked_ids[j]) >> uint64(DOC_BLOCK_SHIFT)] >= 0)
        for j in range(before, n):
            d = uint64(unpacked_ids[tf[j]])
            docs[j] = uint32(
                (int64(slot_of[d >> uint64(DOC_BLOCK_SHIFT)]) << DOC_BLOCK_SHIFT) | int64(d & uint64(DOC_BLOCK - 1))
            )
            ids[j] = uint32(d)
        if n - before > uint64(SOME):
            unpack_occurrences(packed, uint64(at[block]), widths, block, size, unpacked_tf, uint64(0))
            for j in range(before, n):
                tf[j] = unpacked_tf[tf[j]]
        else:
            for j in range(before, n):
                tf[j] = occurrences_of(packed, uint64(at[block]), widths, block, size, uint64(tf[j]))
        block += uint64(1)
    return n


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def probe_packed(
    i: Any, packed: Any, first: Any, at: Any, widths: Any, first_block: Any, postings: Any, blocks: Any,
    term_blocks: Any, n_term_blocks: Any, cursor: Any, unpacked_ids: Any, docs: Any, ids: Any, tf: Any,
) -> Any:  # fmt: skip
    """The postings of a packed list, by a search for each of the document blocks `blocks[term_blocks]`; posting blocks
    without any are skipped.
    """
    n, end, j, size = uint64(0), first_block + (postings + BLOCK - 1) // BLOCK, uint64(0), uint64(0)
    block, unpacked = cursor[i], int64(-1)
    for h in range(n_term_blocks):
        slot = uint64(term_blocks[h])
        target = uint64(blocks[slot]) << uint64(DOC_BLOCK_SHIFT)
        after = target + uint64(DOC_BLOCK)
        if block + 1 < end and uint64(first[block + 1]) <= target:
            block = seek_block(int64(target), first, block, end)
        if h == uint64(0):
            cursor[i] = block
        while uint64(first[block]) < after:
            b = uint64(block)
            if block != unpacked:
                size, j, unpacked = uint64(min(BLOCK, postings - (block - first_block) * BLOCK)), uint64(0), block
                unpack_ids(packed, first[b], uint64(at[b]), widths, b, size, unpacked_ids, uint64(0))
            if uint64(unpacked_ids[size - uint64(1)]) >= target:
                while j + uint64(8) < size and uint64(unpacked_ids[j + uint64(8)]) < target:
                    j += uint64(8)
                while uint64(unpacked_ids[j]) < target:
                    j += uint64(1)
                while j < size and uint64(unpacked_ids[j]) < after:
                    docs[n] = uint32(
                        (slot << uint64(DOC_BLOCK_SHIFT)) | (uint64(unpacked_ids[j]) & uint64(DOC_BLOCK - 1))
                    )
                    ids[n] = unpacked_ids[j]
                    tf[n] = occurrences_of(packed, uint64(at[b]), widths, b, size, j)
                    n += uint64(1)
                    j += uint64(1)
                if j < size:
                    break
            if block + 1 == end or uint64(first[block + 1]) >= after:
                break
            block += 1
    return n
