"""A check of stored block maxima against the postings, since other commits lead to other levels for the same texts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.index.layout import ArrayReader
from hybridkg.text.index.postings import SegmentPostings
from hybridkg.text.index.topk.block_max import COARSE, BlockMaxForm, BlockMaxIndex, rounded_lengths
from hybridkg.text.index.topk.block_max_levels import Bytes, levels_numpy
from hybridkg.text.index.topk.block_max_writer import BlockReader
from hybridkg.text.index.topk.earlier_block_max import EarlierBlockMaxima

DEPENDS_ON_COMMITS = ("peaks.codes", "peaks.levels", "peaks.starts")
"""The arrays of block maxima that are not those of a build from scratch."""


def wrong_block_maxima(reader: ArrayReader, lists: SegmentPostings, lengths: NDArray[np.uint32]) -> str:
    """The first array of DEPENDS_ON_COMMITS that contradicts the postings; empty for none.

    Each document block must have the fields and entities that have the word there, and a level whose x is not below its
    maximum in the stored form: the lowest one, unless the header counts document blocks with higher ones.

    Args:
        reader: of a segment whose other arrays are right.
        lists: its posting lists.
        lengths: uint32[fields, nodes].

    Raises:
        CorruptError: the header or the shape of an array is damaged.
    """
    BlockMaxIndex(reader, *lengths.shape)
    forms = [BlockMaxForm.from_json(form) for form in reader.about("peaks")]
    stored = EarlierBlockMaxima(reader, forms)
    blocks_of = BlockReader(lists, lengths, rounded_lengths(lengths.sum(axis=0, dtype=np.uint32)), forms)
    for row, term in enumerate(stored.terms):
        blocks, codes = blocks_of.blocks(term), [own[0] for own in stored.codes_of(np.array([row]))]
        for code, maxima in zip(codes, blocks.maxima, strict=True):
            if not ((code[1:] >= code[:-1]).all() and (maxima <= code[-1]).all()):
                return "peaks.codes"
        *levels, sets = stored.levels_of(row)
        if not np.array_equal(sets, blocks.sets):
            return "peaks.levels"
        for form, own, code, maxima in zip(forms, levels, codes, blocks.maxima, strict=True):
            halves = form.levels == COARSE
            lowest = levels_numpy(maxima, code, halves=halves)
            if not (_are_bounds(own, lowest, halves=halves) if stored.loose else np.array_equal(own, lowest)):
                return "peaks.levels"
    return ""


def _are_bounds(levels: Bytes, lowest: Bytes, *, halves: bool) -> bool:
    """Whether no level is below the lowest one that bounds the maximum of its document block."""
    if len(levels) != len(lowest):
        return False
    if not halves:
        return bool((levels >= lowest).all())
    return bool((levels & 15 >= lowest & 15).all() and (levels >> 4 >= lowest >> 4).all())
