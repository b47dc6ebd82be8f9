"""Compiled taking of the postings of a list in ranges of ids. Import it from kernel modules only: it imports numba.

The ranges of a batch are numbered; what is taken goes to `docs`, RANGE * number of the range + place in it, to `ids`
and to `often`, the numbers of occurrences. `cursor[i]` is a block (of a plain list: a place) that nothing wanted is
before.
"""

from __future__ import annotations

from typing import Any

from numba import int64, njit, uint32, uint64

from hybridkg.text.index.codec.cursor_kernel import BLOCK, INLINE, seek_block, seek_plain
from hybridkg.text.index.codec.packing_kernel import occurrences_of, unpack_ids, unpack_occurrences
from hybridkg.text.index.layout import DOC_BLOCK, DOC_BLOCK_SHIFT

SOME = 16
"""So many numbers of occurrences are read one by one; of more, the whole block is unpacked."""


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def take_plain(
    i: Any, plain: Any, plain_tf: Any, end: Any, low: Any, high: Any, cursor: Any, slot_of: Any, docs: Any, ids: Any,
    often: Any,
) -> Any:  # fmt: skip
    """Takes the postings of a plain list in the batch, which is in low..high; returns how many."""
    begin = seek_plain(low, plain, cursor[i], end)
    stop = seek_plain(high, plain, begin, end)
    cursor[i] = begin
    n = uint64(0)
    for j in range(uint64(begin), uint64(stop)):
        d = uint64(plain[j])
        slot = int64(slot_of[d >> uint64(DOC_BLOCK_SHIFT)])
        docs[n], ids[n], often[n] = (
            uint32((slot << DOC_BLOCK_SHIFT) | int64(d & uint64(DOC_BLOCK - 1))),
            plain[j],
            plain_tf[j],
        )
        n += uint64(slot >= 0)
    return n


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def take_all(
    i: Any, packed: Any, first: Any, at: Any, widths: Any, block: Any, size: Any, low: Any, high: Any, cursor: Any,
    slot_of: Any, block_ids: Any, block_tf: Any, docs: Any, ids: Any, often: Any,
) -> Any:  # fmt: skip
    """The same of a packed list, by looking at all of its postings in low..high."""
    n, end = uint64(0), block + (size + BLOCK - 1) // BLOCK
    cursor[i] = seek_block(low, first, cursor[i], end)
    own = uint64(cursor[i])
    while own < uint64(end) and int64(first[own]) < high:
        here = uint64(min(BLOCK, size - (int64(own) - block) * BLOCK))
        unpack_ids(packed, first[own], uint64(at[own]), widths, own, here, block_ids, uint64(0))
        before = n
        for j in range(here):  # without a branch: whether a range is wanted cannot be foreseen
            often[n] = uint32(j)
            n += uint64(slot_of[uint64(block_ids[j]) >> uint64(DOC_BLOCK_SHIFT)] >= 0)
        for j in range(before, n):
            d = uint64(block_ids[often[j]])
            docs[j] = uint32(
                (int64(slot_of[d >> uint64(DOC_BLOCK_SHIFT)]) << DOC_BLOCK_SHIFT) | int64(d & uint64(DOC_BLOCK - 1))
            )
            ids[j] = uint32(d)
        if n - before > uint64(SOME):
            unpack_occurrences(packed, uint64(at[own]), widths, own, here, block_tf, uint64(0))
            for j in range(before, n):
                often[j] = block_tf[often[j]]
        else:
            for j in range(before, n):
                often[j] = occurrences_of(packed, uint64(at[own]), widths, own, here, uint64(often[j]))
        own += uint64(1)
    return n


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def take_near(
    i: Any, packed: Any, first: Any, at: Any, widths: Any, block: Any, size: Any, ranges: Any, having: Any,
    n_having: Any, cursor: Any, block_ids: Any, docs: Any, ids: Any, often: Any,
) -> Any:  # fmt: skip
    """The same, by looking for each of the ranges `ranges[having]`; blocks without any are passed over."""
    n, end, j, here = uint64(0), block + (size + BLOCK - 1) // BLOCK, uint64(0), uint64(0)
    own, unpacked = cursor[i], int64(-1)
    for h in range(n_having):
        slot = uint64(having[h])
        target = uint64(ranges[slot]) << uint64(DOC_BLOCK_SHIFT)
        behind = target + uint64(DOC_BLOCK)
        if own + 1 < end and uint64(first[own + 1]) <= target:
            own = seek_block(target, first, own, end)
        if h == uint64(0):
            cursor[i] = own
        while uint64(first[own]) < behind:
            b = uint64(own)
            if own != unpacked:
                here, j, unpacked = uint64(min(BLOCK, size - (own - block) * BLOCK)), uint64(0), own
                unpack_ids(packed, first[b], uint64(at[b]), widths, b, here, block_ids, uint64(0))
            if uint64(block_ids[here - uint64(1)]) >= target:
                while j + uint64(8) < here and uint64(block_ids[j + uint64(8)]) < target:
                    j += uint64(8)
                while uint64(block_ids[j]) < target:
                    j += uint64(1)
                while j < here and uint64(block_ids[j]) < behind:
                    docs[n] = uint32((slot << uint64(DOC_BLOCK_SHIFT)) | (uint64(block_ids[j]) & uint64(DOC_BLOCK - 1)))
                    ids[n] = block_ids[j]
                    often[n] = occurrences_of(packed, uint64(at[b]), widths, b, here, j)
                    n += uint64(1)
                    j += uint64(1)
                if j < here:
                    break
            if own + 1 == end or uint64(first[own + 1]) >= behind:
                break
            own += 1
    return n
