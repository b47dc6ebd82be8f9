"""Whether posting lists have some postings: their ids, tf and positions, as the texts of entities tell them.

A commit looks up the postings of changed fields that stay as they are, some in each of many long lists. The kernel
unpacks the posting blocks that have one, and of those before them the tf that are not all 1: 5 ms for 500 postings in
lists of 280,000, where unpacking all of these takes 20 (100 keywords of 500,000 papers).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.index.build.list_edits import KERNEL, Entering
from hybridkg.text.index.postings import SegmentPostings

I64 = NDArray[np.int64]


def are_held(lists: SegmentPostings, numbers: I64, postings: Entering, chunk_postings: int) -> bool:
    """Whether all of some postings are in their lists.

    Args:
        lists: of a segment.
        numbers: int64[t], ascending: the numbers of lists.
        postings: by the number of the list, which is one of these.
        chunk_postings: of the lists that are unpacked at once where there is no kernel.
    """
    places = np.searchsorted(numbers, postings.lists)
    kernel = KERNEL.for_work(int(lists.sizes(numbers).sum()))
    if kernel is None:
        tf, before = held_numpy(lists, numbers, places, postings.ids, chunk_postings)
    else:
        tf, before = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
        packed, first = lists.packed, lists.arrays[2][numbers].astype(np.int64)
        kernel.find_postings(
            packed.words, packed.first, packed.at, packed.widths, first, lists.sizes(numbers), places, postings.ids,
            tf, before,
        )  # fmt: skip
    if (tf != postings.tf).any():
        return False
    starts = lists.position_starts[postings.lists].astype(np.int64) + before
    shift = starts - (np.cumsum(postings.tf, dtype=np.int64) - postings.tf)
    where = np.arange(len(postings.positions)) + np.repeat(shift, postings.tf)
    return not (lists.all_positions[where] != postings.positions).any()


def held_numpy(
    lists: SegmentPostings, numbers: I64, places: I64, ids: NDArray[np.uint32], chunk_postings: int
) -> tuple[I64, I64]:
    """The numpy reference of the kernel `find_postings`.

    Args:
        lists: of a segment.
        numbers: int64[t], ascending: the numbers of lists.
        places: int64[p], ascending: the list of each posting, as a place in `numbers`.
        ids: uint32[p], ascending within each list.
        chunk_postings: of the lists that are unpacked at once.

    Returns:
        (the tf of each posting int64[p], 0 for one that its list lacks; the occurrences in its list before it int64[p],
        0 for one that its list lacks).
    """
    found, tokens = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
    ends = np.cumsum(lists.sizes(numbers))
    cuts = np.flatnonzero(np.diff(ends // chunk_postings)) + 1
    for first, end in zip(np.append(0, cuts).tolist(), np.append(cuts, len(numbers)).tolist(), strict=True):
        own = slice(*places.searchsorted([first, end]).tolist())
        sizes, held, tf = lists.chosen(numbers[first:end])
        if not len(held) or own.start == own.stop:
            continue
        keys = np.repeat(np.arange(first, end, dtype=np.uint64), sizes) << np.uint64(32) | held
        wanted = places[own].astype(np.uint64) << np.uint64(32) | ids[own]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        is_there = keys[at] == wanted
        before = np.concatenate(([0], np.cumsum(tf, dtype=np.int64)))
        starts = before[np.cumsum(sizes) - sizes]
        found[own] = np.where(is_there, tf[at], 0)
        tokens[own] = np.where(is_there, before[at] - starts[places[own] - first], 0)
    return found, tokens
