"""Compiled taking of the postings of a list in a window of ids. Import it from kernel modules only: it imports numba.

A window has ranges of 8 ids, of which some may be passed over; the others live. What is taken goes to `docs`, counted
from the beginning of the window, and the numbers of occurrences to `often`. Cursors are those of lists_kernel.py.
"""

from __future__ import annotations

from typing import Any

from numba import int64, njit, uint32, uint64

from hybridkg.text.embedded.packing_kernel import occurrences_of, unpack_ids, unpack_occurrences
from hybridkg.text.lists_kernel import BLOCK, INLINE, NEVER, ROOM, lowest_bit, seek_block, seek_plain

SOME = 16
"""So many numbers of occurrences are read one by one; of more, the whole block is unpacked."""


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def collect_plain(
    i: Any, plain: Any, plain_tf: Any, low: Any, high: Any, filtered: Any, alive: Any, cursor: Any, following: Any,
    docs: Any, often: Any,
) -> Any:  # fmt: skip
    """Takes the postings of a plain list in a window; returns how many."""
    begin = cursor[i, 1]
    end = seek_plain(high, plain, begin, cursor[i, 2])
    n = uint64(0)
    for j in range(uint64(begin), uint64(end)):
        d = uint64(plain[j]) - uint64(low)
        docs[n], often[n] = uint32(d), plain_tf[j]
        n += uint64(alive[d >> uint64(3)]) if filtered else uint64(1)
    cursor[i, 1] = end
    following[i] = plain[end] if end < cursor[i, 2] else NEVER
    return n


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def collect_dense(
    i: Any, packed: Any, first: Any, at: Any, widths: Any, block: Any, size: Any, low: Any, high: Any, filtered: Any,
    alive: Any, cursor: Any, following: Any, ids: Any, tf: Any, docs: Any, often: Any,
) -> Any:  # fmt: skip
    """Takes the postings of a packed list in a window, whole blocks at a time; returns how many."""
    room, n, from_, to = uint64(i * ROOM), uint64(0), uint64(low), uint64(high)
    while following[i] < high:
        own = uint64(cursor[i, 0])
        here = uint64(min(BLOCK, size - (int64(own) - block) * BLOCK))
        if cursor[i, 2] < 0:
            unpack_ids(packed, first[own], uint64(at[own]), widths, own, here, ids, room)
            cursor[i, 1], cursor[i, 2], cursor[i, 3] = 0, here, 0
        begin, stop = room + uint64(cursor[i, 1]), room + here
        while begin < stop and ids[begin] < from_:
            begin += uint64(1)
        if ids[stop - uint64(1)] >= to:
            stop = begin
            while ids[stop] < to:
                stop += uint64(1)
        before = n
        if filtered:
            for j in range(begin, stop):  # without a branch: whether a range lives cannot be foreseen
                d = uint64(ids[j]) - from_
                docs[n], often[n] = uint32(d), uint32(j)
                n += uint64(alive[d >> uint64(3)])
        else:
            for j in range(begin, stop):
                docs[n], often[n] = uint32(uint64(ids[j]) - from_), uint32(j)
                n += uint64(1)
        if n - before > uint64(SOME) and cursor[i, 3] == 0:
            unpack_occurrences(packed, uint64(at[own]), widths, own, here, tf, room)
            cursor[i, 3] = 1
        if cursor[i, 3]:
            for j in range(before, n):
                often[j] = tf[often[j]]
        else:
            for j in range(before, n):
                often[j] = occurrences_of(packed, uint64(at[own]), widths, own, here, uint64(often[j]) - room)
        place = int64(stop - room)
        cursor[i, 1] = place
        if place < cursor[i, 2]:
            following[i] = ids[stop]
        elif int64(own) + 1 < block + (size + BLOCK - 1) // BLOCK:
            cursor[i, 0], cursor[i, 1], cursor[i, 2] = own + uint64(1), 0, -1
            following[i] = first[own + uint64(1)]
        else:
            following[i] = NEVER
    return n


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def collect_sparse(
    i: Any, packed: Any, first: Any, at: Any, widths: Any, block: Any, size: Any, low: Any, high: Any, bits: Any,
    cursor: Any, following: Any, ids: Any, docs: Any, often: Any,
) -> Any:  # fmt: skip
    """Takes the postings of a packed list in the living ranges of a window; returns how many. Blocks without any are
    passed over, and of the others only those numbers of occurrences are read that are needed.

    What it takes beyond the cursor:
        low, high: ids of the window; the last range of it lives.
        bits: uint64[...], the living ranges of the window.
    """
    room, n, end = uint64(i * ROOM), uint64(0), block + (size + BLOCK - 1) // BLOCK
    following[i] = max(following[i], low)
    while following[i] < high:
        r = uint64(following[i] - low) >> uint64(3)
        w = r >> uint64(6)
        left = bits[w] >> (r & uint64(63))
        if left:
            r += lowest_bit(left)
        else:
            while bits[w + uint64(1)] == uint64(0):
                w += uint64(1)
            r = ((w + uint64(1)) << uint64(6)) + lowest_bit(bits[w + uint64(1)])
        target = low + int64(r << uint64(3))
        own = cursor[i, 0]
        if own + 1 < end and first[own + 1] <= target:
            own = seek_block(target, first, own, end)
            cursor[i, 0], cursor[i, 1], cursor[i, 2] = own, 0, -1
        if cursor[i, 1] == 0 and first[own] >= target + 8:
            following[i] = first[own]
            continue
        block_now = uint64(own)
        here = uint64(min(BLOCK, size - (own - block) * BLOCK))
        if cursor[i, 2] < 0:
            unpack_ids(packed, first[block_now], uint64(at[block_now]), widths, block_now, here, ids, room)
            cursor[i, 1], cursor[i, 2], cursor[i, 3] = 0, here, 0
        j, stop = room + uint64(cursor[i, 1]), room + here
        if ids[stop - uint64(1)] < target:
            j = stop
        else:
            while j + uint64(8) < stop and ids[j + uint64(8)] < target:
                j += uint64(8)
            while ids[j] < target:
                j += uint64(1)
            while j < stop and ids[j] < target + 8:
                docs[n] = uint32(int64(ids[j]) - low)
                often[n] = occurrences_of(packed, uint64(at[block_now]), widths, block_now, here, j - room)
                n += uint64(1)
                j += uint64(1)
        if j < stop:
            cursor[i, 1], following[i] = int64(j - room), ids[j]
        elif own + 1 < end:
            cursor[i, 0], cursor[i, 1], cursor[i, 2] = own + 1, 0, -1
            following[i] = first[own + 1]
        else:
            cursor[i, 1], following[i] = int64(here), NEVER
    return n
