"""Look-up of literals in a part of the stored ones: by segment, value, datatype or language, and text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from hybridkg.graph.columns import LiteralPart
from hybridkg.graph.literal_order import FIRST_VALUED, SEGMENTS, literal_key
from hybridkg.graph.stored_literals import StoredLiterals
from hybridkg.graph.stored_strings import StoredStrings, view
from hybridkg.rdf.terms import Literal
from hybridkg.storage.arrays import Array


class StoredLiteralPart:
    """The literals of a part, found by binary search.

    Args:
        part: their segments and values.
        kinds: unsigned[literals that are no plain strings]: the number of the language or datatype of each.
        names: of languages and datatypes, ascending.
        literals: the lexical forms of all parts.
        n_nodes: the id of the first of `literals`.
    """

    def __init__(self, part: LiteralPart, kinds: Array, names: StoredStrings, literals: StoredLiterals, n_nodes: int):
        self.part, self.kind_of, self._names, self._literals = part, view(kinds), names, literals
        self._n_nodes, self._values = n_nodes, view(part.numbers)
        self.strings_end = part.segments["string"][1]
        self._first_value = part.segments[SEGMENTS[FIRST_VALUED]][0]

    def kind(self, i: int) -> int:
        """The number of the language or datatype of a literal; -1 for a plain string."""
        return -1 if i < self.strings_end else int(self.kind_of[i - self.strings_end])

    def find(self, literal: Literal) -> int:
        """The id of a literal; -1 for none."""
        first, end = self._range(literal)
        if first >= end:
            return -1
        place = self._literals.find(literal.value.encode(), first - self._n_nodes, end - self._n_nodes)
        return place if place < 0 else place + self._n_nodes

    def place(self, literal: Literal) -> int:
        """The id of the literal before which a literal belongs, or the one behind the last."""
        first, end = self._range(literal)
        return self._literals.place(literal.value.encode(), first - self._n_nodes, end - self._n_nodes) + self._n_nodes

    def _range(self, literal: Literal) -> tuple[int, int]:
        """The ids of the literals that differ from a literal in their text alone, or (place, place)."""
        segment, value, _ = literal_key(literal)
        first, end = self.part.segments[SEGMENTS[segment]]
        if segment >= FIRST_VALUED:
            first, end = _equal(self._values, value, first, end, self._first_value)
        if segment > 0:
            number = self._names.place(tag := tag_of(literal), 0, len(self._names))
            is_known = number < len(self._names) and self._names.bytes_at(number) == tag
            first, end = _equal(self.kind_of, number if is_known else number - 0.5, first, end, self.strings_end)
        return first, end


def _equal(values: Any, value: float, first: int, end: int, begin: int) -> tuple[int, int]:
    """The ids of the range first..end that have a value; `values` are those from the id `begin` on, and ascend in the
    range.
    """
    end -= begin
    low = bisect_left(values, value, first - begin, end)
    if low == end or values[low] != value:
        return low + begin, low + begin
    if low + 1 == end or values[low + 1] != value:
        return low + begin, low + 1 + begin
    return low + begin, bisect_right(values, value, low, end) + begin


def tag_of(literal: Literal) -> bytes:
    """The name of the language or datatype of a literal, as `kinds.text` has it.

    >>> tag_of(Literal("rot", language="de"))
    b'@de'
    """
    return (literal.datatype.value if literal.language is None else f"@{literal.language}").encode()
