"""The compiled choosing of postings. Import it through `hybridkg.compute.kernels` only: importing it compiles it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, njit, uint32, uint64
from numba.core import types

from hybridkg.text.index.codec.cursor_kernel import BLOCK, LISTS, OPTIONS, ROOM, SEGMENT, seek_block, seek_plain
from hybridkg.text.index.codec.cursor_kernel import readonly as _input
from hybridkg.text.index.codec.packing_kernel import occurrences_of, unpack_ids

_TWO: Any = types.Tuple((int64, int64))  # type: ignore[no-untyped-call, unused-ignore]


@njit(
    _TWO(*SEGMENT, *LISTS, _input(uint32), int64[:, ::1], uint32[::1], uint32[::1]),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]
def restrict(
    packed: Any, first: Any, at: Any, widths: Any, lists: Any, plain: Any, plain_tf: Any, wanted: Any,
    kept: Any, out_ids: Any, out_tf: Any,
) -> Any:  # fmt: skip
    """The postings of some entities; of packed lists only the blocks are unpacked in which these may be.

    What it takes beyond the segment and the lists:
        wanted: uint32[...], ascending, distinct.
        kept: int64[5, lists], gets the lists that are left, all plain; as `lists`.
        out_ids, out_tf: uint32[...], get their postings; for each list room for as many as it has and are wanted.

    Returns:
        How many lists are left, and their postings.
    """
    ids, n_wanted, n_lists, n = np.empty(ROOM, np.uint32), len(wanted), 0, 0
    for i in range(lists.shape[1]):
        begin, block, size, w = n, lists[2, i], lists[4, i], 0
        if block < 0:
            j, end = lists[3, i], lists[3, i] + size
            while w < n_wanted and j < end:
                j = seek_plain(wanted[w], plain, j, end)
                if j < end and plain[j] == wanted[w]:
                    out_ids[n], out_tf[n] = plain[j], plain_tf[j]
                    n += 1
                w += 1
        else:
            own, end = block, block + (size + BLOCK - 1) // BLOCK
            while w < n_wanted:
                own = seek_block(wanted[w], first, own, end)
                here, b, j = uint64(min(BLOCK, size - (own - block) * BLOCK)), uint64(own), uint64(0)
                unpack_ids(packed, first[b], uint64(at[b]), widths, b, here, ids, uint64(0))
                last = ids[here - uint64(1)]
                while w < n_wanted and wanted[w] <= last:
                    while j + uint64(8) < here and ids[j + uint64(8)] < wanted[w]:
                        j += uint64(8)
                    while ids[j] < wanted[w]:
                        j += uint64(1)
                    if ids[j] == wanted[w]:
                        out_ids[n], out_tf[n] = ids[j], occurrences_of(packed, uint64(at[b]), widths, b, here, j)
                        n += 1
                    w += 1
                own += 1
                if own == end:
                    break
                while w < n_wanted and wanted[w] < first[own]:
                    w += 1
        if n > begin:
            kept[0, n_lists], kept[1, n_lists], kept[2, n_lists] = lists[0, i], lists[1, i], -1
            kept[3, n_lists], kept[4, n_lists] = begin, n - begin
            n_lists += 1
    return n_lists, n
