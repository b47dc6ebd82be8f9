"""Where the lists of a segment lie in its arrays, as ranges of posting blocks and of positions.

In a segment without a tail, the lists follow each other in the order of their numbers. In one with a tail, those of the
base do so among each other, with lists between them that belong to no term any more, and so do those of the tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.storage.distinct import sorted_distinct
from hybridkg.text.index.codec.packing import blocks_of
from hybridkg.text.index.layout import Array
from hybridkg.text.index.postings import SegmentPostings

I64 = NDArray[np.int64]


class ListSpans(NamedTuple):
    """Spans of lists that lie one after the other.

    Args:
        owners: int64[s], ascending, the range of numbers of each span.
        blocks: int64[2, s], its first posting block and the one behind its last.
        positions: int64[2, s], likewise.
    """

    owners: I64
    blocks: I64
    positions: I64


class ListPlaces(Protocol):
    """Where some lists of a segment lie."""

    def spans(self, firsts: I64, ends: I64) -> ListSpans:
        """The spans of the lists among them with the numbers first..end-1, for each of n ranges, which ascend and do
        not overlap; in the order of the numbers.
        """
        ...


@dataclass(frozen=True)
class _Ordered:
    """All lists of a segment without a tail."""

    lists: SegmentPostings

    def spans(self, firsts: I64, ends: I64) -> ListSpans:
        _, tokens, blocks = self.lists.arrays
        owners = np.flatnonzero(blocks[firsts] < blocks[ends])
        numbers = np.array([firsts[owners], ends[owners]])
        return ListSpans(owners, blocks[numbers].astype(np.int64), tokens[numbers].astype(np.int64))


@dataclass(frozen=True)
class _Scattered:
    """Some lists of a segment with a tail, none of them empty.

    Args:
        numbers: int64[n], ascending.
        blocks: int64[2, n], the first posting block of each and the one behind its last.
        positions: int64[2, n], likewise.
        cuts: int64[...], the places among them of the lists that do not lie behind the one before, ascending.
    """

    numbers: I64
    blocks: I64
    positions: I64
    cuts: I64

    @classmethod
    def of(cls, lists: SegmentPostings, numbers: I64) -> _Scattered:
        _, tokens, first = lists.arrays
        begins, starts = first[numbers].astype(np.int64), lists.position_starts[numbers].astype(np.int64)
        ends = begins + blocks_of(lists.sizes(numbers))
        sizes = tokens[numbers + 1].astype(np.int64) - tokens[numbers].astype(np.int64)
        # Where the base fills its last page, the blocks of the tail have the next numbers, but not its packed words.
        follows = (begins[1:] == ends[:-1]) & (begins[1:] != lists.tail)
        cuts = np.flatnonzero(~follows) + 1
        return cls(numbers, np.array([begins, ends]), np.array([starts, starts + sizes]), cuts)

    def spans(self, firsts: I64, ends: I64) -> ListSpans:
        begins, untils = self.numbers.searchsorted(firsts), self.numbers.searchsorted(ends)
        some = np.flatnonzero(begins < untils)
        begins, untils = begins[some], untils[some]
        edges = sorted_distinct(np.concatenate([begins, self.cuts]))
        own = begins.searchsorted(edges, "right") - 1
        is_inside = (own >= 0) & (edges < untils[own]) if len(some) else np.zeros(len(edges), bool)
        edges, own = edges[is_inside], own[is_inside]
        lasts = np.minimum(np.append(edges[1:], len(self.numbers)), untils[own]) - 1
        blocks, positions = (np.array([one[0][edges], one[1][lasts]]) for one in (self.blocks, self.positions))
        return ListSpans(some[own], blocks, positions)


def all_lists(lists: SegmentPostings) -> ListPlaces:
    """The places of all lists."""
    if lists.tail is None:
        return _Ordered(lists)
    return _Scattered.of(lists, np.flatnonzero(lists.ends[1:] > lists.ends[:-1]))


def some_lists(lists: SegmentPostings, numbers: I64) -> ListPlaces:
    """The places of some lists, int64[n], ascending, none of them empty."""
    return _Scattered.of(lists, numbers)


def tail_lists(lists: SegmentPostings) -> I64:
    """int64[n], ascending: the lists in the tail that are not empty."""
    if lists.tail is None:
        return np.zeros(0, np.int64)
    numbers = np.flatnonzero(lists.arrays[2][:-1] >= lists.tail)
    return numbers[lists.sizes(numbers) > 0]


def block_offsets(lists: SegmentPostings) -> Array:
    """[lists + 1]: the posting blocks of all lists before each."""
    if lists.tail is None:
        return lists.arrays[2]
    counts = blocks_of(lists.ends[1:].astype(np.int64) - lists.ends[:-1].astype(np.int64))
    return np.concatenate(([0], np.cumsum(counts)))
