"""Restriction of posting lists to candidates, compiled. Import it through `hybridkg.compute.kernels` only."""

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
    packed: Any, first: Any, at: Any, widths: Any, lists: Any, plain: Any, plain_tf: Any, candidates: Any,
    remaining: Any, out_ids: Any, out_tf: Any,
) -> Any:  # fmt: skip
    """The postings of the candidates; only the posting blocks that may contain one are unpacked.

    Args beyond the segment and the lists:
        candidates: uint32[...], ascending, distinct.
        remaining: int64[5, lists], gets the non-empty lists, all plain; as `lists`.
        out_ids, out_tf: uint32[...], get their postings; for each list room for min(postings, candidates).

    Returns:
        The number of remaining lists, and of their postings.
    """
    ids, n_candidates, n_lists, n = np.empty(ROOM, np.uint32), len(candidates), 0, 0
    for i in range(lists.shape[1]):
        list_begin, first_block, postings, w = n, lists[2, i], lists[4, i], 0
        if first_block < 0:
            j, end = lists[3, i], lists[3, i] + postings
            while w < n_candidates and j < end:
                j = seek_plain(int64(candidates[w]), plain, j, end)
                if j < end and plain[j] == candidates[w]:
                    out_ids[n], out_tf[n] = plain[j], plain_tf[j]
                    n += 1
                w += 1
        else:
            block, end = first_block, first_block + (postings + BLOCK - 1) // BLOCK
            while w < n_candidates:
                block = seek_block(int64(candidates[w]), first, block, end)
                size, b, j = uint64(min(BLOCK, postings - (block - first_block) * BLOCK)), uint64(block), uint64(0)
                unpack_ids(packed, first[b], uint64(at[b]), widths, b, size, ids, uint64(0))
                last = ids[size - uint64(1)]
                while w < n_candidates and candidates[w] <= last:
                    while j + uint64(8) < size and ids[j + uint64(8)] < candidates[w]:
                        j += uint64(8)
                    while ids[j] < candidates[w]:
                        j += uint64(1)
                    if ids[j] == candidates[w]:
                        out_ids[n], out_tf[n] = ids[j], occurrences_of(packed, uint64(at[b]), widths, b, size, j)
                        n += 1
                    w += 1
                block += 1
                if block == end:
                    break
                while w < n_candidates and candidates[w] < first[block]:
                    w += 1
        if n > list_begin:
            remaining[0, n_lists], remaining[1, n_lists], remaining[2, n_lists] = lists[0, i], lists[1, i], -1
            remaining[3, n_lists], remaining[4, n_lists] = list_begin, n - list_begin
            n_lists += 1
    return n_lists, n
