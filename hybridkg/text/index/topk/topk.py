"""The best k of a query, without looking at what cannot be among them.

Where a query has common words, the peaks of their ranges (peaks.py) and the postings of its other words give each
range of 4 ids a bound that no score there is above. What has the highest bounds is scored first; of the rest only the
ranges whose bound reaches the k-th best score so far. Everything is exact: bounds are above scores whatever the
rounding, and a range whose bound equals the threshold is looked at, because ties are decided by rank.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LOAD_AFTER_POSTINGS, LazyKernel
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.index.field_lengths import NO_LENGTHS
from hybridkg.text.index.layout import DOC_BLOCK
from hybridkg.text.index.topk.bag_of_words import BagQuery
from hybridkg.text.index.topk.block_max import SETS, BlockMaxBounds, BlockMaxIndex
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
"""With fewer it takes less time to score them all."""

FEW_POSTINGS = 500_000
"""Without common words, so many are unpacked at once."""

MAX_TERMS = 64
"""Terms of a query that is pruned."""

FIRST_RANGES = 32
"""Ranges scored before there is a threshold, and one more for each entity wanted."""

MAX_LOOKUPS = 50_000
"""Entities times lists. To look for one of many entities in a list takes about 7 ns, so these take 0.35 ms, less than
the bounds of two common words in 100,000 entities. To rank a posting takes 4 to 11 ns.
"""

MAX_BLOCKS = 2_048
"""Ranges that are looked at together."""

MIN_BLOCKS = 128
"""The same of queries of many terms."""

MAX_SUMS = 8_192
"""Ranges times terms that are looked at together, so that what comes of their entities stays in the cache."""

ROOM = 256
"""Postings that a kernel may write beyond those of a batch."""

NO_IDS = np.zeros(0, np.uint32)


def top_k(
    kernel: Any,
    query: BagQuery,
    k: int,
    packed: PackedPostings,
    peaks: BlockMaxIndex,
    ranks: Ids,
    among: Ids | None,
    narrow: NDArray[np.uint8] = NO_LENGTHS,
) -> tuple[Ids, Scores]:
    """(ids, scores) of the best k, best first.

    Args:
        kernel: of additive.py, compiled.
        query: in numbers; -1 stands for each term that is not one word in all its fields.
        k: how many at most.
        packed: what packed lists are in.
        peaks: of the same segment.
        ranks: uint32[nodes], which decide ties; empty for the ids themselves.
        among: uint32[n], ascending: the only entities that count; None for all.
        narrow: uint8[nodes, rows], of `narrow_lengths`; empty if not at hand.
    """
    form, lists, postings, words, fields = query
    if among is not None and look_ups(among, lists) <= min(postings, MAX_LOOKUPS):
        lists, postings = restricted(kernel, lists, packed, among)
        return rank_small(kernel, form, lists, postings, k, packed=packed, ranks=ranks, narrow=narrow)
    prunable = postings >= MIN_POSTINGS and len(words) <= MAX_TERMS and not (form.gain < 0).any()
    # Who has loaded one kernel needs the other as well; until it is there nothing is passed over.
    prunable = prunable and BOUNDS.for_work(LOAD_AFTER_POSTINGS) is not None
    common = peaks.of(words, form, fields) if prunable else {}
    if not common and among is None and postings <= FEW_POSTINGS:
        return rank_small(kernel, form, lists, postings, k, packed=packed, ranks=ranks, narrow=narrow)
    best = TopKHeap(min(k, postings))
    if common:
        rank_with_block_max(form, lists, best, packed, peaks, common, fields, ranks, among, narrow)
    else:
        rank(kernel, form, lists, best, packed=packed, allowed=among, ranks=ranks)
    return best.found()


def rank_with_block_max(
    form: AdditiveForm,
    lists: QueryLists,
    best: TopKHeap,
    packed: PackedPostings,
    peaks: BlockMaxIndex,
    common: Mapping[int, BlockMaxBounds],
    numbers: Sequence[int],
    ranks: Ids,
    among: Ids | None,
    narrow: NDArray[np.uint8],
) -> tuple[float, float]:
    """Fills `best`, in order. Returns what the bounds of ranges mean, as `bounds_kernel.weigh` has it.

    Args:
        form: the query.
        lists: its postings.
        best: empty.
        packed: what packed lists are in.
        peaks: of the same segment.
        common: what `peaks.of` tells of the terms that are bounded by peaks; the others are by their postings.
        numbers: the index's number of each field of the form.
        ranks: as of `top_k`.
        among: as of `top_k`.
        narrow: as of `top_k`.
    """
    n_terms, n_fields = form.coefficient.shape
    place = np.arange(-1, -1 - n_terms, -1)
    place[[*common]] = range(len(common))
    if len(common) < n_terms:
        place[place < 0] = range(-1, len(common) - n_terms - 1, -1)
    highest = form.constant
    if not form.k1:
        with np.errstate(divide="ignore", invalid="ignore"):
            highest = highest + np.where(form.background > 0, form.background / form.base, 0.0).sum(axis=1)
    most = min(MAX_BLOCKS, max(MIN_BLOCKS, MAX_SUMS // n_terms))
    kernel = BOUNDS.loaded
    assert kernel is not None  # or nothing is pruned
    _scratch.grow(
        peaks.ranges, ((n_terms + 3) * DOC_BLOCK + n_terms) * most, 3 * (DOC_BLOCK * most + ROOM) + 4 * most,
        (n_terms + n_fields + 3) * CHUNK,
    )  # fmt: skip
    best.n, best.scored, nothing, unit = kernel.top_k(
        peaks.members, peaks.levels, np.array([found[:5] for found in common.values()], np.int64).reshape(-1, 5),
        peaks.codes, np.array([found.factor for found in common.values()]),
        np.array(numbers, np.uint8) % SETS, place, highest,
        packed.words, packed.first, packed.at, packed.widths, *lists,
        form.lengths, narrow, form.rows, form.base, form.slope, form.coefficient, form.gain, form.k1,
        form.background, form.constant, form.words,
        NO_IDS if among is None else among, among is not None, ranks, FIRST_RANGES + len(best.ids), most,
        _scratch.bounds[: peaks.ranges], _scratch.sums, _scratch.slots, _scratch.floats, _scratch.whole, _scratch.room,
        best.ids, best.ranks, best.scores,
    )  # fmt: skip
    return nothing, unit


def scores_of(kernel: Any, query: BagQuery, packed: PackedPostings, wanted: Ids) -> tuple[Ids, Scores]:
    """(ids ascending, scores) of those of some entities that match.

    Args:
        kernel: of additive.py, compiled.
        query: in numbers.
        packed: what packed lists are in.
        wanted: uint32[n], ascending.
    """
    form, lists, postings = query[:3]
    allowed: Ids | None = wanted
    if look_ups(wanted, lists) <= postings:
        (lists, postings), allowed = restricted(kernel, lists, packed, wanted), None
    found = TopKHeap(min(len(wanted), postings))
    rank(kernel, form, lists, found, packed=packed, allowed=allowed, complete=True)
    return found.found()


def look_ups(wanted: Ids, lists: QueryLists) -> int:
    """How many it takes to look for each of some entities in each list."""
    return len(wanted) * len(lists.sizes)


def restricted(kernel: Any, lists: QueryLists, packed: PackedPostings, wanted: Ids) -> tuple[QueryLists, int]:
    """The postings of some entities, which ascend, and how many there are."""
    kept = np.empty(lists.rows.shape, np.int64)
    room = int(np.minimum(lists.sizes, len(wanted)).sum())
    ids, tf = np.empty(room, np.uint32), np.empty(room, np.uint32)
    n, postings = kernel.restrict(
        packed.words, packed.first, packed.at, packed.widths, *lists, wanted, kept, ids, tf
    )  # fmt: skip
    return QueryLists(np.ascontiguousarray(kept[:, :n]), ids, tf), postings


class _Scratch(threading.local):
    """Memory of a thread: new pages for every query would cost as much as the query. Between queries `sums` are
    0 and `slots` -1.
    """

    def __init__(self) -> None:
        self.bounds, self.sums, self.slots = np.zeros(0, np.uint16), np.zeros(0), np.zeros(0, np.int32)
        self.floats, self.room, self.whole = np.zeros(0), np.zeros(0), np.zeros(0, np.uint32)

    def grow(self, ranges: int, floats: int, whole: int, room: int) -> None:
        if len(self.bounds) < ranges:
            self.bounds, self.sums, self.slots = (
                np.empty(ranges, np.uint16),
                np.zeros(ranges),
                np.full(ranges, -1, np.int32),
            )
        if len(self.floats) < floats:
            self.floats = np.empty(floats)
        if len(self.room) < room:
            self.room = np.empty(room)
        if len(self.whole) < whole:
            self.whole = np.empty(whole, np.uint32)


_scratch = _Scratch()
