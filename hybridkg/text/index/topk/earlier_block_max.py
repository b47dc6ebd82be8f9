"""The block maxima of the words that a commit has left alone, taken from the earlier segment.

The maxima of a word depend on its postings, on the lengths of the entities that have it, and on the form. Where no
entity has entered or left the index, ids stay. Then a word without an edited posting keeps its blocks and its maxima in
every form that takes the length of a field, because an entity whose field has another length has other postings there.
A form that takes the length of the whole text changes with every field of an entity, unless the rounded length stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.index.layout import DOC_BLOCK, FIELD_SETS, Array, ArrayReader
from hybridkg.text.index.topk.block_max import BlockMaxForm, rounded_lengths

MAX_LOOKED_UP = 1_000
"""Entities of another length that are looked up in the blocks of each word; of more, a word is taken to have one."""


class EarlierBlockMaxima:
    """The block maxima of an earlier segment with the same entities, in the same forms.

    Args:
        reader: of the earlier segment.
        same: int64[terms], the earlier number of each term whose postings have stayed; -1 for the others.
        forms: of both segments.
        changed: entities whose texts have another length.
    """

    def __init__(
        self,
        reader: ArrayReader,
        same: NDArray[np.int64],
        forms: Sequence[BlockMaxForm],
        changed: NDArray[np.int64],
    ):
        self.reader, self._forms, self._same = reader, forms, same
        self.members, self.levels = reader.array("peaks.members"), reader.array("peaks.levels")
        self.codes, self._starts = reader.array("peaks.codes"), reader.array("peaks.starts").tolist()
        self._row = {term: row for row, term in enumerate(reader.array("peaks.terms").tolist())}
        self._ends = np.cumsum([0, *(form.levels for form in forms)]).tolist()
        self._has_changed = self._rows_with(changed)

    @classmethod
    def of(
        cls, reader: ArrayReader, same: NDArray[np.int64], forms: Sequence[BlockMaxForm], lengths: NDArray[np.uint32]
    ) -> EarlierBlockMaxima | None:
        """The block maxima of an earlier segment whose ids are those of the next one; None where its forms differ.

        Args:
            reader: of the earlier segment.
            same: int64[terms], as in the class.
            forms: of the next segment.
            lengths: uint32[nodes], of the whole texts of the next segment, rounded.
        """
        if reader.about("peaks") != [form.to_json() for form in forms]:
            return None
        before = rounded_lengths(reader.array("lengths").sum(axis=0, dtype=np.uint32))
        return cls(reader, same, forms, np.flatnonzero(before != lengths))

    def row(self, term: int) -> int | None:
        """The earlier row of a term whose postings have stayed; None for another term."""
        return self._row.get(int(self._same[term]))

    def keeps(self, row: int, form: BlockMaxForm) -> bool:
        """Whether the maxima of a row are the same in a form."""
        return not (form.together and self._has_changed[row])

    def levels_of(self, row: int, number: int) -> Array:
        """The levels of a row in a form; behind the last form, the sets of fields."""
        return self.levels[slice(*self.range_of(row, number))]

    def range_of(self, row: int, number: int) -> tuple[int, int]:
        """The places of `levels_of` in the earlier array."""
        place = row * (len(self._forms) + 1) + number
        return self._starts[place], self._starts[place + 1]

    def codes_of(self, row: int, number: int) -> Array:
        """The x of each level of a row in a form."""
        return self.codes[row, self._ends[number] : self._ends[number + 1]]

    def _rows_with(self, entities: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the term of each row is in the text of any of some entities."""
        block = entities // DOC_BLOCK
        words = self.members[:, block >> 6] >> (block & 63).astype(np.uint64) & np.uint64(1)
        found: NDArray[np.bool_] = np.asarray(words.any(axis=1))
        if len(entities) > MAX_LOOKED_UP or not found.any():
            return found
        blocks_of_word = ones(self.members)
        before = np.cumsum(blocks_of_word, axis=1) - blocks_of_word
        place, bit = block >> 6, (block & 63).astype(np.uint64)
        rank = before[:, place] + ones(self.members[:, place] & ((np.uint64(1) << bit) - np.uint64(1)))
        starts = np.array(self._starts, np.int64)[len(self._forms) :: len(self._forms) + 1]
        rows, own = np.nonzero(words)
        sets = self.levels[starts[rows] + rank[rows, own]]
        found[:] = False
        found[rows[(sets >> (FIELD_SETS + entities[own] % DOC_BLOCK) & 1).astype(bool)]] = True
        return found


def ones(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The number of set bits of each word, as `np.bitwise_count` of numpy 2; counted in pairs, fours and bytes.

    >>> ones(np.array([0, 7, 1 << 63 | 1], np.uint64)).tolist()
    [0, 3, 2]
    """
    pairs = words - (words >> np.uint64(1) & np.uint64(0x5555555555555555))
    fours = (pairs & np.uint64(0x3333333333333333)) + (pairs >> np.uint64(2) & np.uint64(0x3333333333333333))
    each = fours + (fours >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    found: NDArray[np.int64] = (each * np.uint64(0x0101010101010101) >> np.uint64(56)).astype(np.int64)
    return found
