"""Look-up of words in a segment, compiled. Import it through `hybridkg.compute.kernels` only."""

from __future__ import annotations

from typing import Any

from numba import int64, njit, uint8, uint32, uint64
from numba.core import types

from hybridkg.text.index.codec.cursor_kernel import HELPER, OPTIONS
from hybridkg.text.index.codec.cursor_kernel import readonly as _input

_TWO: Any = types.Tuple((int64, int64))  # type: ignore[no-untyped-call, unused-ignore]

END = 0x0A
"""Terminator of each term; no word contains it."""

MISSING, DAMAGED = -1, -2
"""In place of the number of a term: the index lacks it; what the index has of it or beside it is damaged."""

BESIDE = 2
"""Terms that are checked on each side of the place of a missing one, as in `SortedTerms`."""


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _missing_at(place: Any, prefixes: Any, offsets: Any, text: Any) -> Any:
    """MISSING, or DAMAGED where the terms around a place are not in order or not those of their prefixes."""
    for number in range(max(0, place - BESIDE), min(len(prefixes), place + BESIDE)):
        at, stop = int64(offsets[number]), int64(offsets[number + 1])
        if at < 0 or stop <= at or stop > len(text):
            return DAMAGED
        prefix = uint64(0)
        for i in range(8):
            prefix = (prefix << uint64(8)) | uint64(text[at + i] if at + i < stop else 0)
        if prefix != prefixes[number]:
            return DAMAGED
        if number == max(0, place - BESIDE):
            continue
        before, i = int64(offsets[number - 1]), 0
        while before + i < at and at + i < stop and text[before + i] == text[at + i]:
            i += 1
        if at + i == stop or (before + i < at and text[before + i] > text[at + i]):
            return DAMAGED
    return MISSING


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _number(wanted: Any, begin: Any, end: Any, prefixes: Any, offsets: Any, text: Any) -> Any:
    """The number of the term wanted[begin:end], MISSING or DAMAGED; as `TermDictionary.number`."""
    prefix = uint64(0)
    for i in range(8):
        prefix = (prefix << uint64(8)) | uint64(wanted[begin + i] if begin + i < end else 0)
    low, high = 0, len(prefixes)
    while low < high:
        middle = (low + high) >> 1
        if prefixes[middle] < prefix:
            low = middle + 1
        else:
            high = middle
    if end - begin > 8:  # several may begin alike
        high, step = low, 1
        while high < len(prefixes) and prefixes[high] == prefix:
            high, step = min(high + step, len(prefixes)), 2 * step
        while low < high:
            middle = (low + high) >> 1
            at, stop = int64(offsets[middle]), int64(offsets[middle + 1])
            before = prefixes[middle] == prefix
            if before:
                if at < 0 or stop <= at or stop > len(text):
                    return DAMAGED
                i = 0
                while i < end - begin and at + i < stop and text[at + i] == wanted[begin + i]:
                    i += 1
                before = i < end - begin and (at + i == stop or text[at + i] < wanted[begin + i])
            if before:
                low = middle + 1
            else:
                high = middle
    if low == len(prefixes) or prefixes[low] != prefix:
        return _missing_at(low, prefixes, offsets, text)
    at, stop = int64(offsets[low]), int64(offsets[low + 1])
    if at < 0 or stop > len(text):
        return DAMAGED
    if stop - at != end - begin:
        return _missing_at(low, prefixes, offsets, text)
    for i in range(end - begin):
        if text[at + i] != wanted[begin + i]:
            return _missing_at(low, prefixes, offsets, text)
    return low


@njit(
    _TWO(
        _input(uint8), int64, _input(int64), int64, _input(uint64), _input(uint64), _input(uint8), _input(uint32),
        _input(uint32), _input(uint32), _input(uint32), _input(uint8), _input(uint32), int64[::1],
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def look_up(
    wanted: Any, n_terms: Any, fields: Any, n_fields: Any, prefixes: Any, offsets: Any, text: Any, postings: Any,
    tokens: Any, blocks: Any, set_offsets: Any, set_fields: Any, set_entities: Any, found: Any,
) -> Any:  # fmt: skip
    """Posting lists and statistics of words.

    Args beyond the arrays `terms.*`, `lists.*` and `terms.sets.*` of the segment:
        wanted: uint8[...], the UTF-8 of the terms, each followed by END.
        fields: int64[f], numbers of the queried fields.
        n_fields: of the index, at most 8.
        found: int64[t * (2 + 6 * f)], written: the number of each term, MISSING or DAMAGED; its df in any of the
            fields; cf[t, f]; and [5, l], the term, field, first block, 0 and postings of each non-empty list. numba
            calls Python for each array that it returns, which takes as long as looking up a word.

    Returns:
        l, and the postings in all lists.
    """
    numbers, df = found[:n_terms], found[n_terms : 2 * n_terms]
    width, begin_lists = n_terms * len(fields), n_terms * (2 + len(fields))
    cf, lists = found[2 * n_terms : begin_lists], found[begin_lists:]
    mask, n, begin, n_postings = 0, int64(0), int64(0), int64(0)
    for f in range(len(fields)):
        mask |= 1 << fields[f]
    df[:], cf[:] = 0, 0
    for t in range(n_terms):
        end = begin
        while wanted[end] != END:
            end += 1
        number = _number(wanted, begin, end, prefixes, offsets, text)
        numbers[t], begin = number, end + 1
        if number < 0:
            continue
        largest = total = int64(0)
        for f in range(len(fields)):
            list_number = number * n_fields + fields[f]
            size = int64(postings[list_number + 1]) - int64(postings[list_number])
            cf[t * len(fields) + f] = int64(tokens[list_number + 1]) - int64(tokens[list_number])
            largest, total = max(largest, size), total + size
            if size:
                lists[n], lists[width + n], lists[2 * width + n] = t, f, blocks[list_number]
                lists[3 * width + n], lists[4 * width + n] = 0, size
                n += 1
                n_postings += size
        for i in range(int64(set_offsets[number]), min(int64(set_offsets[number + 1]), len(set_fields))):
            if int64(set_fields[i]) & mask:
                df[t] += set_entities[i]
        if df[t] < largest or df[t] > total:
            numbers[t] = DAMAGED
    for row in range(1, 5):  # rows of `width` become rows of l
        for i in range(n):
            lists[row * n + i] = lists[row * width + i]
    return n, n_postings
