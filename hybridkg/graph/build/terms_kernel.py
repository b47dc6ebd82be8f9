"""The compiled sort and merge of terms. Import it through `hybridkg.compute.kernels` only: importing it compiles it.

numbering.py has the reference implementation (tests/graph/build/test_projection_build.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, float64, int64, njit, uint8, uint32, uint64, void
from numba.core.types import Array

SMALL = 16
"""Ranges of at most this size are sorted by insertion."""


def _input(dtype: Any) -> Any:
    return Array(dtype, 1, "C", readonly=True)


@njit(uint64(_input(uint8), int64, int64), inline="always", nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _word(letters: Any, begin: Any, end: Any) -> Any:
    """Eight bytes as a big-endian number, padded with zeros after the end."""
    if begin + 8 <= end:
        return (
            (uint64(letters[begin]) << uint64(56))
            | (uint64(letters[begin + 1]) << uint64(48))
            | (uint64(letters[begin + 2]) << uint64(40))
            | (uint64(letters[begin + 3]) << uint64(32))
            | (uint64(letters[begin + 4]) << uint64(24))
            | (uint64(letters[begin + 5]) << uint64(16))
            | (uint64(letters[begin + 6]) << uint64(8))
            | uint64(letters[begin + 7])
        )
    word = uint64(0)
    for i in range(begin, begin + 8):
        word = (word << uint64(8)) | (uint64(letters[i]) if i < end else uint64(0))
    return word


@njit(int64(_input(uint8), int64, int64, _input(uint8), int64, int64), nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _compare(left: Any, i: Any, i_end: Any, right: Any, j: Any, j_end: Any) -> Any:
    """The byte order of two strings: below 0, 0 or above 0."""
    while i + 8 <= i_end and j + 8 <= j_end:
        a, b = _word(left, i, i_end), _word(right, j, j_end)
        if a != b:
            return int64(-1) if a < b else int64(1)
        i += 8
        j += 8
    while i < i_end and j < j_end:
        if left[i] != right[j]:
            return int64(left[i]) - int64(right[j])
        i += 1
        j += 1
    return (i_end - i) - (j_end - j)


@njit(void(uint64[::1], uint32[::1], int64, int64, int64[::1]), nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _sort_words(words: Any, order: Any, begin: Any, end: Any, stack: Any) -> None:
    """Sorts a range of words together with their values; `stack` has room for 128 ranges."""
    top = 0
    stack[0], stack[1] = begin, end
    while top >= 0:
        low, high = stack[2 * top], stack[2 * top + 1]
        top -= 1
        while high - low > SMALL:
            middle = (low + high) >> 1
            a, b, c = words[low], words[middle], words[high - 1]
            pivot = max(min(a, b), min(max(a, b), c))
            i, j = low, high - 1
            while i <= j:
                while words[i] < pivot:
                    i += 1
                while words[j] > pivot:
                    j -= 1
                if i <= j:
                    words[i], words[j] = words[j], words[i]
                    order[i], order[j] = order[j], order[i]
                    i += 1
                    j -= 1
            # The larger part waits, so the stack stays below 64 ranges.
            top += 1
            if j + 1 - low > high - i:
                stack[2 * top], stack[2 * top + 1] = low, j + 1
                low = i
            else:
                stack[2 * top], stack[2 * top + 1] = i, high
                high = j + 1
        for i in range(low + 1, high):
            word, number = words[i], order[i]
            j = i
            while j > low and words[j - 1] > word:
                words[j], order[j] = words[j - 1], order[j - 1]
                j -= 1
            words[j], order[j] = word, number


_SORT = void(_input(uint8), _input(int64), _input(uint32), uint32[::1], int64, int64)


@njit(_SORT, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def sort_strings(letters: Any, starts: Any, lengths: Any, order: Any, begin: Any, end: Any) -> None:
    """Sorts a range of `order`, numbers of strings, by the bytes of the strings.

    A range is sorted by its next eight bytes, then each run of equal words by the eight after these. Among equal words,
    strings that end within them come first, the shorter before the longer.
    """
    words = np.empty(end - begin, np.uint64)
    own = order[begin:end]
    stack = np.empty(256, np.int64)
    room = 1024
    waiting = np.empty((room, 3), np.int64)
    n_waiting = 1
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, end - begin, 0
    while n_waiting:
        n_waiting -= 1
        low, high, depth = waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2]
        if high - low == 2:
            a, b = own[low], own[low + 1]
            if _compare(letters, starts[a] + depth, starts[a] + lengths[a],
                        letters, starts[b] + depth, starts[b] + lengths[b]) > 0:  # fmt: skip
                own[low], own[low + 1] = b, a
            continue
        for i in range(low, high):
            number = own[i]
            words[i] = _word(letters, starts[number] + depth, starts[number] + lengths[number])
        _sort_words(words, own, low, high, stack)
        i = low
        while i < high:
            j = i + 1
            while j < high and words[j] == words[i]:
                j += 1
            if j - i > 1:
                done = i
                for k in range(i, j):  # those that end here come to the front, shortest first
                    if int64(lengths[own[k]]) <= depth + 8:
                        number = own[k]
                        own[k] = own[done]
                        place = done
                        while place > i and lengths[own[place - 1]] > lengths[number]:
                            own[place] = own[place - 1]
                            place -= 1
                        own[place] = number
                        done += 1
                if j - done > 1:
                    if n_waiting == room:
                        wider = np.empty((2 * room, 3), np.int64)
                        for k in range(room):
                            wider[k, 0], wider[k, 1], wider[k, 2] = waiting[k, 0], waiting[k, 1], waiting[k, 2]
                        waiting = wider
                        room *= 2
                    waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2] = done, j, depth + 8
                    n_waiting += 1
            i = j


_ORDER = int64(_input(uint8), _input(int64), _input(uint32), _input(float64), _input(uint32), int64, int64)


@njit(_ORDER, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _order(letters: Any, starts: Any, lengths: Any, values: Any, ranks: Any, a: Any, b: Any) -> Any:
    """The order of two terms of one class."""
    if values[a] != values[b]:
        return int64(-1) if values[a] < values[b] else int64(1)
    if ranks[a] != ranks[b]:
        return int64(-1) if ranks[a] < ranks[b] else int64(1)
    return _compare(letters, starts[a], starts[a] + lengths[a], letters, starts[b], starts[b] + lengths[b])


_SIFT = void(
    _input(uint8), _input(int64), _input(uint32), _input(float64), _input(uint32), _input(uint32), _input(int64),
    int64[::1], int64[::1], int64, int64,
)  # fmt: skip


@njit(_SIFT, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _sift_up(
    letters: Any, starts: Any, lengths: Any, values: Any, ranks: Any, order: Any, bases: Any,
    cursors: Any, heap: Any, place: Any, run: Any,
) -> None:  # fmt: skip
    term = bases[run] + int64(order[cursors[run]])
    while place:
        parent = (place - 1) >> 1
        other = bases[heap[parent]] + int64(order[cursors[heap[parent]]])
        if _order(letters, starts, lengths, values, ranks, other, term) <= 0:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = run


@njit(_SIFT, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _sift_down(
    letters: Any, starts: Any, lengths: Any, values: Any, ranks: Any, order: Any, bases: Any,
    cursors: Any, heap: Any, size: Any, run: Any,
) -> None:  # fmt: skip
    """Inserts a run at the free top of the heap."""
    term = bases[run] + int64(order[cursors[run]])
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        least = bases[heap[child]] + int64(order[cursors[heap[child]]])
        if child + 1 < size:
            other = bases[heap[child + 1]] + int64(order[cursors[heap[child + 1]]])
            if _order(letters, starts, lengths, values, ranks, other, least) < 0:
                child += 1
                least = other
        if _order(letters, starts, lengths, values, ranks, term, least) <= 0:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = run


_MERGE = int64(
    _input(uint8), _input(int64), _input(uint32), _input(float64), _input(uint32), _input(uint32), _input(int64),
    int64[::1], _input(int64), int64[::1], int64[::1], boolean,
    _input(uint8), _input(uint64), int64, uint32[::1], int64[::1], int64,
)  # fmt: skip


@njit(_MERGE, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def merge(
    letters: Any, starts: Any, lengths: Any, values: Any, ranks: Any, order: Any, bases: Any,
    cursors: Any, ends: Any, heap: Any, state: Any, fresh: Any,
    known_letters: Any, known_offsets: Any, skip: Any, ids: Any, out: Any, most_bytes: Any,
) -> Any:  # fmt: skip
    """Merges the terms of one class over all runs, and numbers them; equal terms get one id.

    `order` concatenates the sorted runs, as term numbers relative to bases[run]; the class of each run is
    cursors[run]..ends[run]. `heap` has one place for each run. `state`: runs in the heap, the last term (-1 for none),
    its id, the next id, the next known term, the end of the known terms. A known term (without its first `skip` bytes)
    has its number as id; other terms are written to `out`. Returns the number of terms in `out`, which is full, or has
    `most_bytes`, unless the heap is empty.
    """
    n_heap = state[0]
    if fresh:
        for run in range(len(cursors)):
            if cursors[run] < ends[run]:
                n_heap += 1
                _sift_up(letters, starts, lengths, values, ranks, order, bases, cursors, heap, n_heap - 1, run)
    last, last_id, next_id, known, known_end = state[1], state[2], state[3], state[4], state[5]
    n_out = 0
    n_bytes = int64(0)
    while n_heap and n_out < len(out) and n_bytes < most_bytes:
        run = heap[0]
        term = bases[run] + int64(order[cursors[run]])
        if last < 0 or _order(letters, starts, lengths, values, ranks, last, term) != 0:
            last = term
            begin, end = starts[term], starts[term] + int64(lengths[term])
            sign = int64(1)
            while known < known_end:
                sign = _compare(
                    known_letters, int64(known_offsets[known]) + skip, int64(known_offsets[known + 1]),
                    letters, begin, end,
                )  # fmt: skip
                if sign >= 0:
                    break
                known += 1
            if sign == 0 and known < known_end:
                last_id = known
            else:
                last_id = next_id
                next_id += 1
                out[n_out] = term
                n_out += 1
                n_bytes += end - begin
        ids[term] = last_id
        cursors[run] += 1
        if cursors[run] == ends[run]:
            n_heap -= 1
            run = heap[n_heap]
        if n_heap:
            _sift_down(letters, starts, lengths, values, ranks, order, bases, cursors, heap, n_heap, run)
    state[0], state[1], state[2], state[3], state[4] = n_heap, last, last_id, next_id, known
    return n_out


_GATHER = int64(_input(uint8), _input(int64), _input(uint32), int64[::1], uint8[::1])


@njit(_GATHER, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def gather(letters: Any, starts: Any, lengths: Any, terms: Any, out: Any) -> Any:
    """Writes the concatenated texts of terms; returns the number of bytes."""
    n = 0
    for i in range(len(terms)):
        start = starts[terms[i]]
        for j in range(start, start + int64(lengths[terms[i]])):
            out[n] = letters[j]
            n += 1
    return n
