"""Fuzzy term search: the terms of a vocabulary within a few edits of a word.

A filter compares lengths and character sets, folded into 64 bits: an edit changes the length by at most 1, and adds and
removes at most one member of the set each. The remaining terms, some percent, are measured exactly, all at once and
column by column (the dynamic programme of Wagner and Fischer, with the transposition of Damerau), in the diagonal band
that the few edits allow. A million terms take about 20 ms, and 0.3 s once.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

TERMS_AT_ONCE = 100_000
MAX_LENGTH = 255
"""Characters up to which lengths of terms are distinguished; analyzers cut words there."""


class NearTerms:
    """Searches terms by edit distance; the first call reads all terms.

    Args:
        offsets: unsigned[n + 1], where each term begins.
        text: uint8[...], the UTF-8 of all terms.
    """

    def __init__(self, offsets: Array, text: Array):
        self._offsets, self._text = offsets, text

    def near(self, word: str, edits: int) -> tuple[Array, Array]:
        """(numbers int64[m] ascending, edits uint8[m]) of the terms within an edit distance.

        A term needs fewer edits than either word has characters.

        >>> terms = ["fish", "fist", "fsih", "sea"]
        >>> offsets = np.cumsum([0, *map(len, terms)])
        >>> found, edits = NearTerms(offsets, np.frombuffer("".join(terms).encode(), np.uint8)).near("fish", 1)
        >>> found.tolist(), edits.tolist()
        ([0, 1, 2], [0, 1, 1])
        """
        points = _code_points(word.encode("utf-8", "surrogatepass"))
        order, sets, begins = self._by_length
        shortest, longest = max(0, min(MAX_LENGTH, len(points) - edits)), min(MAX_LENGTH, len(points) + edits)
        start, end = int(begins[shortest]), int(begins[longest + 1])
        own = np.bitwise_or.reduce(_bits(points), initial=np.uint64(0))
        near = _at_most(sets[start:end] & ~own, edits) & _at_most(~sets[start:end] & own, edits)
        candidates = np.sort(order[start:end][near]).astype(np.int64)
        distances = self._distances(points, candidates, edits)
        near = distances <= edits
        return candidates[near], distances[near]

    @cached_property
    def _by_length(self) -> tuple[Array, Array, Array]:
        """Numbers of the terms by length, their character sets in that order, and where each length begins."""
        n = len(self._offsets) - 1
        lengths, sets = np.zeros(n, np.uint8), np.zeros(n, np.uint64)
        for first in range(0, n, TERMS_AT_ONCE):
            last = min(n, first + TERMS_AT_ONCE)
            begins, points = self._points(np.arange(first, last))
            sizes = np.diff(begins)
            lengths[first:last] = np.minimum(sizes, MAX_LENGTH)
            full = sizes > 0
            if full.any():
                sets[first:last][full] = np.bitwise_or.reduceat(_bits(points), begins[:-1][full])
        order = np.argsort(lengths, kind="stable").astype(np.uint32)
        begins = np.searchsorted(lengths[order], np.arange(MAX_LENGTH + 2))
        return order, sets[order], begins

    def _points(self, numbers: Array) -> tuple[Array, Array]:
        """(begins int64[n + 1], code points uint32[...]) of some terms."""
        starts, ends = (self._offsets[numbers + i].astype(np.int64) for i in (0, 1))
        sizes = ends - starts
        places = np.repeat(starts - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes) + np.arange(sizes.sum())
        text = self._text[places]
        heads = np.concatenate(([0], np.cumsum((text & 0xC0) != 0x80)))
        return heads[np.concatenate(([0], np.cumsum(sizes)))], _code_points(text.tobytes())

    def _distances(self, word: Array, numbers: Array, edits: int) -> Array:
        """uint8[n]: edits to each term; above `edits` where the distance is larger or the words are too short."""
        begins, points = self._points(numbers)
        sizes = np.diff(begins)
        width = int(sizes.max(initial=0))
        # One row per character, so that a step of the programme reads contiguous memory; no character is 2^32-1.
        letters = np.full((width + edits + 1, len(numbers)), 0xFFFF_FFFF, np.uint32)
        letters[np.arange(len(points)) - np.repeat(begins[:-1], sizes), np.repeat(np.arange(len(numbers)), sizes)] = (
            points
        )
        distances = _banded(word, letters, sizes, edits)
        distances[distances >= np.minimum(sizes, max(1, len(word)))] = edits + 1
        return distances


def _banded(word: Array, letters: Array, sizes: Array, edits: int) -> Array:
    """uint8[n]: optimal string alignment of a word and n terms, exact up to `edits`, larger above it.

    rows[i][j] is the edit distance of the first i characters of the word and the first j of each term.
    """
    too_many, n = np.uint8(edits + 1), len(sizes)
    beyond = np.full(n, too_many)
    answer = np.full(n, too_many)
    before: dict[int, Array] = {}
    row: dict[int, Array] = {j: np.full(n, j, np.uint8) for j in range(edits + 1)}
    for i in range(1, len(word) + 1):
        next_row: dict[int, Array] = {}
        for j in range(max(0, i - edits), min(len(letters) - 1, i + edits) + 1):
            if j == 0:
                next_row[j] = np.full(n, min(i, edits + 1), np.uint8)
                continue
            same = letters[j - 1] == word[i - 1]
            best = row.get(j - 1, beyond) + ~same
            np.minimum(best, row.get(j, beyond) + np.uint8(1), out=best)
            np.minimum(best, next_row.get(j - 1, beyond) + np.uint8(1), out=best)
            if i > 1 and j > 1 and j - 2 in before:
                swapped = (letters[j - 1] == word[i - 2]) & (letters[j - 2] == word[i - 1])
                best = np.where(swapped, np.minimum(best, before[j - 2] + np.uint8(1)), best)
            next_row[j] = np.minimum(best, too_many)
        before, row = row, next_row
    for j, column in row.items():
        answer = np.where(sizes == j, column, answer)
    return answer


def _at_most(sets: Array, limit: int) -> Array:
    """bool[n]: whether a set has at most `limit` members."""
    for _ in range(limit):
        sets = sets & (sets - np.uint64(1))  # without its lowest member
    few: Array = sets == 0
    return few


def _bits(points: Array) -> Array:
    """uint64[n]: each code point as a set of one; letters and digits of ASCII stay distinct."""
    places = (points + (points >> np.uint32(6)) * np.uint32(38)) & np.uint32(63)
    sets: Array = np.left_shift(np.uint64(1), places.astype(np.uint64))
    return sets


def _code_points(text: bytes) -> Array:
    return np.frombuffer(text.decode("utf-8", "surrogatepass").encode("utf-32-le", "surrogatepass"), np.uint32)
