"""Top-k of a query: block-max pruning where it has common words, exhaustive ranking elsewhere.

Block maxima of common words (block_max.py) and the postings of the other words give each document block an upper bound.
The blocks with the highest bounds are scored first, then only blocks whose bound reaches the k-th best score so far.
The result is exact: bounds include the rounding error, and a block whose bound equals the threshold is scored, because
ties are decided by rank.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LOAD_AFTER_POSTINGS, LazyKernel
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.id_sets import NONE
from hybridkg.text.index.field_lengths import NO_LENGTHS
from hybridkg.text.index.layout import DOC_BLOCK, FIELD_SETS
from hybridkg.text.index.topk.bag_of_words import BagQuery
from hybridkg.text.index.topk.block_max import BlockMaxBounds, BlockMaxIndex
from hybridkg.text.models.additive import (
    CHUNK,
    AdditiveForm,
    PackedPostings,
    QueryLists,
    TopKHeap,
    rank,
    rank_small,
)

BOUNDS = LazyKernel("hybridkg.text.index.topk.block_max_kernel", background=True)

MIN_POSTINGS = 5_000
"""Postings below which exhaustive scoring takes less time than pruning."""

FEW_POSTINGS = 500_000
"""Postings up to which a query without common words is unpacked at once."""

MAX_TERMS = 64
"""Maximum number of terms of a pruned query."""

FIRST_BLOCKS = 32
"""Blocks scored before there is a threshold, in addition to k."""

MAX_LOOKUPS = 50_000
"""Candidates times lists. One look-up in a list takes about 7 ns, so these take 0.35 ms, less than the bounds of two
common words in 100,000 entities. Ranking a posting takes 4 to 11 ns.
"""

MAX_BLOCKS = 2_048
"""Maximum number of blocks of a batch."""

MIN_BLOCKS = 128
"""Minimum number of blocks of a batch, for queries of many terms."""

MAX_SUMS = 8_192
"""Blocks times terms of a batch, so that its scratch memory fits the cache."""

ROOM = 256
"""Postings that a kernel may write beyond those of a batch."""


def top_k(
    kernel: Any,
    query: BagQuery,
    k: int,
    packed: PackedPostings,
    block_maxima: BlockMaxIndex,
    ranks: Ids,
    among: Ids | None,
    narrow: NDArray[np.uint8] = NO_LENGTHS,
) -> tuple[Ids, Scores]:
    """The k best entities: (ids, scores), best first.

    Args:
        kernel: `additive.KERNEL`, loaded.
        query: its word number is -1 for each term that is not one word in all its fields.
        k: maximum number of results.
        packed: the postings of packed lists.
        block_maxima: of the same segment.
        ranks: uint32[nodes], order among ties; empty for the ids themselves.
        among: uint32[n], ascending candidates; None for all entities.
        narrow: uint8[nodes, rows], of `narrow_lengths`; may be empty.
    """
    form, lists, postings, words, fields = query
    if among is not None and look_ups(among, lists) <= min(postings, MAX_LOOKUPS):
        lists, postings = restricted(kernel, lists, packed, among)
        return rank_small(kernel, form, lists, postings, k, packed=packed, ranks=ranks, narrow=narrow)
    prunable = postings >= MIN_POSTINGS and len(words) <= MAX_TERMS and not (form.gain < 0).any()
    # The pruning kernel loads in the background; until then ranking is exhaustive.
    prunable = prunable and BOUNDS.for_work(LOAD_AFTER_POSTINGS) is not None
    common = block_maxima.bounds(words, form, fields) if prunable else {}
    if not common and among is None and postings <= FEW_POSTINGS:
        return rank_small(kernel, form, lists, postings, k, packed=packed, ranks=ranks, narrow=narrow)
    best = TopKHeap(min(k, postings))
    if common:
        rank_with_block_max(form, lists, best, packed, block_maxima, common, fields, ranks, among, narrow)
    else:
        rank(kernel, form, lists, best, packed=packed, allowed=among, ranks=ranks, postings=postings)
    return best.found()


def rank_with_block_max(
    form: AdditiveForm,
    lists: QueryLists,
    best: TopKHeap,
    packed: PackedPostings,
    block_maxima: BlockMaxIndex,
    common: Mapping[int, BlockMaxBounds],
    numbers: Sequence[int],
    ranks: Ids,
    among: Ids | None,
    narrow: NDArray[np.uint8],
) -> tuple[float, float]:
    """Block-max pruned top-k; the arguments beyond these are those of `top_k` and of its query.

    Args (in part):
        best: empty; gets the results, best first.
        common: of `block_maxima.bounds`; the postings of the other terms bound them.
        numbers: the index's number of each field of the form.

    Returns:
        The scale of bounds, as of `bounds_kernel.term_upper_bounds`.
    """
    n_terms, n_fields = form.coefficient.shape
    row = np.arange(-1, -1 - n_terms, -1)
    row[[*common]] = range(len(common))
    if len(common) < n_terms:
        row[row < 0] = range(-1, len(common) - n_terms - 1, -1)
    max_background = form.constant
    if not form.k1:
        with np.errstate(divide="ignore", invalid="ignore"):
            max_background = max_background + np.where(
                form.background > 0, form.background / form.base, 0.0
            ).sum(axis=1)  # fmt: skip
    batch_blocks = min(MAX_BLOCKS, max(MIN_BLOCKS, MAX_SUMS // n_terms))
    kernel = BOUNDS.loaded
    assert kernel is not None  # or nothing is pruned
    n_blocks, own = block_maxima.n_blocks, common.values()
    _scratch.grow(
        n_blocks, ((n_terms + 3) * DOC_BLOCK + n_terms) * batch_blocks,
        3 * (DOC_BLOCK * batch_blocks + ROOM) + 4 * batch_blocks, (n_terms + n_fields + 3) * CHUNK,
    )  # fmt: skip
    best.n, best.scored, empty_doc_score, unit = kernel.top_k(
        block_maxima.members, block_maxima.levels, np.array([bounds[:5] for bounds in own], np.int64).reshape(-1, 5),
        block_maxima.codes, np.array([bounds.factor for bounds in own]),
        np.array(numbers, np.uint8) % FIELD_SETS, row, max_background,
        packed.words, packed.first, packed.at, packed.widths, *lists,
        form.lengths, narrow, form.rows, form.base, form.slope, form.coefficient, form.gain, form.k1,
        form.background, form.constant, form.words,
        NONE if among is None else among, among is not None, ranks, FIRST_BLOCKS + len(best.ids), batch_blocks,
        _scratch.bounds[:n_blocks], _scratch.sums, _scratch.slots, _scratch.floats, _scratch.uints, _scratch.room,
        best.ids, best.ranks, best.scores,
    )  # fmt: skip
    return empty_doc_score, unit


def scores_of(kernel: Any, query: BagQuery, packed: PackedPostings, wanted: Ids | None) -> tuple[Ids, Scores]:
    """The scores of the matching entities: (ids ascending, scores).

    Args:
        kernel: `additive.KERNEL`, loaded.
        query: any.
        packed: the postings of packed lists.
        wanted: uint32[n], ascending candidates; None for all entities.
    """
    form, lists, postings = query[:3]
    room = postings if wanted is None else min(len(wanted), postings)
    if wanted is not None and look_ups(wanted, lists) <= postings:
        (lists, postings), wanted = restricted(kernel, lists, packed, wanted), None
    heap = TopKHeap(room)
    rank(kernel, form, lists, heap, packed=packed, allowed=wanted, complete=True, postings=postings)
    return heap.found()


def look_ups(candidates: Ids, lists: QueryLists) -> int:
    """The number of look-ups of each candidate in each list."""
    n_lists: int = lists.rows.shape[1]
    return len(candidates) * n_lists


def restricted(kernel: Any, lists: QueryLists, packed: PackedPostings, candidates: Ids) -> tuple[QueryLists, int]:
    """The postings of the candidates, which ascend, and their number."""
    rows = np.empty(lists.rows.shape, np.int64)
    room = int(np.minimum(lists.sizes, len(candidates)).sum())
    ids, tf = np.empty(room, np.uint32), np.empty(room, np.uint32)
    n, postings = kernel.restrict(
        packed.words, packed.first, packed.at, packed.widths, *lists, candidates, rows, ids, tf
    )  # fmt: skip
    return QueryLists(np.ascontiguousarray(rows[:, :n]), ids, tf), postings


class _Scratch(threading.local):
    """Memory of a thread: allocating it for every query would cost as much as the query. Between queries `sums` are 0
    and `slots` -1.
    """

    def __init__(self) -> None:
        self.bounds, self.sums, self.slots = np.zeros(0, np.uint16), np.zeros(0), np.zeros(0, np.int32)
        self.floats, self.room, self.uints = np.zeros(0), np.zeros(0), np.zeros(0, np.uint32)

    def grow(self, blocks: int, floats: int, uints: int, room: int) -> None:
        if len(self.bounds) < blocks:
            self.bounds, self.sums = np.empty(blocks, np.uint16), np.zeros(blocks)
            self.slots = np.full(blocks, -1, np.int32)
        if len(self.floats) < floats:
            self.floats = np.empty(floats)
        if len(self.room) < room:
            self.room = np.empty(room)
        if len(self.uints) < uints:
            self.uints = np.empty(uints, np.uint32)


_scratch = _Scratch()
