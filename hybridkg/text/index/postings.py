"""The term dictionary and the posting lists of a segment, in mapped arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError
from hybridkg.interfaces.ranking_model import Postings
from hybridkg.interfaces.text_index import Ids
from hybridkg.rdf.gather import gathered
from hybridkg.text.id_sets import NO_POSTINGS, NONE, restricted
from hybridkg.text.index.codec.packing import (
    BLOCK,
    KERNEL,
    LANES,
    PADDING,
    block_sizes,
    blocks_of,
    rows_of,
    unpack_numpy,
)
from hybridkg.text.index.layout import Array, ArrayReader
from hybridkg.text.match_query.vocabulary import SortedTerms
from hybridkg.text.models.additive import PackedPostings


class TermDictionary(SortedTerms):
    """The sorted terms of a segment; a term's number is its place in UTF-8 order."""

    def __init__(self, reader: ArrayReader):
        offsets, text = reader.array("terms.offsets"), reader.array("terms.text")
        if not len(offsets) or int(offsets[-1]) != len(text):
            raise CorruptError("the terms of the text index and their offsets differ in size", hint="index again")
        super().__init__(offsets, text)
        self._prefixes = reader.array("terms.prefixes")
        if len(self._prefixes) != len(self):
            raise CorruptError("the terms of the text index and their prefixes differ in size", hint="index again")

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """`terms.prefixes`, `terms.offsets` and `terms.text`."""
        return self._prefixes, self.offsets, self.text

    def _agrees(self, number: int, term: bytes) -> bool:
        """Whether the stored prefix of a term is that of its bytes."""
        return bool(self._prefixes[number] == _prefix(term))

    def _first(self, wanted: bytes) -> int:
        """The number of the first term that is not below the wanted bytes."""
        prefix = _prefix(wanted)
        low = int(self._prefixes.searchsorted(prefix))
        if len(wanted) < 8:
            # Among terms with the same prefix, padding included, the shortest comes first.
            return low
        return self._first_of(wanted, low, int(self._prefixes.searchsorted(prefix, "right")))

    def places(self, terms: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """As in the base class, for sorted terms.

        Most new terms differ from all others in their first eight bytes, which numpy searches for at once.
        """
        wanted = prefixes_of(terms)
        low = self._prefixes.searchsorted(wanted).astype(np.int64)
        high = self._prefixes.searchsorted(wanted, "right")
        sizes = np.fromiter(map(len, terms), np.int64, len(terms))
        known = low < high
        # Among terms with the same prefix, padding included, the shortest comes first.
        short = np.flatnonzero(known & (sizes < 8))
        first = low[short]
        known[short] = self.offsets[first + 1].astype(np.int64) - self.offsets[first].astype(np.int64) == sizes[short]
        long = np.flatnonzero(known & (sizes >= 8))
        known[long] = is_first = self._are(low[long], [terms[i] for i in long.tolist()])
        for i in long[~is_first].tolist():
            term, begin, end = terms[i], int(low[i]), int(high[i])
            if self._bytes(begin) < term:
                low[i] = place = self._first_of(term, begin + 1, end)
                known[i] = place < end and self._bytes(place) == term
        return low, known

    def _are(self, numbers: NDArray[np.int64], terms: Sequence[bytes]) -> NDArray[np.bool_]:
        """bool[n]: whether terms have these bytes."""
        starts, ends = self.offsets[numbers].astype(np.int64), self.offsets[numbers + 1].astype(np.int64)
        sizes = np.fromiter(map(len, terms), np.int64, len(terms))
        are: NDArray[np.bool_] = (ends - starts == sizes) & (starts >= 0) & (ends <= len(self.text))
        stored, offsets = gathered(self.text, starts[are], ends[are])
        wanted = np.frombuffer(b"".join(term for term, own in zip(terms, are.tolist(), strict=True) if own), np.uint8)
        differing = np.add.reduceat(stored != wanted, offsets[:-1]) if len(stored) else np.zeros(0, np.int64)
        are[are] = differing == 0
        return are


def _prefix(term: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(term[:8].ljust(8, b"\0"), "big"))


def prefixes_of(terms: Sequence[bytes]) -> NDArray[np.uint64]:
    """uint64[n]: the first eight bytes of terms, zero-padded, which ascend where the terms do.

    >>> [hex(prefix) for prefix in prefixes_of([b"a", b"sea"]).tolist()]
    ['0x6100000000000000', '0x7365610000000000']
    """
    return np.array([*terms], "S8").view(">u8").astype("<u8") if terms else np.zeros(0, "<u8")


class SegmentPostings:
    """The posting lists of a segment, by their number: term * fields + field.

    Lists follow each other in the arrays, in the order of their numbers. In a segment with a tail that holds of the
    lists of the base among each other and of those of the tail, and some lists of the base belong to no term any more.
    """

    def __init__(self, reader: ArrayReader, n_lists: int):
        self.ends, self._tokens, self._blocks = (reader.array(f"lists.{n}") for n in ("postings", "tokens", "blocks"))
        self.packed = PackedPostings(
            reader.array("packed"),
            *(reader.array(f"blocks.{name}") for name in ("first", "at", "widths")),
        )
        self._positions = reader.array("positions")
        self.position_starts, self.tail = self._tokens, None
        if reader.has("lists.positions"):
            self.position_starts, self.tail = reader.array("lists.positions"), reader.tail_start("blocks.widths")
        packed, starts = self.packed, self.position_starts
        consistent = (
            len(self.ends) == len(self._tokens) == len(self._blocks) == len(starts) == n_lists + 1
            and int(self._blocks[-1]) == len(packed.first) == len(packed.at)
            and packed.widths.shape == (len(packed.first), 2)
            and int(starts[-1]) == len(self._positions)
            and self._has_all_words(reader)
        )
        if not consistent:
            raise CorruptError("the postings of the text index and their offsets differ in size", hint="index again")

    position_starts: Array
    """[lists + 1]: where the positions of each list begin. `lists.tokens` in a segment without a tail."""

    tail: int | None
    """The first posting block of the tail; None in a segment without one."""

    def _has_all_words(self, reader: ArrayReader) -> bool:
        """Whether the packed words end with the last block."""
        n_words, n_blocks = len(self.packed.words), len(self.packed.at)
        if self.tail is not None:
            if n_blocks == self.tail:
                return n_words == reader.tail_start("packed") + PADDING
            # The list of the last block is not known without a look at all lists.
            return self._words(1) <= n_words <= self._words(BLOCK)
        if not n_blocks:
            return n_words == PADDING
        last = int(np.searchsorted(self.ends, self.ends[-1]))
        return n_words == self._words((self.size(last - 1) - 1) % BLOCK + 1)

    def _words(self, size: int) -> int:
        """The number of packed words where the last block has so many postings."""
        rows = int(self.packed.at[-1]) + sum(int(rows_of(size, int(width))) for width in self.packed.widths[-1])
        return rows * LANES + PADDING

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """`lists.postings`, `lists.tokens` and `lists.blocks`."""
        return self.ends, self._tokens, self._blocks

    @property
    def all_positions(self) -> Array:
        """`positions`, of all lists."""
        return self._positions

    def directory(self, number: int, n: int) -> tuple[list[int], list[int], list[int]]:
        """n + 1 numbers each of `arrays`, for n lists from a number on."""
        own = slice(number, number + n + 1)
        return self.ends[own].tolist(), self._tokens[own].tolist(), self._blocks[own].tolist()

    def size(self, number: int) -> int:
        """The number of postings of a list."""
        return int(self.ends[number + 1]) - int(self.ends[number])

    def occurrences(self, number: int) -> int:
        """The number of occurrences of a list."""
        return int(self._tokens[number + 1]) - int(self._tokens[number])

    def sizes(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: the number of postings of each list."""
        return self.ends[numbers + 1].astype(np.int64) - self.ends[numbers].astype(np.int64)

    def first_block(self, number: int) -> int:
        """The first posting block of a list."""
        return int(self._blocks[number])

    def postings(self, number: int) -> Postings:
        """A list, unpacked."""
        size = self.size(number)
        if not size:
            return NO_POSTINGS
        begin, n_blocks = int(self._blocks[number]), (size + BLOCK - 1) // BLOCK
        sizes = np.full(n_blocks, BLOCK, np.int64)
        sizes[-1] = size - BLOCK * (n_blocks - 1)
        return Postings(*self._read(np.arange(begin, begin + n_blocks), sizes))

    def restricted(self, number: int, candidates: Ids) -> Postings:
        """The postings of the candidates, which ascend; unpacks only the posting blocks that may contain one."""
        size = self.size(number)
        if not size:
            return NO_POSTINGS
        return self.several(np.array([self.first_block(number)]), np.array([size]), candidates)[0]

    def positions(self, number: int) -> NDArray[Any]:
        """The positions of all occurrences of a list, entity by entity: sum(tf) numbers."""
        begin = int(self.position_starts[number])
        return self._positions[begin : begin + self.occurrences(number)]

    def positions_of(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """The positions of several lists, one list after the other; lists that are adjacent are copied at once."""
        sizes = self._tokens[numbers + 1].astype(np.int64) - self._tokens[numbers].astype(np.int64)
        begins = self.position_starts[numbers[sizes > 0]].astype(np.int64)
        ends = begins + sizes[sizes > 0]
        follows = begins[1:] == ends[:-1]
        firsts, lasts = begins[np.append(True, ~follows)[: len(begins)]], ends[np.append(~follows, True)[: len(ends)]]
        ranges = zip(firsts.tolist(), lasts.tolist(), strict=True)
        return np.concatenate([self._positions[:0], *(self._positions[begin:end] for begin, end in ranges)])

    def owners(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: the list of each of some places in `positions`; -1 where no list has it any more."""
        if self.tail is None:
            return self._tokens.searchsorted(places, "right") - 1
        numbers, begins, ends = self._by_place
        if not len(numbers):
            return np.full(len(places), -1)
        at = begins.searchsorted(places, "right") - 1
        return np.where((at >= 0) & (places < ends[at]), numbers[at], -1)

    @cached_property
    def _by_place(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """int64[n] each: the lists that are not empty by the place of their positions, where these begin and end."""
        numbers = np.flatnonzero(self._tokens[1:] > self._tokens[:-1])
        numbers = numbers[np.argsort(self.position_starts[numbers])]
        begins = self.position_starts[numbers].astype(np.int64)
        sizes = self._tokens[numbers + 1].astype(np.int64) - self._tokens[numbers].astype(np.int64)
        return numbers, begins, begins + sizes

    def lists(self, begin: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]:
        """Consecutive lists, unpacked and concatenated: (postings of each int64[end - begin], ids, tf)."""
        if self.tail is not None:
            return self.chosen(np.arange(begin, end))
        ends_of = self.ends[begin : end + 1].astype(np.int64)
        sizes: NDArray[np.int64] = ends_of[1:] - ends_of[:-1]
        first, last = int(self._blocks[begin]), int(self._blocks[end])
        blocks = np.full(last - first, BLOCK, np.int64)
        ends = self._blocks[begin + 1 : end + 1].astype(np.int64) - first
        present = sizes > 0
        blocks[ends[present] - 1] = (sizes[present] - 1) % BLOCK + 1
        return sizes, *self._read(np.arange(first, last), blocks)

    def chosen(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]:
        """As `lists`, of lists with any numbers."""
        sizes = self.sizes(numbers)
        n_blocks = blocks_of(sizes)
        first = self._blocks[numbers].astype(np.int64) - (np.cumsum(n_blocks) - n_blocks)
        return sizes, *self._read(np.arange(int(n_blocks.sum())) + np.repeat(first, n_blocks), block_sizes(sizes))

    def several(
        self, first_blocks: NDArray[np.int64], sizes: NDArray[np.int64], among: Ids | None = None
    ) -> list[Postings]:
        """Several lists, unpacked together, which without a kernel takes little longer than one.

        Args:
            first_blocks: int64[l], first block of each.
            sizes: int64[l], postings of each, at least 1.
            among: uint32[n], ascending candidates: only their postings, from the blocks that may contain one.
        """
        blocks: list[NDArray[np.int64]] = []
        full: list[NDArray[np.int64]] = []
        for begin, size in zip(first_blocks.tolist(), sizes.tolist(), strict=True):
            end = begin + (size + BLOCK - 1) // BLOCK
            own = np.arange(begin, end) if among is None else self._holding(begin, end, among)
            each = np.full(len(own), BLOCK, np.int64)
            if len(own) and own[-1] == end - 1:
                each[-1] = (size - 1) % BLOCK + 1
            blocks.append(own)
            full.append(each)
        read = [int(each.sum()) for each in full]
        if not sum(read):
            return [NO_POSTINGS] * len(read)
        ids, tf = self._read(np.concatenate(blocks), np.concatenate(full))
        ends = np.cumsum(read).tolist()
        lists = [Postings(ids[end - n : end], tf[end - n : end]) for n, end in zip(read, ends, strict=True)]
        return lists if among is None else [restricted(postings, among) for postings in lists]

    def _holding(self, begin: int, end: int, candidates: Ids) -> NDArray[np.int64]:
        """int64[...]: the blocks of begin..end-1 that may contain a candidate; candidates ascend."""
        # Block i covers the ids from its first one to that of the next block.
        place = self.packed.first[begin:end].searchsorted(candidates, "right")
        return np.flatnonzero(np.bincount(place, minlength=end - begin + 1)[1:]) + begin

    def _read(
        self, blocks: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        packed, total = self.packed, int(sizes.sum())
        if len(blocks) and (blocks[1:] == blocks[:-1] + 1).all():
            where: Any = slice(int(blocks[0]), int(blocks[-1]) + 1)
        else:
            where = blocks
        first, at, widths = packed.first[where], packed.at[where], packed.widths[where]
        kernel = KERNEL.for_work(total)
        if kernel is None:
            return unpack_numpy(packed.words, first, at, widths, sizes)
        ids, tf = np.empty(total + 3, np.uint32), np.empty(total + 3, np.uint32)
        kernel.unpack(packed.words, first, at, widths, sizes, ids, tf)
        return ids[:total], tf[:total]


class FieldPostings:
    """The posting lists of one field, by term number; -1 is a term that the index lacks."""

    def __init__(self, lists: SegmentPostings, field: int, n_fields: int):
        self._lists, self._field, self._n_fields = lists, field, n_fields

    def _number(self, term: int) -> int:
        return term * self._n_fields + self._field

    def postings(self, term: int) -> Postings:
        """The posting list of a term."""
        return self._lists.postings(self._number(term)) if term >= 0 else NO_POSTINGS

    def frequencies(self, terms: Array) -> Array:
        """The df of each of the terms, all of the index."""
        return self._lists.sizes(np.asarray(terms, np.int64) * self._n_fields + self._field)

    def occurrences(self, term: int) -> int:
        """The cf of a term in the field."""
        return self._lists.occurrences(self._number(term)) if term >= 0 else 0

    def positions(self, term: int) -> NDArray[Any]:
        """The positions of all occurrences, entity by entity: sum(tf) numbers."""
        return self._lists.positions(self._number(term)) if term >= 0 else NONE
