"""The vocabulary of an index, which prefixes and fuzzy words are expanded from.

`ArrayVocabulary` implements the protocol over sorted arrays of terms, as the embedded index has them.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError
from hybridkg.text.match_query.fuzzy_terms import NearTerms

Array = NDArray[Any]

BESIDE = 2
"""Terms that are checked on each side of the place of a term that is not found: an offset belongs to two terms."""

MAX_CACHED = 1_000
"""Expansions that an open index caches; each has at most a few hundred short terms."""


@dataclass(frozen=True)
class Expansion:
    """The result of expanding a prefix or fuzzy word.

    Args:
        terms: the best of them, in the order of the method.
        total: number of all matching terms.
    """

    terms: tuple[str, ...] = ()
    total: int = 0


class IndexVocabulary(Protocol):
    """The terms of an index by field. Safe to use from many threads.

    The frequency of a term is the sum of its df over the given fields. Terms are ordered by their UTF-8 bytes. `fields`
    are numbers of fields of the index, at least one; `most` is the maximum number of terms returned.
    """

    def has(self, term: str, fields: Sequence[int]) -> bool:
        """Whether any of the fields has the term, folded and stemmed as in the index."""

    def beginning_with(self, prefix: str, fields: Sequence[int], most: int) -> Expansion:
        """The terms of the fields with a prefix, folded and not empty: by descending frequency, then in order."""

    def near(self, term: str, edits: int, fields: Sequence[int], most: int) -> Expansion:
        """The terms of the fields within an edit distance of 1 or 2: by edits, then descending frequency, then in
        order.

        An edit adds a character, removes or replaces one, or swaps two neighbours; no character is edited twice
        (optimal string alignment, counted in code points). A term needs fewer edits than either word has characters, so
        `ab~2` is not every word of two letters. The term itself counts, where a field has it.
        """


class SortedTerms:
    """Terms in UTF-8 order, concatenated in one array; the number of a term is its place.

    Args:
        offsets: unsigned[n + 1], where each term begins; the last is the end of the text.
        text: uint8[...], the UTF-8 of all terms.

    >>> terms = SortedTerms(np.array([0, 4, 8, 11]), np.frombuffer(b"fishfoolsea", np.uint8))
    >>> [terms.term(i) for i in range(len(terms))], terms.number("fool"), terms.beginning_with("f")
    (['fish', 'fool', 'sea'], 1, range(0, 2))
    """

    def __init__(self, offsets: Array, text: Array):
        self.offsets, self.text = offsets, text
        self._view = memoryview(text.data)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def number(self, term: str) -> int:
        """The number of a term, -1 for an unknown one. About 10 us.

        Raises:
            CorruptError: the term is not found, and the terms beside its place are damaged.
        """
        wanted = encoded(term)
        low = self._first(wanted)
        if low < len(self) and self._bytes(low) == wanted and self._agrees(low, wanted):
            return low
        self._check_beside(low)
        return -1

    def places(self, terms: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The places of terms in UTF-8: where each is, or would be, and whether it is there.

        Returns:
            (int64[n] in 0..len(self), bool[n])
        """
        places = [self._first(term) for term in terms]
        known = [place < len(self) and self._bytes(place) == term for place, term in zip(places, terms, strict=True)]
        return np.array(places, np.int64), np.array(known, bool)

    def term(self, number: int) -> str:
        return self._bytes(number).decode("utf-8", "surrogatepass")

    def beginning_with(self, prefix: str) -> range:
        """The numbers of the terms with a prefix.

        Raises:
            CorruptError: terms beside the first or the last of them are damaged.
        """
        wanted = encoded(prefix)
        ends = self._first(wanted), self._first(wanted + b"\xff")  # UTF-8 never contains that byte
        for end in ends:
            self._check_beside(end)
        return range(*ends)

    def _first(self, wanted: bytes) -> int:
        """The number of the first term that is not less than the wanted bytes."""
        return self._first_of(wanted, 0, len(self))

    def _first_of(self, wanted: bytes, low: int, high: int) -> int:
        """The same among the terms low..high-1; `high` where all are less."""
        return bisect_left(range(high), wanted, low, high, key=self._bytes)

    def _bytes(self, number: int) -> bytes:
        return bytes(self._view[int(self.offsets[number]) : int(self.offsets[number + 1])])

    def _agrees(self, number: int, term: bytes) -> bool:
        """Whether what else is stored of a term agrees with its bytes."""
        del number, term
        return True

    def _check_beside(self, place: int) -> None:
        """Checks the terms around a place, where a search ends.

        A damaged value that leads a search astray is beside the place where it ends: all that the search reads from
        there on is on one side of the wanted term.

        Raises:
            CorruptError: they are not in order, not within the text, or disagree with what else is stored of them.
        """
        end, before = len(self.text), b""
        for number in range(max(0, place - BESIDE), min(len(self), place + BESIDE)):
            term = self._bytes(number)
            if (
                not int(self.offsets[number]) < int(self.offsets[number + 1]) <= end
                or term <= before
                or not self._agrees(number, term)
            ):
                raise damaged_terms()
            before = term


