"""Tests and orders of many strings by their UTF-8, which has the order of the code points (Unicode Standard, 5.17)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

NOT_LEADING, LEADING_BITS = 0x80, 0xC0
"""The two highest bits of a byte of UTF-8 that does not begin a character."""

SAMPLE = 1 << 16
"""Bytes that are counted to look for rare bytes first."""


def decoded(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """The strings of texts in UTF-8 that are one run of bytes, as `gathered` has them; about 100 ns each.

    >>> decoded(np.frombuffer("onezwölf".encode(), np.uint8), np.array([0, 3, 9, 9]))
    ['one', 'zwölf', '']
    """
    text = bytes(data).decode()
    if len(text) < len(data):
        leading = (data & LEADING_BITS) != NOT_LEADING
        offsets = np.concatenate([[0], np.cumsum(leading)])[offsets]
    return [text[first:end] for first, end in pairwise(offsets.tolist())]


def containing(buffer: Bytes, ends: NDArray[Any], text: bytes) -> Mask:
    """Which of the strings, one after another with these ends, contain a text of at least one byte.

    >>> containing(np.frombuffer(b"redread", np.uint8), np.array([3, 7]), b"ea").tolist()
    [False, True]
    """
    mask = np.zeros(len(ends), np.bool_)
    mask[_occurrences(buffer, ends, text)[1]] = True
    return mask


def first_places(buffer: Bytes, ends: NDArray[Any], text: bytes) -> NDArray[np.intp]:
    """Where in the buffer each of the strings has a text of at least one byte for the first time; -1 for never.

    >>> first_places(np.frombuffer(b"redreaded", np.uint8), np.array([3, 9]), b"e").tolist()
    [1, 4]
    """
    found = np.full(len(ends), -1, np.intp)
    places, owner = _occurrences(buffer, ends, text)
    found[owner[::-1]] = places[::-1]  # of several values for one place, numpy keeps the last
    return found


def _occurrences(buffer: Bytes, ends: NDArray[Any], text: bytes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The places of a text within the strings, ascending, and the number of the string of each."""
    n = len(text)
    if len(buffer) < n:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    seen = np.bincount(buffer[:SAMPLE], minlength=256)
    order = sorted(range(n), key=lambda i: (seen[text[i]], i))  # rare bytes first
    at = np.flatnonzero(buffer[order[0] : len(buffer) - n + 1 + order[0]] == text[order[0]])
    for i in order[1:]:
        at = at[buffer[at + i] == text[i]]
    owner = ends.searchsorted(at, side="right")
    inside = at + n <= ends[owner]
    return at[inside], owner[inside]


def ending_with(buffer: Bytes, ends: NDArray[Any], lengths: NDArray[Any], text: bytes) -> Mask:
    """Which of the strings with these ends and lengths in bytes end with a text."""
    return _matching(buffer, ends - len(text), lengths, text)


def starting_with(buffer: Bytes, starts: NDArray[Any], lengths: NDArray[Any], text: bytes) -> Mask:
    """Which of the strings with these starts and lengths in bytes start with a text.

    >>> starting_with(np.frombuffer(b"redread", np.uint8), np.array([0, 3]), np.array([3, 4]), b"rea").tolist()
    [False, True]
    """
    return _matching(buffer, starts, lengths, text)


def _matching(buffer: Bytes, first: NDArray[Any], lengths: NDArray[Any], text: bytes) -> Mask:
    """Which strings are long enough and have a text from a place on."""
    at = np.flatnonzero(lengths >= len(text))
    for i, byte in enumerate(text):
        at = at[buffer[first[at] + i] == byte]
    mask = np.zeros(len(lengths), np.bool_)
    mask[at] = True
    return mask


def compared(buffer: Bytes, starts: NDArray[Any], ends: NDArray[Any], text: bytes) -> NDArray[np.int8]:
    """-1, 0 or 1 for each string below, equal to or above a text, by code points.

    >>> compared(np.frombuffer(b"redread", np.uint8), np.array([0, 3, 3]), np.array([3, 7, 3]), b"red").tolist()
    [0, -1, -1]
    """
    sign, at, lengths = np.zeros(len(starts), np.int8), np.arange(len(starts)), ends - starts
    for i, byte in enumerate(text):
        is_longer = lengths[at] > i
        sign[at[~is_longer]] = -1
        at = at[is_longer]
        own = buffer[starts[at] + i]
        sign[at[own < byte]], sign[at[own > byte]] = -1, 1
        at = at[own == byte]
    sign[at[lengths[at] > len(text)]] = 1
    return sign


def owners(mask: Mask, offsets: NDArray[Any]) -> NDArray[np.intp]:
    """The string of each byte that a mask has; string i is offsets[i]..offsets[i + 1]."""
    return offsets.searchsorted(np.flatnonzero(mask), side="right") - 1
