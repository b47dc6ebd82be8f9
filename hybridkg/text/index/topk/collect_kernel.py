"""Postings of a list in a window of ids. Import it from kernel modules only: it imports numba.

Each posting gives its id, relative to the window, to `docs` and its tf to `tf`; each function returns their number.
Cursors are those of `cursor_kernel.open_lists`.
"""

from __future__ import annotations

from typing import Any

from numba import int64, njit, uint32, uint64

from hybridkg.text.index.codec.cursor_kernel import BLOCK, INLINE, NEVER, ROOM, seek_plain
from hybridkg.text.index.codec.packing_kernel import occurrences_of, unpack_ids, unpack_occurrences

SOME = 16
"""Up to this many tf of a posting block are read one by one; for more, the block is unpacked."""


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def collect_plain(
    i: Any, plain: Any, plain_tf: Any, low: Any, high: Any, cursor: Any, following: Any, docs: Any, tf: Any
) -> Any:  # fmt: skip
    """The postings of a plain list."""
    begin = cursor[i, 1]
    end = seek_plain(high, plain, begin, cursor[i, 2])
    n = uint64(0)
    for j in range(uint64(begin), uint64(end)):
        docs[n], tf[n] = uint32(uint64(plain[j]) - uint64(low)), plain_tf[j]
        n += uint64(1)
    cursor[i, 1] = end
    following[i] = plain[end] if end < cursor[i, 2] else NEVER
    return n


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def collect_dense(
    i: Any, packed: Any, first: Any, at: Any, widths: Any, first_block: Any, size: Any, low: Any, high: Any,
    cursor: Any, following: Any, ids: Any, block_tf: Any, docs: Any, tf: Any,
) -> Any:  # fmt: skip
    """The postings of a packed list, a posting block at a time."""
    room, n, start, stop_id = uint64(i * ROOM), uint64(0), uint64(low), uint64(high)
    while following[i] < high:
        block = uint64(cursor[i, 0])
        n_block = uint64(min(BLOCK, size - (int64(block) - first_block) * BLOCK))
        if cursor[i, 2] < 0:
            unpack_ids(packed, first[block], uint64(at[block]), widths, block, n_block, ids, room)
            cursor[i, 1], cursor[i, 2], cursor[i, 3] = 0, n_block, 0
        begin, stop = room + uint64(cursor[i, 1]), room + n_block
        while begin < stop and ids[begin] < start:
            begin += uint64(1)
        if ids[stop - uint64(1)] >= stop_id:
            stop = begin
            while ids[stop] < stop_id:
                stop += uint64(1)
        before = n
        for j in range(begin, stop):
            docs[n], tf[n] = uint32(uint64(ids[j]) - start), uint32(j)
            n += uint64(1)
        if n - before > uint64(SOME) and cursor[i, 3] == 0:
            unpack_occurrences(packed, uint64(at[block]), widths, block, n_block, block_tf, room)
            cursor[i, 3] = 1
        if cursor[i, 3]:
            for j in range(before, n):
                tf[j] = block_tf[tf[j]]
        else:
            for j in range(before, n):
                tf[j] = occurrences_of(packed, uint64(at[block]), widths, block, n_block, uint64(tf[j]) - room)
        next_place = int64(stop - room)
        cursor[i, 1] = next_place
        if next_place < cursor[i, 2]:
            following[i] = ids[stop]
        elif int64(block) + 1 < first_block + (size + BLOCK - 1) // BLOCK:
            cursor[i, 0], cursor[i, 1], cursor[i, 2] = block + uint64(1), 0, -1
            following[i] = first[block + uint64(1)]
        else:
            following[i] = NEVER
    return n
