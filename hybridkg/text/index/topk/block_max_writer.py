"""The writer of the block maxima of common words, `peaks.*`, from the posting lists of a segment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.index.codec.packing import KERNEL
from hybridkg.text.index.layout import DOC_BLOCK, FIELD_SETS, ArrayReader, ArrayWriter
from hybridkg.text.index.postings import SegmentPostings
from hybridkg.text.index.term_field_sets import TermSets
from hybridkg.text.index.topk.block_max import COARSE, BlockMaxForm, default_forms, words_of
from hybridkg.text.index.topk.block_max_levels import quantised
from hybridkg.text.models.additive import Floats

COMMON = 64
"""A word has block maxima if at least one in this many entities has it."""

MIN_NODES = 20_000
"""Entities below which an index has no block maxima."""


class TermBlocks(NamedTuple):
    """The document blocks that have a term.

    Args:
        members: uint64[words], a bit for each block of the segment.
        sets: uint8[n], the fields and entities of each block that has the term (`layout.FIELD_SETS`).
        maxima: float64[forms, n], the largest x of each of these blocks.
    """

    members: NDArray[np.uint64]
    sets: NDArray[np.uint8]
    maxima: Floats


def write_block_maxima(
    out: ArrayWriter,
    reader: ArrayReader,
    lists: SegmentPostings,
    lengths: NDArray[np.uint32],
    fields: Sequence[tuple[float, float]],
    totals: Sequence[tuple[int, int]],
) -> list[dict[str, Any]]:
    """Writes the block maxima of the common words, `peaks.*`, and returns the forms for the header.

    Args:
        out: of the segment.
        reader: of the same segment, whose lists and term sets are finished.
        lists: its posting lists.
        lengths: uint32[fields, nodes].
        fields: (weight, b) of each.
        totals: (entities, tokens) of each.
    """
    n_fields, n_nodes = lengths.shape
    forms = default_forms(fields, totals)
    sets = TermSets(reader, (len(lists.ends) - 1) // n_fields)
    terms = [] if n_nodes < MIN_NODES else sets.at_least(n_nodes // COMMON)
    text_lengths = lengths.sum(axis=0, dtype=np.uint32)
    block_reader = _BlockReader(lists, lengths, text_lengths, forms)
    members = out.stream("peaks.members", "<u8", words_of(-(-n_nodes // DOC_BLOCK)))
    levels = out.stream("peaks.levels", "<u1")
    codes, starts = [], [0]
    for term in terms:
        blocks = block_reader.blocks(term)
        members.append(blocks.members[None, :])
        for form, maxima in zip(forms, blocks.maxima, strict=True):
            code, numbers = quantised(maxima, form.levels, halves=form.levels == COARSE)
            codes.append(code)
            levels.append(numbers)
            starts.append(levels.rows)
        levels.append(blocks.sets)
        starts.append(levels.rows)
    members.close()
    levels.close()
    out.write("peaks.starts", np.array(starts, np.uint64))
    out.write("peaks.terms", np.array(terms, np.uint32))
    n_levels = sum(form.levels for form in forms)
    out.write("peaks.codes", np.concatenate([np.zeros(0), *codes]).reshape(len(terms), n_levels))
    longest = [*(int(row.max(initial=0)) for row in lengths), int(text_lengths.max(initial=0))]
    out.write("peaks.longest", np.array(longest, np.uint32))
    return [form.to_json() for form in forms]


class _BlockReader:
    """Reads the postings of a term by document blocks; what `blocks` gives is valid until its next call."""

    def __init__(
        self,
        lists: SegmentPostings,
        lengths: NDArray[np.uint32],
        text_lengths: NDArray[np.uint32],
        forms: Sequence[BlockMaxForm],
    ):
        self._lists, self._lengths, self._text_lengths, self._forms = lists, lengths, text_lengths, forms
        n_blocks = -(-len(text_lengths) // DOC_BLOCK)
        self._words = words_of(n_blocks)
        self._sets, self._maxima = np.empty(n_blocks, np.uint8), np.empty((len(forms), n_blocks))
        self._numbers = np.array([(form.coefficient, form.base, form.slope) for form in forms])
        self._together = np.array([form.together for form in forms], np.int64)

    def blocks(self, term: int) -> TermBlocks:
        """The blocks of a term."""
        n_fields = len(self._lengths)
        sizes, ids, tf = self._lists.lists(term * n_fields, (term + 1) * n_fields)
        kernel = KERNEL.for_work(len(ids))
        if kernel is None:
            return block_maxima_numpy(sizes, ids, tf, self._lengths, self._text_lengths, self._forms)
        members = np.zeros(self._words, np.uint64)
        n = kernel.block_maxima(
            sizes, ids, tf, self._lengths, self._text_lengths, self._numbers, self._together, members, self._sets,
            self._maxima,
        )  # fmt: skip
        return TermBlocks(members, self._sets[:n], self._maxima[:, :n])


def block_maxima_numpy(
    sizes: NDArray[np.int64],
    ids: NDArray[np.uint32],
    tf: NDArray[np.uint32],
    lengths: NDArray[np.uint32],
    text_lengths: NDArray[np.uint32],
    forms: Sequence[BlockMaxForm],
) -> TermBlocks:
    """The numpy reference of `packing_kernel.block_maxima`.

    Args:
        sizes: int64[fields], postings of a term in each field.
        ids: uint32[sum(sizes)].
        tf: uint32[sum(sizes)].
        lengths: uint32[fields, nodes].
        text_lengths: uint32[nodes], of all fields.
        forms: of x.
    """
    n_blocks, ends = -(-len(text_lengths) // DOC_BLOCK), np.cumsum(sizes).tolist()
    own = [slice(end - size, end) for end, size in zip(ends, sizes.tolist(), strict=True)]
    sets = np.zeros(words_of(n_blocks) * 64, np.uint8)
    for f, postings in enumerate(own):
        sets[ids[postings] // DOC_BLOCK] |= 1 << f % FIELD_SETS
    for place in range(DOC_BLOCK):
        sets[ids[ids % DOC_BLOCK == place] // DOC_BLOCK] |= 1 << FIELD_SETS + place
    present = sets > 0
    maxima = []
    for form in forms:
        x = np.zeros(n_blocks * DOC_BLOCK)
        for f, postings in enumerate(own):
            length = (text_lengths if form.together else lengths[f])[ids[postings]]
            x[ids[postings]] += form.coefficient[f] * tf[postings] * (1.0 / (form.base[f] + form.slope[f] * length))
        maxima.append(x.reshape(-1, DOC_BLOCK).max(axis=1)[present[:n_blocks]])
    members = np.packbits(present, bitorder="little").view("<u8")
    return TermBlocks(members, sets[present], np.array(maxima))
