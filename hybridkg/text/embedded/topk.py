"""The best k of a query, without looking at what cannot be among them.

Where a query has common words, the peaks of their ranges (peaks.py) and the postings of its other words give each
range of 8 ids a bound that no score there is above. What has the highest bounds is scored first; of the rest only the
ranges whose bound reaches the k-th best score so far. Everything is exact: bounds are above scores whatever the
rounding, and a range whose bound equals the threshold is looked at, because ties are decided by rank.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.additive import (
    NO_LENGTHS,
    AdditiveForm,
    Best,
    Bounds,
    Floats,
    PackedPostings,
    QueryLists,
    rank,
    rank_few,
)
from hybridkg.text.embedded.peaks import RANGE, Peaks
from hybridkg.text.embedded.plain import PlainQuery
from hybridkg.text.kernels import PATIENCE, LazyKernel

BOUNDS = LazyKernel("hybridkg.text.embedded.bounds_kernel", behind=True)

FEWEST_POSTINGS = 5_000
"""With fewer it takes less time to score them all."""

FEW_POSTINGS = 500_000
"""Without common words, so many are unpacked at once."""

MOST_TERMS = 64
"""Terms of a query that is pruned."""

FIRST_RANGES = 32
"""Ranges scored before there is a threshold, and one more for each entity wanted."""

MOST_LOOK_UPS = 50_000
"""Entities times lists. To look for one of many entities in a list takes about 7 ns, so these take 0.35 ms, less than
the bounds of two common words in 100,000 entities. To rank a posting takes 4 to 11 ns.
"""

NO_LISTS = QueryLists.plain([], 1)

NARROW = 1_024
"""Entities that one word is scored for at once: few ranges are left, far from each other."""

WIDEST = 32_768
"""Entities that several words are scored for at once, at most."""

WINDOWS = 16
"""Several words look at about so many windows, where those are not too wide."""

FIRST_WINDOWS = 8
"""Windows that come in the order of their highest bound: they give the threshold that spares most of the others."""


def best_of(
    kernel: Any,
    query: PlainQuery,
    k: int,
    packed: PackedPostings,
    peaks: Peaks,
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
        narrow: uint8[rows, nodes], the lengths of the form, cut off at LONG; without rows if they are not at hand.
    """
    form, lists, postings, words, fields = query
    if among is not None and look_ups(among, lists) <= min(postings, MOST_LOOK_UPS):
        lists, postings = restricted(kernel, lists, packed, among)
        return rank_few(kernel, form, lists, postings, k, packed=packed, ranks=ranks, narrow=narrow)
    prunable = postings >= FEWEST_POSTINGS and len(words) <= MOST_TERMS and not (form.gain < 0).any()
    # Who has loaded one kernel needs the other as well; until it is there nothing is passed over.
    prunable = prunable and BOUNDS.for_work(PATIENCE) is not None
    common = peaks.of(words, form, fields) if prunable else {}
    if not common and among is None and postings <= FEW_POSTINGS:
        return rank_few(kernel, form, lists, postings, k, packed=packed, ranks=ranks, narrow=narrow)
    best = Best(min(k, postings))
    if not common:
        rank(kernel, form, lists, best, packed=packed, allowed=among, ranks=ranks)
        return best.found()
    highest = _scratch.bounds(peaks.ranges)
    wanted = FIRST_RANGES + len(best.ids)
    if len(words) == 1:
        first = bounds_of(form, lists, packed, peaks, common, wanted, highest)
        turns = [Bounds(highest, NARROW, low=first), Bounds(highest, NARROW, below=first)]
    else:
        bounds_of(form, lists, packed, peaks, common, 0, highest)
        width = width_of(len(highest))
        order = by_highest(highest, width)
        first = reached_by(highest[order[0] // RANGE :][: width // RANGE], wanted)
        turns = [
            Bounds(highest, width, order[:1], low=first),
            Bounds(highest, width, order[:1], below=first),
            Bounds(highest, width, order[1:]),
        ][: 2 + (len(order) > 1)]
    for turn, bounds in enumerate(turns, 1):
        last = turn == len(turns)
        rank(kernel, form, lists, best, packed=packed, allowed=among, ranks=ranks, bounds=bounds, last=last)
    return best.found()


def scores_of(kernel: Any, query: PlainQuery, packed: PackedPostings, wanted: Ids) -> tuple[Ids, Scores]:
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
    found = Best(min(len(wanted), postings))
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
    """Memory of a thread: new pages for the bounds of every query cost as much as the bounds."""

    def __init__(self) -> None:
        self._bounds = np.zeros(0, np.float32)

    def bounds(self, ranges: int) -> NDArray[np.float32]:
        if len(self._bounds) < ranges:
            self._bounds = np.empty(ranges, np.float32)
        return self._bounds[:ranges]


_scratch = _Scratch()


def width_of(ranges: int) -> int:
    """Entities of a window of several words: a power of two, so that there are about WINDOWS."""
    return min(WIDEST, max(NARROW, 1 << (ranges * RANGE // WINDOWS).bit_length()))


def by_highest(highest: NDArray[np.float32], width: int) -> NDArray[np.int64]:
    """int64[windows]: where windows of `width` ids begin, the FIRST_WINDOWS with the highest bounds first; the others
    ascend, so that lists are read in their order.

    >>> by_highest(np.array([1, 2, 9, 1, 5], np.float32), 16).tolist()
    [16, 32, 0]
    """
    begins = np.arange(0, len(highest), width // RANGE)
    order = np.argsort(-np.maximum.reduceat(highest, begins), kind="stable")
    order[FIRST_WINDOWS:].sort()
    return order * width


def reached_by(bounds: NDArray[np.float32], wanted: int) -> float:
    """What `wanted` of the bounds reach, or -inf where there are fewer."""
    return float(np.partition(bounds, -wanted)[-wanted]) if wanted <= len(bounds) else -math.inf


def bounds_of(
    form: AdditiveForm,
    lists: QueryLists,
    packed: PackedPostings,
    peaks: Peaks,
    common: Mapping[int, tuple[int, int, Floats]],
    wanted: int,
    out: NDArray[np.float32],
) -> float:
    """Fills float32[ranges] with bounds, and returns one that `wanted` ranges reach, or 0 where none are wanted.

    Args:
        form: the query.
        lists: its postings.
        packed: what packed lists are in.
        peaks: of the same segment.
        common: what `peaks.of` tells of the terms that are bounded by peaks; the others are by their postings.
        wanted: how many ranges.
        out: gets the bounds.
    """
    if len(common) == len(form.gain):
        rest = NO_LISTS
    else:
        rest = lists._replace(rows=np.ascontiguousarray(lists.rows[:, ~np.isin(lists.terms, list(common))]))
    background = form.constant
    if not form.k1:
        with np.errstate(divide="ignore", invalid="ignore"):
            background = background + np.where(form.background > 0, form.background / form.base, 0.0).sum(axis=1)
    kernel = BOUNDS.loaded
    assert kernel is not None  # or nothing is pruned
    bound = kernel.ranges(
        peaks.members, peaks.levels, np.array([place[:2] for place in common.values()], np.int64),
        np.array([codes for _, _, codes in common.values()]), np.array(list(common), np.int64),
        form.gain, form.k1, background, packed.words, packed.first, packed.at, packed.widths, *rest,
        form.lengths, form.rows, form.base, form.slope, form.coefficient, wanted, out,
    )  # fmt: skip
    return float(bound)