def damaged_terms() -> CorruptError:
    """The error of terms that are not what was written."""
    return CorruptError(
        "the terms of the text index are damaged", hint="index again; hybridkg stats KB --verify names the damaged file"
    )


def encoded(term: str) -> bytes:
    """The stored form of a term, by which terms are ordered."""
    return term.encode("utf-8", "surrogatepass")


class ArrayVocabulary:
    """An IndexVocabulary over sorted terms.

    Args:
        terms: of the whole index.
        frequencies: df of terms in a field: (numbers int64[n], field) -> integer[n].
    """

    def __init__(self, terms: SortedTerms, frequencies: Callable[[Array, int], Array]):
        self._terms, self._frequencies = terms, frequencies
        self._cache: OrderedDict[tuple[object, ...], Expansion] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, term: str, fields: Sequence[int]) -> bool:
        number = self._terms.number(term)
        return number >= 0 and bool(self._frequency(np.array([number]), fields)[0])

    def beginning_with(self, prefix: str, fields: Sequence[int], most: int) -> Expansion:

        def find() -> Expansion:
            numbers = np.array(self._terms.beginning_with(prefix), np.int64)
            return self._best(numbers, np.zeros(len(numbers), np.uint8), fields, most)

        return self._cached((prefix, 0, tuple(fields), most), find)

    def near(self, term: str, edits: int, fields: Sequence[int], most: int) -> Expansion:
        return self._cached(
            (term, edits, tuple(fields), most), lambda: self._best(*self._near_terms.near(term, edits), fields, most)
        )

    @cached_property
    def _near_terms(self) -> NearTerms:
        return NearTerms(self._terms.offsets, self._terms.text)

    def _frequency(self, numbers: Array, fields: Sequence[int]) -> Array:
        """int64[n]: df summed over the fields."""
        total = np.zeros(len(numbers), np.int64)
        for field in fields:
            total += self._frequencies(numbers, field).astype(np.int64)
        return total

    def _best(self, numbers: Array, edits: Array, fields: Sequence[int], most: int) -> Expansion:
        frequency = self._frequency(numbers, fields)
        occurs = frequency > 0
        numbers, edits, frequency = numbers[occurs], edits[occurs], frequency[occurs]
        order = np.lexsort((numbers, -frequency, edits))[:most]
        return Expansion(tuple(self._terms.term(int(number)) for number in numbers[order]), len(numbers))

    def _cached(self, key: tuple[object, ...], find: Callable[[], Expansion]) -> Expansion:
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        terms = find()
        with self._lock:
            self._cache[key] = terms
            if len(self._cache) > MAX_CACHED:
                self._cache.popitem(last=False)
        return terms
