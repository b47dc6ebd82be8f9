"""Edits of packed posting lists, compiled. Import it through `hybridkg.compute.kernels` only: importing compiles it.

`list_edits.py` documents it; its numpy function is the reference and gives the same bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, njit, types, uint8, uint32, uint64

from hybridkg.text.index.codec.cursor_kernel import BLOCK, HELPER, INLINE, NEVER, OPTIONS, ROOM
from hybridkg.text.index.codec.cursor_kernel import readonly as _input
from hybridkg.text.index.codec.packing_kernel import unpack_ids, unpack_occurrences

_THREE: Any = types.UniTuple(int64, 3)  # type: ignore[no-untyped-call, unused-ignore]


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def rows_of(size: Any, width: Any) -> Any:
    """Rows of the values of a block, as `packing.rows_of`."""
    return ((size + 3) // 4 * width + 31) // 32


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _width(values: Any, n: Any) -> Any:
    every, bits = uint32(0), 0
    for j in range(uint64(n)):
        every |= values[j]
    while every:
        every >>= uint32(1)
        bits += 1
    return bits


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _put(values: Any, n: Any, width: Any, words: Any, row: Any) -> None:
    """Writes the values of a block from a row on, lane by lane."""
    end = uint64(row + rows_of(n, width))
    for lane in range(uint64(4)):
        own, bit, at = uint64(0), uint64(0), uint64(row)
        for j in range(lane, uint64(n), uint64(4)):
            own |= uint64(values[j]) << bit
            bit += uint64(width)
            if bit >= uint64(32):
                words[at * uint64(4) + lane] = uint32(own & uint64(0xFFFFFFFF))
                own, bit, at = own >> uint64(32), bit - uint64(32), at + uint64(1)
        while at < end:
            words[at * uint64(4) + lane] = uint32(own & uint64(0xFFFFFFFF))
            own, at = uint64(0), at + uint64(1)


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _copy(source: Any, begin: Any, end: Any, out: Any, at: Any) -> Any:
    """Copies elements; returns the place behind them."""
    for j in range(uint64(end - begin)):
        out[uint64(at) + j] = source[uint64(begin) + j]
    return at + end - begin


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _tokens(words: Any, at: Any, widths: Any, begin: Any, end: Any, tf: Any) -> Any:
    """The occurrences of full blocks."""
    total = (end - begin) * BLOCK
    for block in range(begin, end):
        if widths[block, 1]:
            unpack_occurrences(words, uint64(at[block]), widths, uint64(block), uint64(BLOCK), tf, uint64(0))
            for j in range(BLOCK):
                total += int64(tf[j]) - 1
    return total


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _next_is(added: Any, lists: Any, ids: Any, number: Any, limit: Any) -> Any:
    """Whether the next posting that enters belongs to a list, before the id `limit`."""
    return added < len(lists) and lists[added] == number and int64(ids[added]) < limit


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _first_from(leaving: Any, begin: Any, end: Any, entity: Any) -> Any:
    """The place of the first entity from a number on that leaves, among those of a row."""
    while begin < end:
        middle = (begin + end) >> 1
        if leaving[middle] < entity:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _new_id(old_to_new: Any, leaving: Any, ends: Any, row: Any, entity: Any) -> Any:
    """The new id of an entity; -1 for one that leaves."""
    if old_to_new.shape[1]:
        return old_to_new[row, entity]
    place = _first_from(leaving, ends[row], ends[row + 1], entity)
    return int64(-1) if place < ends[row + 1] and leaving[place] == entity else entity


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _run_end(run_ends: Any, leaving: Any, ends: Any, n_old: Any, row: Any, entity: Any) -> Any:
    """The end of the run of an entity that stays, in which ids shift by the same number and none leaves."""
    if run_ends.shape[1]:
        return run_ends[row, entity]
    place = _first_from(leaving, ends[row], ends[row + 1], entity)
    return leaving[place] if place < ends[row + 1] else n_old


@njit(
    _THREE(
        _input(int64), _input(int64), _input(uint32), _input(uint32), _input(uint32), _input(uint8, 2), _input(uint8),
        _input(int64), _input(int64, 2), _input(int64, 2), _input(int64), _input(int64), int64,
        _input(int64), _input(uint32), _input(uint32), _input(uint8), int64,
        int64[::1], int64[::1], uint32[::1], uint32[::1], uint8[:, ::1], uint32[::1], uint8[::1], uint8[::1],
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def edit_lists(
    old_df: Any, old_cf: Any, words: Any, first: Any, at: Any, widths: Any, positions: Any, row_of_field: Any,
    old_to_new: Any, run_ends: Any, leaving: Any, ends: Any, n_old: Any,
    added_lists: Any, added_ids: Any, added_tf: Any, added_positions: Any, item: Any,
    df: Any, cf: Any, out_first: Any, out_at: Any, out_widths: Any, out_words: Any, out_positions: Any, is_edited: Any,
) -> Any:  # fmt: skip
    """Fills what follows `item`, the bytes of a position; returns the blocks, rows and bytes of positions."""
    old_ids, old_tf = np.empty(ROOM, np.uint32), np.empty(ROOM, np.uint32)
    room = 2 * BLOCK + ROOM + len(added_lists)
    ids, tf, values = np.empty(room, np.uint32), np.empty(room, np.uint32), np.empty(BLOCK, np.uint32)
    block = token = out_block = rows = out_byte = added = added_token = 0
    # The positions before `copied` are written, and the whole blocks but those of the rows whole_row..whole_end-1.
    copied = whole_row = whole_end = whole_out = 0
    for number in range(len(old_df)):
        size, n = old_df[number], 0
        own_row = row_of_field[number % len(row_of_field)]
        # The positions of block `counted` begin at `token`.
        counted, end_token = block, token + old_cf[number]
        df[number], cf[number] = size, old_cf[number]
        is_done = False
        while not is_done:
            held, limit = min(size, BLOCK), int64(NEVER)
            begin = int64(first[block]) if held else int64(0)
            has_added, is_read = _next_is(added, added_lists, added_ids, number, limit), False
            # Whether nothing leaves or enters, and all ids shift by the same number.
            moved = _new_id(old_to_new, leaving, ends, own_row, begin) if held else int64(-1)
            is_same, end, run_end = moved >= 0, begin, int64(n_old)
            if is_same:
                run_end = _run_end(run_ends, leaving, ends, n_old, own_row, begin)
            if is_same and (has_added or run_end < n_old) and held > 1:
                if has_added or size <= BLOCK or int64(first[block + 1]) > run_end:
                    unpack_ids(
                        words, first[block], uint64(at[block]), widths, uint64(block), uint64(held), old_ids, uint64(0)
                    )
                    is_read, end = True, int64(old_ids[held - 1])
                is_same = end < run_end
            if is_same and has_added:
                is_same = _new_id(old_to_new, leaving, ends, own_row, end) < int64(added_ids[added])
            if is_same and n == 0 and (held == BLOCK or not has_added):
                row, gap_bits, tf_bits = int64(at[block]), int64(widths[block, 0]), int64(widths[block, 1])
                end_row = row + rows_of(held, gap_bits) + rows_of(held, tf_bits)
                if row != whole_end or rows != whole_out + whole_end - whole_row:
                    _copy(words, 4 * whole_row, 4 * whole_end, out_words, 4 * whole_out)
                    whole_row, whole_out = row, rows
                whole_end = end_row
                out_first[out_block], out_at[out_block] = moved, rows
                out_widths[out_block, 0], out_widths[out_block, 1] = gap_bits, tf_bits
                out_block, rows = out_block + 1, rows + end_row - row
            elif is_same:
                unpack_ids(words, uint32(moved), uint64(at[block]), widths, uint64(block), uint64(held), ids, uint64(n))
                unpack_occurrences(words, uint64(at[block]), widths, uint64(block), uint64(held), tf, uint64(n))
                n += held
            elif held:
                if not is_read:
                    unpack_ids(
                        words, first[block], uint64(at[block]), widths, uint64(block), uint64(held), old_ids, uint64(0)
                    )
                token += _tokens(words, at, widths, counted, block, old_tf)
                unpack_occurrences(words, uint64(at[block]), widths, uint64(block), uint64(held), old_tf, uint64(0))
                counted = block + 1
                for j in range(held):
                    own = _new_id(old_to_new, leaving, ends, own_row, int64(old_ids[j]))
                    tokens = int64(old_tf[j])
                    limit = own if own >= 0 else int64(-1)
                    if own < 0 or _next_is(added, added_lists, added_ids, number, limit):
                        out_byte = _copy(positions, copied * item, token * item, out_positions, out_byte)
                        copied, is_edited[number] = token, 1
                    while _next_is(added, added_lists, added_ids, number, limit):
                        ids[n], tf[n], n = added_ids[added], added_tf[added], n + 1
                        more = int64(added_tf[added])
                        out_byte = _copy(
                            added_positions, added_token * item, (added_token + more) * item, out_positions, out_byte
                        )
                        added, added_token = added + 1, added_token + more
                        df[number], cf[number] = df[number] + 1, cf[number] + more
                    token += tokens
                    if own < 0:
                        copied = token
                        df[number], cf[number] = df[number] - 1, cf[number] - tokens
                        continue
                    ids[n], tf[n], n = own, tokens, n + 1
            size, block, start = size - held, block + int64(held > 0), 0
            is_done = size == 0
            if is_done and _next_is(added, added_lists, added_ids, number, int64(NEVER)):
                out_byte = _copy(positions, copied * item, end_token * item, out_positions, out_byte)
                copied, is_edited[number] = end_token, 1
                while _next_is(added, added_lists, added_ids, number, int64(NEVER)):
                    ids[n], tf[n], n = added_ids[added], added_tf[added], n + 1
                    more = int64(added_tf[added])
                    out_byte = _copy(
                        added_positions, added_token * item, (added_token + more) * item, out_positions, out_byte
                    )
                    added, added_token = added + 1, added_token + more
                    df[number], cf[number] = df[number] + 1, cf[number] + more
            while n - start >= BLOCK or (is_done and n > start):
                held = min(BLOCK, n - start)
                values[0] = 0
                for j in range(1, held):
                    values[j] = ids[start + j] - ids[start + j - 1] - uint32(1)
                gap_bits = _width(values, held)
                _put(values, held, gap_bits, out_words, rows)
                out_first[out_block], out_at[out_block], out_widths[out_block, 0] = ids[start], rows, gap_bits
                rows += rows_of(held, gap_bits)
                for j in range(held):
                    values[j] = tf[start + j] - uint32(1)
                tf_bits = _width(values, held)
                _put(values, held, tf_bits, out_words, rows)
                out_widths[out_block, 1] = tf_bits
                rows += rows_of(held, tf_bits)
                out_block, start = out_block + 1, start + held
            if start:
                for j in range(start, n):
                    ids[j - start], tf[j - start] = ids[j], tf[j]
                n -= start
        token = end_token
    _copy(words, 4 * whole_row, 4 * whole_end, out_words, 4 * whole_out)
    return out_block, rows, _copy(positions, copied * item, len(positions), out_positions, out_byte)


@njit(
    types.void(
        _input(uint32), _input(uint32), _input(uint32), _input(uint8, 2), _input(int64), _input(int64),
        _input(int64), _input(uint32), int64[::1], int64[::1],
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def find_postings(
    words: Any, first: Any, at: Any, widths: Any, blocks: Any, sizes: Any, places: Any, wanted: Any,
    found: Any, before: Any,
) -> None:  # fmt: skip
    """Fills the last two arguments, the tf of each posting and the occurrences before it; held_postings.py."""
    ids, tf, other = np.empty(ROOM, np.uint32), np.empty(ROOM, np.uint32), np.empty(ROOM, np.uint32)
    own, begin, end, read, held, tokens = int64(-1), int64(0), int64(0), int64(-1), int64(0), int64(0)
    for i in range(len(places)):
        if places[i] != own:
            own = places[i]
            begin, read, tokens = blocks[own], int64(-1), int64(0)
            end = begin + (sizes[own] + BLOCK - 1) // BLOCK
        low, high = begin, end  # the last block whose first id is not above the wanted one
        while low < high:
            middle = (low + high) >> 1
            if first[middle] <= wanted[i]:
                low = middle + 1
            else:
                high = middle
        block = low - 1
        if block < begin:
            continue
        if block != read:
            tokens += _tokens(words, at, widths, begin, block, other)
            held = min(int64(BLOCK), sizes[own] - (block - blocks[own]) * BLOCK)
            unpack_ids(words, first[block], uint64(at[block]), widths, uint64(block), uint64(held), ids, uint64(0))
            unpack_occurrences(words, uint64(at[block]), widths, uint64(block), uint64(held), tf, uint64(0))
            begin = read = block
        total = tokens
        for j in range(held):
            if ids[j] >= wanted[i]:
                if ids[j] == wanted[i]:
                    found[i], before[i] = int64(tf[j]), total
                break
            total += int64(tf[j])
