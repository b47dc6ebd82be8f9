"""The block maxima of the words of a few entities that a commit has changed, from those of the earlier segment.

Where no entity has entered or left the index, ids stay. Then the maxima of a word change only in the document blocks of
entities with another text. They are computed again there, and each gets the lowest of the earlier levels that is not
below it. So stored maxima depend on the commits that led to them, within what their levels round.

The x of an entity depends on its postings and on the lengths of the fields that have them; in a form that takes the
length of the whole text, on all its fields, unless the rounded length stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hybridkg.storage.distinct import sorted_distinct
from hybridkg.text.index.layout import DOC_BLOCK
from hybridkg.text.index.postings import SegmentPostings
from hybridkg.text.index.topk.changed_blocks import maxima_of_blocks
from hybridkg.text.index.topk.earlier_block_max import EarlierBlockMaxima, StoredMaxima
from hybridkg.text.index.topk.level_edits import (
    LevelEdits,
    edited_levels,
    edited_parts,
    has_members,
    lowest_levels,
    ranks_of,
)

MAX_PATCHED = 0.02
"""Share of the blocks of a word above which its maxima are computed anew: its levels would no longer be spaced by the
number of its blocks."""

CELLS = 1 << 18
"""Entities times words whose x are computed at once, of 24 bytes each."""

I64 = NDArray[np.int64]


@dataclass(frozen=True)
class PatchedBlockMaxima:
    """Words whose maxima are taken from the earlier segment.

    Args:
        earlier: its maxima.
        lists: of the next segment.
        lengths: uint32[fields, nodes], of the next segment.
    """

    earlier: EarlierBlockMaxima
    lists: SegmentPostings
    lengths: NDArray[np.uint32]

    @property
    def n_blocks(self) -> int:
        """Document blocks of the segment."""
        return -(-int(self.lengths.shape[1]) // DOC_BLOCK)

    def blocks(self, entities: I64) -> I64:
        """int64[b], ascending: the document blocks of entities, int64[n]."""
        return sorted_distinct(entities // DOC_BLOCK)

    def are_few(self, entities: I64) -> bool:
        """Whether maxima may be computed again in the document blocks of entities, int64[n]."""
        return len(self.blocks(entities)) <= MAX_PATCHED * self.n_blocks

    def of(self, rows: Mapping[int, int], entities: I64) -> dict[int, StoredMaxima]:
        """The maxima of words that nothing but some entities has changed; without words that are to be computed anew.

        Args:
            rows: the earlier row of each word.
            entities: int64[n], ascending.
        """
        blocks = self.blocks(entities)
        if not len(blocks):
            return {term: self.earlier.stored(row) for term, row in rows.items()}
        if not self.are_few(entities):
            return {}
        found: dict[int, StoredMaxima] = {}
        terms, at_once = list(rows), max(1, CELLS // (len(blocks) * DOC_BLOCK))
        for first in range(0, len(terms), at_once):
            own = terms[first : first + at_once]
            found.update(self._patched(own, np.array([rows[term] for term in own], np.int64), blocks))
        return found

    def _patched(self, terms: Sequence[int], rows: I64, blocks: I64) -> dict[int, StoredMaxima]:
        """The maxima of words whose earlier rows are `rows`, which only `blocks` have changed."""
        earlier, stored = self.earlier, self.earlier.parts(rows)
        sets, maxima = maxima_of_blocks(self.lists, np.array(terms, np.int64), blocks, self.lengths, earlier.forms)
        before, after = has_members(earlier.members, rows, blocks), sets > 0
        codes = earlier.codes_of(rows)
        is_patched = (before | after).sum(axis=1) <= MAX_PATCHED * stored.sizes
        for code, x in zip(codes, maxima, strict=True):
            is_patched &= (x <= code[:, -1:]).all(axis=1)
        words, places = np.nonzero((before | after) & is_patched[:, None])
        ends = np.searchsorted(words, np.arange(len(rows) + 1))
        ranks = ranks_of(earlier.members, rows, ends, blocks[places])
        levels = [lowest_levels(code, words, x[words, places]) for code, x in zip(codes, maxima, strict=True)]
        values = np.array([*levels, sets[words, places]])
        edits = LevelEdits(ends, ranks, before[words, places], after[words, places], values)
        result = {terms[word]: earlier.stored(int(rows[word])) for word in np.flatnonzero(is_patched).tolist()}
        moved = edits.before != edits.after
        own_words, own_rows = self._members(rows, words[moved], blocks[places[moved]])
        for word, row in zip(own_words.tolist(), own_rows, strict=True):
            result[terms[word]] = replace(result[terms[word]], members=row[None, :])
        changed, parts = edited_parts(stored, edits, words)
        edited, at = edited_levels(stored, edits, changed, parts)
        for word, part, begin, end in zip(
            *(column.tolist() for column in (changed, parts, at[:-1], at[1:])), strict=True
        ):
            result[terms[word]].levels[part] = edited[begin:end]
        return result

    def _members(self, rows: I64, words: I64, blocks: I64) -> tuple[I64, NDArray[np.uint64]]:
        """The words that blocks get or lose, and their rows of members afterwards; `words` ascend."""
        own = sorted_distinct(words)
        members = self.earlier.members[rows[own]]
        bits = np.uint64(1) << (blocks & 63).astype(np.uint64)
        np.bitwise_xor.at(members, (np.searchsorted(own, words), blocks >> 6), bits)
        return own, members
