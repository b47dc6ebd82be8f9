"""The best k of a query, without looking at what cannot be among them.

Where a query has common words, the peaks of their ranges (peaks.py) and the postings of its other words give each
range of 8 ids a bound that no score there is above. What has the highest bounds is scored first; of the rest only the
ranges whose bound reaches the k-th best score so far. Everything is exact: bounds are above scores whatever the
rounding, and a range whose bound equals the threshold is looked at, because ties are decided by rank.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.additive import ASCENDING, AdditiveForm, Best, Bounds, Floats, PackedPostings, QueryLists, rank
from hybridkg.text.embedded.peaks import RANGE, Peaks
from hybridkg.text.embedded.plain import PlainQuery
from hybridkg.text.kernels import LazyKernel

BOUNDS = LazyKernel("hybridkg.text.embedded.bounds_kernel")

FEWEST_POSTINGS = 20_000
"""With fewer it takes less time to score them all."""

MOST_TERMS = 64
"""Terms of a query that is pruned."""

FIRST_RANGES = 32
"""Ranges scored before there is a threshold, and one more for each entity wanted."""

NO_LISTS = QueryLists.plain([], 1)

NARROW = 1_024
"""Entities that one word is scored for at once: few ranges are left, far from each other."""

WINDOW = 32_768
"""Entities that several words are scored for at once: the threshold of the first windows, which are those with the
highest bounds, spares most of the others."""


def best_of(
    kernel: Any,
    query: PlainQuery,
    k: int,
    packed: PackedPostings,
    peaks: Peaks,
    ranks: Ids,
    among: Ids | None,
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
    """
    form, lists, words, fields = query.form, query.lists, query.words, query.fields
    postings = int(lists.sizes.sum())
    best = Best(min(k, postings))
    prunable = postings >= FEWEST_POSTINGS and len(words) <= MOST_TERMS and not (form.gain < 0).any()
    found = {t: peaks.of(word, form, t, fields) for t, word in enumerate(words)} if prunable else {}
    common = {t: place for t, place in found.items() if place is not None}
    if not common:
        rank(kernel, form, lists, best, packed=packed, allowed=among, ranks=ranks)
        return best.found()
    highest = _scratch.bounds(peaks.ranges)
    if len(words) == 1:
        first = bounds_of(form, lists, packed, peaks, common, FIRST_RANGES + len(best.ids), highest)
        turns = [Bounds(highest, ASCENDING, NARROW, low=first), Bounds(highest, ASCENDING, NARROW, below=first)]
    else:
        bounds_of(form, lists, packed, peaks, common, 0, highest)
        turns = [Bounds(highest, by_highest(highest, WINDOW), WINDOW)]
    for turn, bounds in enumerate(turns, 1):
        last = turn == len(turns)
        rank(kernel, form, lists, best, packed=packed, allowed=among, ranks=ranks, bounds=bounds, last=last)
    return best.found()


class _Scratch(threading.local):
    """Memory of a thread: new pages for the bounds of every query cost as much as the bounds."""

    def __init__(self) -> None:
        self._bounds = np.zeros(0, np.float32)

    def bounds(self, ranges: int) -> NDArray[np.float32]:
        if len(self._bounds) < ranges:
            self._bounds = np.empty(ranges, np.float32)
        return self._bounds[:ranges]


_scratch = _Scratch()


def by_highest(highest: NDArray[np.float32], width: int) -> NDArray[np.int64]:
    """int64[windows]: where windows of `width` ids begin, those with the highest bounds first.

    >>> by_highest(np.array([1, 2, 9, 1, 5], np.float32), 16).tolist()
    [16, 32, 0]
    """
    begins = np.arange(0, len(highest), width // RANGE)
    return np.argsort(-np.maximum.reduceat(highest, begins), kind="stable") * width


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
        other = ~np.isin(lists.terms, list(common))
        terms, fields, blocks, starts, sizes, ids, tf = lists
        rest = QueryLists(terms[other], fields[other], blocks[other], starts[other], sizes[other], ids, tf)
    background = form.constant
    if not form.k1:
        with np.errstate(divide="ignore", invalid="ignore"):
            background = background + np.where(form.background > 0, form.background / form.base, 0.0).sum(axis=1)
    kernel = BOUNDS.loaded or BOUNDS.load()
    assert kernel is not None  # it needs no more than the kernel that is already there
    bound = kernel.ranges(
        peaks.members, peaks.levels, np.array([place[:2] for place in common.values()], np.int64),
        np.array([codes for _, _, codes in common.values()]), np.array(list(common), np.int64),
        form.gain, form.k1, background, packed.words, packed.first, packed.at, packed.widths, *rest,
        form.lengths, form.rows, form.base, form.slope, form.coefficient, wanted, out,
    )  # fmt: skip
    return float(bound)
