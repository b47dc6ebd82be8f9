"""Reads terms and postings from the mapped arrays of an embedded index."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hybridkg.errors import CorruptError
from hybridkg.interfaces.ranking_model import Postings
from hybridkg.text.layout import Array, ArrayReader
from hybridkg.text.sets import NO_POSTINGS, NONE
from hybridkg.text.vocabulary import SortedTerms


class TermDictionary(SortedTerms):
    """The sorted terms of an index; a term's number is its place in UTF-8 order."""

    def __init__(self, reader: ArrayReader):
        offsets, text = reader.array("terms.offsets"), reader.array("terms.text")
        if not len(offsets) or int(offsets[-1]) != len(text):
            raise CorruptError("the terms of the text index and their offsets differ in size", hint="index again")
        super().__init__(offsets, text)


class FieldPostings:
    """The postings of one field, by term number; -1 is a term that the index lacks."""

    def __init__(self, reader: ArrayReader, prefix: str, n_terms: int):
        def array(name: str) -> Array:
            return reader.array(f"{prefix}.{name}")

        self._offsets, self._starts = array("offsets"), array("starts")
        self._ids, self._tf, self._positions = array("ids"), array("tf"), array("positions")
        whole = (
            len(self._offsets) == len(self._starts) == n_terms + 1
            and int(self._offsets[-1]) == len(self._ids) == len(self._tf)
            and int(self._starts[-1]) == len(self._positions)
        )
        if not whole:
            raise CorruptError(f"the postings of {prefix!r} and their offsets differ in size", hint="index again")

    def postings(self, term: int) -> Postings:
        """Entities and occurrences of a term."""
        if term < 0:
            return NO_POSTINGS
        start, end = int(self._offsets[term]), int(self._offsets[term + 1])
        return Postings(self._ids[start:end], self._tf[start:end]) if end > start else NO_POSTINGS

    def frequencies(self, terms: NDArray[Any]) -> NDArray[Any]:
        """How many entities have each of the terms, which are all of the index."""
        found: NDArray[Any] = self._offsets[terms + 1] - self._offsets[terms]
        return found

    def occurrences(self, term: int) -> int:
        """Occurrences of a term in the field, all entities together."""
        return int(self._starts[term + 1]) - int(self._starts[term]) if term >= 0 else 0

    def positions(self, term: int) -> NDArray[Any]:
        """Positions of all occurrences, entity by entity: sum(tf) numbers."""
        if term < 0:
            return NONE
        return self._positions[int(self._starts[term]) : int(self._starts[term + 1])]
