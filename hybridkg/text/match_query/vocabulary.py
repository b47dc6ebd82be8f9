"""The terms of an index, which `prefix*` and `fuzzy~1` look through.

An index gives a `IndexVocabulary`. Where its terms lie sorted in arrays, as those of
the embedded index do, `ArrayVocabulary` is one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.match_query.fuzzy_terms import NearTerms

Array = NDArray[Any]

MAX_CACHED = 1_000
"""Expansions that an open index remembers; each is a few hundred short terms at most."""


@dataclass(frozen=True)
class TermsFound:
    """Terms that an index has.

    Args:
        terms: the best of them, in the order that the question asks for.
        total: how many there are.
    """

    terms: tuple[str, ...] = ()
    total: int = 0


class IndexVocabulary(Protocol):
    """The terms of an index by field. Safe to use from many threads.

    How common a term is means: the entities that have it, counted in each of the fields and added up. The order of
    terms is that of their UTF-8 bytes.
    """

    def has(self, term: str, fields: Sequence[int]) -> bool:
        """Whether any of the fields has the term.

        Args:
            term: as the index keeps it: folded, stemmed.
            fields: numbers of fields of the index; at least one.
        """

    def beginning_with(self, prefix: str, fields: Sequence[int], most: int) -> TermsFound:
        """The terms of the fields that begin with a prefix: the most common first, equally common ones in order.

        Args:
            prefix: folded as terms are; not empty.
            fields: numbers of fields of the index; at least one.
            most: how many to give.
        """

    def near(self, term: str, edits: int, fields: Sequence[int], most: int) -> TermsFound:
        """The terms of the fields at most so many edits away: fewest edits first, then the most common, then in order.

        An edit adds a character, removes or replaces one, or swaps two neighbours; no character is edited twice
        (optimal string alignment, counted in code points). A term needs fewer edits than either word has
        characters, so `ab~2` is not every word of two letters. The term itself counts, where a field has it.

        Args:
            term: as the index keeps it.
            edits: 1 or 2.
            fields: numbers of fields of the index; at least one.
            most: how many to give.
        """


class SortedTerms:
    """Terms in UTF-8 order, one behind the other in one array; a term's number is its place.

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
        """The number of a term, or -1 where there is none. About 10 us."""
        wanted = encoded(term)
        low = self._first(wanted)
        return low if low < len(self) and self._bytes(low) == wanted else -1

    def term(self, number: int) -> str:
        """The term of a number."""
        return self._bytes(number).decode("utf-8", "surrogatepass")

    def beginning_with(self, prefix: str) -> range:
        """The numbers of the terms that begin with a prefix."""
        wanted = encoded(prefix)
        return range(self._first(wanted), self._first(wanted + b"\xff"))  # no UTF-8 has that byte

    def _first(self, wanted: bytes) -> int:
        """The number of the first term that is not before the wanted bytes."""
        return self._first_of(wanted, 0, len(self))

    def _first_of(self, wanted: bytes, low: int, high: int) -> int:
        """The same among the terms low..high-1; `high` where all of them are before."""
        while low < high:
            middle = (low + high) // 2
            if self._bytes(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def _bytes(self, number: int) -> bytes:
        return bytes(self._view[int(self.offsets[number]) : int(self.offsets[number + 1])])


def encoded(term: str) -> bytes:
    """A term as it is stored and ordered."""
    return term.encode("utf-8", "surrogatepass")


class ArrayVocabulary:
    """A Vocabulary over sorted terms.

    Args:
        terms: of the whole index.
        frequencies: how many entities have each of some terms in a field: (numbers int64[n], field) -> integer[n].
    """

    def __init__(self, terms: SortedTerms, frequencies: Callable[[Array, int], Array]):
        self._terms, self._frequencies = terms, frequencies
        self._found: OrderedDict[tuple[object, ...], TermsFound] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, term: str, fields: Sequence[int]) -> bool:
        """Whether any of the fields has the term."""
        number = self._terms.number(term)
        return number >= 0 and bool(self._common(np.array([number]), fields)[0])

    def beginning_with(self, prefix: str, fields: Sequence[int], most: int) -> TermsFound:
        """The terms that begin with a prefix: the most common first."""

        def find() -> TermsFound:
            numbers = np.array(self._terms.beginning_with(prefix), np.int64)
            return self._best(numbers, np.zeros(len(numbers), np.uint8), fields, most)

        return self._remembered((prefix, 0, tuple(fields), most), find)

    def near(self, term: str, edits: int, fields: Sequence[int], most: int) -> TermsFound:
        """The terms at most so many edits away: fewest edits first, then the most common."""
        return self._remembered(
            (term, edits, tuple(fields), most),
            lambda: self._best(*self._near_terms.near(term, edits), fields, most),
        )

    @cached_property
    def _near_terms(self) -> NearTerms:
        return NearTerms(self._terms.offsets, self._terms.text)

    def _common(self, numbers: Array, fields: Sequence[int]) -> Array:
        """int64[n]: entities that have the term, each field counted."""
        common = np.zeros(len(numbers), np.int64)
        for field in fields:
            common += self._frequencies(numbers, field).astype(np.int64)
        return common

    def _best(self, numbers: Array, edits: Array, fields: Sequence[int], most: int) -> TermsFound:
        common = self._common(numbers, fields)
        there = common > 0
        numbers, edits, common = numbers[there], edits[there], common[there]
        order = np.lexsort((numbers, -common, edits))[:most]
        return TermsFound(tuple(self._terms.term(int(number)) for number in numbers[order]), len(numbers))

    def _remembered(self, key: tuple[object, ...], find: Callable[[], TermsFound]) -> TermsFound:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        found = find()
        with self._lock:
            self._found[key] = found
            if len(self._found) > MAX_CACHED:
                self._found.popitem(last=False)
        return found
