"""Changes of a few document blocks, compiled. Import it through `hybridkg.compute.kernels` only.

`level_edits.py` has the numpy reference, which gives the same bytes.
"""

from __future__ import annotations

from typing import Any

from numba import boolean, int64, njit, uint8, uint64, void

from hybridkg.text.index.codec.cursor_kernel import INLINE, OPTIONS, popcount
from hybridkg.text.index.codec.cursor_kernel import readonly as _input
from hybridkg.text.index.topk.restrict_kernel import restrict

__all__ = ["edit", "ranks", "restrict"]


@njit(void(_input(uint64, 2), _input(int64), _input(int64), _input(int64), int64[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def ranks(members: Any, rows: Any, ends: Any, blocks: Any, out: Any) -> None:
    """Fills the ranks of blocks, as `level_edits.ranks_of`."""
    for i in range(len(rows)):
        row, word, rank = rows[i], uint64(0), uint64(0)
        for j in range(ends[i], ends[i + 1]):
            block = uint64(blocks[j])
            while word < block >> uint64(6):
                rank += popcount(members[row, word])
                word += uint64(1)
            below = (uint64(1) << (block & uint64(63))) - uint64(1)
            out[j] = rank + popcount(members[row, word] & below)


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _copy(source: Any, begin: Any, first: Any, last: Any, out: Any, at: Any, place: Any, halves: Any) -> None:
    """Copies the levels first..last-1 of a part to the levels from `place` on, which are 0."""
    if not halves:
        to = at + place
        for j in range(last - first):
            out[to + j] = source[begin + first + j]
        return
    if place & 1 and first < last:
        out[at + (place >> 1)] |= uint8((source[begin + (first >> 1)] >> 4 * (first & 1) & 15) << 4)
        first += 1
        place += 1
    n, low, to = (last - first) >> 1, begin + (first >> 1), at + (place >> 1)
    if first & 1:
        for j in range(n):
            out[to + j] = uint8(source[low + j] >> 4) | uint8(source[low + j + 1] << 4)
    else:
        for j in range(n):
            out[to + j] = source[low + j]
    if (last - first) & 1 and first < last:
        first += 2 * n
        out[to + n] = uint8(source[begin + (first >> 1)] >> 4 * (first & 1) & 15)


@njit(
    void(
        _input(uint8), _input(int64), _input(int64), _input(boolean), _input(int64), _input(int64), _input(boolean),
        _input(boolean), _input(uint8, 2), _input(int64), _input(int64), uint8[::1], _input(int64),
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def edit(
    levels: Any, begins: Any, sizes: Any, halves: Any, ends: Any, ranks: Any, before: Any, after: Any, values: Any,
    words: Any, parts: Any, out: Any, at: Any,
) -> None:  # fmt: skip
    """Fills parts of the levels of words afterwards, 0 before, as `level_edits.edited_levels`."""
    for i in range(len(words)):
        begin, to, is_half, own = begins[i], at[i], halves[i], values[parts[i]]
        source = place = 0
        for j in range(ends[words[i]], ends[words[i] + 1]):
            rank = ranks[j]
            _copy(levels, begin, source, rank, out, to, place, is_half)
            place += rank - source
            source = rank + int64(before[j])
            if after[j]:
                if is_half:
                    out[to + (place >> 1)] |= uint8(own[j] << 4 * (place & 1))
                else:
                    out[to + place] = own[j]
                place += 1
        _copy(levels, begin, source, sizes[i], out, to, place, is_half)
