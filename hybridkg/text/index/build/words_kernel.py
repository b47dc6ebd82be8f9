"""The splitter of plain text into words, compiled. Import it through `hybridkg.compute.kernels` only.

Splits texts of Latin letters (to U+024F), common punctuation, arrows and mathematical signs as `split_words`
(hybridkg.text.analysis.words) does, and numbers the words in the order of their first occurrence.
tests/text/index/build/test_builder_words.py compares the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, int64, njit, uint8, uint32, uint64, void

from hybridkg.text.index.codec.cursor_kernel import OPTIONS
from hybridkg.text.index.codec.cursor_kernel import readonly as _input

_LETTER, _DIGIT, _APOSTROPHE, _POINT = 1, 2, 3, 4


def _classes() -> Any:
    classes = np.zeros(256, np.uint8)
    for i in range(128):
        if chr(i).isalnum():
            classes[i] = _DIGIT if chr(i).isdigit() else _LETTER
    classes[128:] = _LETTER  # `plain` leaves no other bytes of longer characters
    classes[ord("'")] = _APOSTROPHE
    classes[ord(".")] = classes[ord(",")] = _POINT
    return classes


_CLASSES = _classes()


def _signs() -> Any:
    signs = np.zeros(256, np.bool_)
    for i in range(0xA0, 0xC0):
        signs[i] = not chr(i).isalnum()
    return signs


_SIGNS = _signs()
"""Second bytes of U+00A0 to U+00BF that are not letters, digits or fractions."""


@njit(int64(_input(uint8), int64, int64, uint8[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def plain(text: Any, begin: Any, end: Any, out: Any) -> Any:
    """Copies a text with apostrophes and blanks for other signs; returns the length, or -1 for other letters."""
    n = 0
    i = begin
    while i < end:
        byte = text[i]
        if byte < 0x80:
            out[n] = byte
            i += 1
        elif byte >= 0xC3 and byte <= 0xC9:
            after = text[i + 1]
            if byte == 0xC9 and after > 0x8F:
                return -1
            if byte == 0xC3 and after in (0x97, 0xB7):  # the signs for times and divided by
                out[n] = 0x20
            else:
                out[n] = byte
                n += 1
                out[n] = after
            i += 2
        elif byte == 0xC2:
            if not _SIGNS[text[i + 1]]:
                return -1
            out[n] = 0x20
            i += 2
        elif byte == 0xE2:
            block, mark = text[i + 1], text[i + 2]
            if block == 0x80 and mark == 0x99:
                out[n] = 0x27
            elif (
                (block == 0x80 and 0x90 <= mark <= 0xA7) or (0x87 <= block <= 0x8B) or (block == 0x86 and mark >= 0x90)
            ):
                out[n] = 0x20
            else:
                return -1
            i += 3
        else:
            return -1
        n += 1
    return n


@njit(int64(uint8[::1], int64, int64), inline="always", **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def word_end(text: Any, begin: Any, size: Any) -> Any:
    """The end of the word that begins at `begin`."""
    i = begin
    while i + 1 < size:
        kind = _CLASSES[text[i + 1]]
        after = _CLASSES[text[i + 2]] if i + 2 < size else 0
        if kind in (_LETTER, _DIGIT):
            i += 1
        elif (kind == _APOSTROPHE and after in (_LETTER, _DIGIT)) or (
            kind == _POINT and after == _DIGIT and _CLASSES[text[i]] == _DIGIT
        ):
            i += 2
        else:
            break
    return i + 1


@njit(uint64(uint64, uint64, uint64), inline="always", **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def _place(key: Any, secret: Any, mask: Any) -> Any:
    mixed = key * secret
    return (mixed ^ (mixed >> uint64(32))) & mask


_INTERN = int64(
    uint8[::1], int64, int64, uint64, uint64[::1], int32[::1], uint64[::1], int64[::1], uint8[::1], int64
)  # fmt: skip


@njit(_INTERN, inline="always", **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def intern(
    text: Any, begin: Any, end: Any, secret: Any, table: Any, codes: Any, keys: Any, offsets: Any, letters: Any,
    n_words: Any,
) -> Any:  # fmt: skip
    """The number of a word; `n_words` for a new one, which is added.

    The key of a word of up to eight letters is the letters; of a longer one a hash, after which its letters are
    compared. So most words take one cache miss. `codes` has twice the number of the word at each place of the table,
    one more for a longer word, and -1 for a free place.
    """
    size = end - begin
    key = uint64(0)
    if size <= 8:
        for i in range(begin, end):
            key = (key << uint64(8)) | uint64(text[i])
    else:
        key = secret
        for i in range(begin, end):
            key = (key ^ uint64(text[i])) * secret
            key ^= key >> uint64(31)
    longer = int64(1) if size > 8 else int64(0)
    mask = uint64(len(table) - 1)
    place = _place(key, secret, mask)
    while codes[place] >= 0:
        if table[place] == key and codes[place] & 1 == longer:
            number = codes[place] >> 1
            same = True
            if longer:
                start = offsets[number]
                same = offsets[number + 1] - start == size
                i = 0
                while same and i < size:
                    same = letters[start + i] == text[begin + i]
                    i += 1
            if same:
                return number
        place = (place + uint64(1)) & mask
    table[place] = key
    codes[place] = 2 * n_words + longer
    keys[n_words] = key
    start = offsets[n_words]
    for i in range(size):
        letters[start + i] = text[begin + i]
    offsets[n_words + 1] = start + size
    return n_words


_SPLIT = int64(
    _input(uint8), _input(int64), int64, uint8[::1], uint64, uint64[::1], int32[::1], uint64[::1], int64[::1],
    uint8[::1], int64[::1], uint32[::1], int64[::1],
)  # fmt: skip


@njit(_SPLIT, **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def split(
    text: Any, ends: Any, first: Any, scratch: Any, secret: Any, table: Any, codes: Any, keys: Any, offsets: Any,
    letters: Any, sizes: Any, out: Any, counts: Any,
) -> Any:  # fmt: skip
    """Splits texts from `first` on until the arrays of words are full; returns the next text.

    `sizes` has the number of distinct words and of words in `out`. `counts` gets the words of each text, -1 for one
    that is not plain.
    """
    n_words, n_out = sizes[0], sizes[1]
    for i in range(first, len(ends)):
        begin = ends[i - 1] if i else 0
        max_words = n_words + (ends[i] - begin) // 2 + 1
        if max_words >= len(keys) or 2 * max_words > len(table) or offsets[n_words] + ends[i] - begin > len(letters):
            sizes[0], sizes[1] = n_words, n_out
            return i
        size = plain(text, begin, ends[i], scratch)
        counts[i] = -1
        if size < 0:
            continue
        before = n_out
        at = 0
        while at < size:
            if _CLASSES[scratch[at]] in (_LETTER, _DIGIT):
                end = word_end(scratch, at, size)
                number = intern(scratch, at, end, secret, table, codes, keys, offsets, letters, n_words)
                if number == n_words:
                    n_words += 1
                out[n_out] = number
                n_out += 1
                at = end
            else:
                at += 1
        counts[i] = n_out - before
    sizes[0], sizes[1] = n_words, n_out
    return len(ends)


_REHASH = void(uint64, uint64[::1], int64[::1], int64, uint64[::1], int32[::1])


@njit(_REHASH, **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def rehash(secret: Any, keys: Any, offsets: Any, n_words: Any, table: Any, codes: Any) -> None:
    """Fills a table, -1 in `codes` before, with the first `n_words` words."""
    mask = uint64(len(table) - 1)
    for word in range(n_words):
        place = _place(keys[word], secret, mask)
        while codes[place] >= 0:
            place = (place + uint64(1)) & mask
        table[place] = keys[word]
        longer = 1 if offsets[word + 1] - offsets[word] > 8 else 0
        codes[place] = 2 * word + longer
