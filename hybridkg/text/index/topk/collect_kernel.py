"""Compiled taking of the postings of a list in a window of ids. Import it from kernel modules only: it imports numba.

What is taken goes to `docs`, counted from the beginning of the window, and the numbers of occurrences to `often`.
Cursors are those of lists_kernel.py.
"""

from __future__ import annotations

from typing import Any

from numba import int64, njit, uint32, uint64

from hybridkg.text.index.codec.cursor_kernel import BLOCK, INLINE, NEVER, ROOM, seek_plain
from hybridkg.text.index.codec.packing_kernel import occurrences_of, unpack_ids, unpack_occurrences

SOME = 16
"""So many numbers of occurrences are read one by one; of more, the whole block is unpacked."""


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def collect_plain(
    i: Any, plain: Any, plain_tf: Any, low: Any, high: Any, cursor: Any, following: Any, docs: Any, often: Any
) -> Any:  # fmt: skip
    """Takes the postings of a plain list in a window; returns how many."""
    begin = cursor[i, 1]
    end = seek_plain(high, plain, begin, cursor[i, 2])
    n = uint64(0)
    for j in range(uint64(begin), uint64(end)):
        docs[n], often[n] = uint32(uint64(plain[j]) - uint64(low)), plain_tf[j]
        n += uint64(1)
    cursor[i, 1] = end
    following[i] = plain[end] if end < cursor[i, 2] else NEVER
    return n


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def collect_dense(
    i: Any, packed: Any, first: Any, at: Any, widths: Any, block: Any, size: Any, low: Any, high: Any, cursor: Any,
    following: Any, ids: Any, tf: Any, docs: Any, often: Any,
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
