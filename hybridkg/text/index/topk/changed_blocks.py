"""The maxima of common words in a few document blocks, from the postings of the entities there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.text.id_sets import NONE
from hybridkg.text.index.codec.packing import BLOCK
from hybridkg.text.index.layout import DOC_BLOCK, FIELD_SETS
from hybridkg.text.index.postings import SegmentPostings
from hybridkg.text.index.topk.block_max import BlockMaxForm, rounded_lengths
from hybridkg.text.models.additive import Floats

KERNEL = LazyKernel("hybridkg.text.index.topk.changed_blocks_kernel")

I64 = NDArray[np.int64]
U32 = NDArray[np.uint32]


class MaximaOfBlocks(NamedTuple):
    """The maxima of t words in b document blocks.

    Args:
        sets: uint8[t, b], the fields and entities that have a word in a block (`layout.FIELD_SETS`), 0 for none.
        maxima: float64[forms, t, b], the largest x there, 0 where no entity has the word.
    """

    sets: NDArray[np.uint8]
    maxima: Floats


class PostingsOfLists(NamedTuple):
    """Postings of several lists: the place of the list of each int64[p], ascending, and the id and tf uint32[p]."""

    lists: I64
    ids: U32
    tf: U32


def maxima_of_blocks(
    lists: SegmentPostings,
    terms: I64,
    blocks: I64,
    lengths: U32,
    forms: Sequence[BlockMaxForm],
) -> MaximaOfBlocks:
    """The maxima of words in document blocks, with the bits of `block_max_writer.block_maxima_numpy`.

    Args:
        lists: of the segment.
        terms: int64[t].
        blocks: int64[b], ascending.
        lengths: uint32[fields, nodes].
        forms: of x.
    """
    n_fields, n_nodes = lengths.shape
    ids = (blocks[:, None] * DOC_BLOCK + np.arange(DOC_BLOCK)).reshape(-1)
    own_lengths = lengths[:, np.minimum(ids, n_nodes - 1)]
    text_lengths = rounded_lengths(own_lengths.sum(axis=0, dtype=np.uint32))
    numbers = (terms[:, None] * n_fields + np.arange(n_fields)).reshape(-1)
    found = postings_among(lists, numbers, ids.astype(np.uint32))
    place, field = np.searchsorted(ids, found.ids), found.lists % n_fields
    # The entities of a block lie apart, because numpy reduces a short last axis slowly.
    cell = (found.lists // n_fields * DOC_BLOCK + place % DOC_BLOCK) * len(blocks) + place // DOC_BLOCK
    of_field = [np.flatnonzero(field == f) for f in range(n_fields)]
    members = np.zeros(len(terms) * len(ids), np.uint8)
    for f, own in enumerate(of_field):
        members[cell[own]] |= 1 << f % FIELD_SETS
    shape = len(terms), DOC_BLOCK, len(blocks)
    fields = members.reshape(shape)
    entities = (fields > 0) * (1 << FIELD_SETS + np.arange(DOC_BLOCK)).astype(np.uint8)[:, None]
    sets: NDArray[np.uint8] = np.bitwise_or.reduce(fields | entities, axis=1)
    x = np.zeros((len(forms), len(terms) * len(ids)))
    for form, own_x in zip(forms, x, strict=True):
        for f, own in enumerate(of_field):
            length = (text_lengths if form.together else own_lengths[f])[place[own]]
            own_x[cell[own]] += form.coefficient[f] * found.tf[own] * (1.0 / (form.base[f] + form.slope[f] * length))
    return MaximaOfBlocks(sets, x.reshape(len(forms), *shape).max(axis=2))


def postings_among(lists: SegmentPostings, numbers: I64, candidates: U32) -> PostingsOfLists:
    """The postings that some lists have of candidates; only posting blocks that may contain one are unpacked.

    Args:
        lists: of a segment.
        numbers: int64[l], of the lists.
        candidates: uint32[n], ascending.
    """
    sizes = lists.sizes(numbers)
    present = np.flatnonzero(sizes)
    sizes = sizes[present]
    first = np.array([lists.first_block(number) for number in numbers[present].tolist()], np.int64)
    kernel = KERNEL.for_work(int(np.minimum(sizes, len(candidates) * BLOCK).sum()))
    if kernel is None:
        found = lists.several(first, sizes, candidates) if len(first) else []
        each = np.array([len(one.ids) for one in found], np.int64)
        ids = np.concatenate([NONE, *(one.ids for one in found)])
        return PostingsOfLists(np.repeat(present, each), ids, np.concatenate([NONE, *(one.tf for one in found)]))
    rows = np.zeros((5, len(present)), np.int64)
    rows[0], rows[2], rows[4] = present, first, sizes
    room = int(np.minimum(sizes, len(candidates)).sum())
    ids, tf, remaining = np.empty(room, np.uint32), np.empty(room, np.uint32), np.empty_like(rows)
    packed = lists.packed
    n, postings = kernel.restrict(
        packed.words, packed.first, packed.at, packed.widths, rows, NONE, NONE, candidates, remaining, ids, tf
    )
    return PostingsOfLists(np.repeat(remaining[0, :n], remaining[4, :n]), ids[:postings], tf[:postings])
