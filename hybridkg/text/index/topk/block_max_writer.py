"""The writer of the block maxima of common words, `peaks.*`, from the posting lists of a segment."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.index.codec.packing import KERNEL
from hybridkg.text.index.field_presence import FieldTotals
from hybridkg.text.index.layout import DOC_BLOCK, FIELD_SETS, Array, ArrayReader, ArrayWriter
from hybridkg.text.index.postings import SegmentPostings, TermDictionary
from hybridkg.text.index.term_field_sets import TermSets
from hybridkg.text.index.topk.block_max import COARSE, BlockMaxForm, default_forms, rounded_lengths, words_of
from hybridkg.text.index.topk.block_max_levels import quantised
from hybridkg.text.index.topk.earlier_block_max import LOOSE, EarlierBlockMaxima, StoredMaxima
from hybridkg.text.index.topk.patched_block_max import PatchedBlockMaxima
from hybridkg.text.index.topk.stored_levels import ArrayPiece, write_levels, write_pieces
from hybridkg.text.models.additive import Floats

COMMON = 64
"""A word has block maxima if at least one in this many entities has it."""

MAX_THREADS = 4
"""Threads that compute block maxima; each holds 32 bytes for four entities."""

SHORT = 2_048
"""Lengths whose share of each form is computed once, 16 kB for each field of a form."""

MAX_LOOSE = 0.25
"""Share of the document blocks that may have levels above the lowest ones (`earlier_block_max.MAX_DRIFT` has the cost
of this); above it, all maxima are computed anew.
"""

MIN_NODES = 20_000
"""Entities below which an index has no block maxima."""


@dataclass(frozen=True)
class EarlierSegment:
    """The segment that an index follows.

    Args:
        reader: its arrays.
        n_terms: number of its terms.
        same: int64[next terms], the earlier number of each term with the entities and tf of before, or -1
        same_scores: the same for terms whose postings are in fields of the length of before as well.
        ids_stay: whether every entity that stays has the id of before, and none has come or gone.
        changed: int64[n], ascending, the entities with other values in a field, where ids stay.
    """

    reader: ArrayReader
    n_terms: int
    same: NDArray[np.int64]
    same_scores: NDArray[np.int64]
    ids_stay: bool
    changed: NDArray[np.int64]


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
    totals: FieldTotals,
    earlier: EarlierSegment | None = None,
) -> dict[str, Any]:
    """Writes the block maxima of the common words, `peaks.*`, and returns what the header has of them: the forms, and
    the document blocks whose maxima may be above those of their postings.

    Args:
        out: of the segment.
        reader: of the same segment, whose lists and term sets are finished.
        lists: its posting lists.
        lengths: uint32[fields, nodes].
        fields: (weight, b) of each.
        totals: of the lengths.
        earlier: a segment that spares the words that have not changed.
    """
    n_fields, n_nodes = lengths.shape
    forms: Sequence[BlockMaxForm] = default_forms(fields, [*zip(totals.entities, totals.tokens, strict=True)])
    sets = TermSets(reader, (len(lists.ends) - 1) // n_fields)
    terms = [] if n_nodes < MIN_NODES else sets.at_least(n_nodes // COMMON)
    kept, known, loose = None, dict[int, StoredMaxima](), 0
    if terms and earlier is not None and earlier.ids_stay:
        kept = EarlierBlockMaxima.of(earlier.reader, forms)
    if kept is not None and earlier is not None:
        known, loose = _patched(kept, earlier, terms, TermDictionary(reader), lists, lengths)
        if known:
            forms = kept.forms
        else:
            kept, loose = None, 0
    found = list(_all_maxima(terms, known, lists, lengths, forms))
    source = None if kept is None else kept.reader
    columns = "<u8", words_of(-(-n_nodes // DOC_BLOCK))
    write_pieces(out, "peaks.members", columns, [own.members for own in found], source)
    starts = write_levels(out, [own.levels for own in found], source)
    out.write("peaks.starts", np.array(starts, np.uint64))
    out.write("peaks.terms", np.array(terms, np.uint32))
    n_levels = sum(form.levels for form in forms)
    out.write("peaks.codes", np.concatenate([np.zeros(0), *(own.codes for own in found)]).reshape(len(terms), n_levels))
    out.write("peaks.longest", np.array(totals.longest, np.uint32))
    return {"peaks": [form.to_json() for form in forms], LOOSE: loose}


def _patched(
    kept: EarlierBlockMaxima,
    earlier: EarlierSegment,
    terms: Sequence[int],
    dictionary: TermDictionary,
    lists: SegmentPostings,
    lengths: NDArray[np.uint32],
) -> tuple[dict[int, StoredMaxima], int]:
    """The maxima of the words that an earlier segment has, too, without those that are to be computed anew; and the
    document blocks whose maxima may be above those of their postings.

    A longer text lowers x. So where many texts have changed, the maxima of a word that has the postings of before are
    computed in the blocks of texts that got shorter; the others stay upper bounds.

    Args:
        kept: the maxima of the earlier segment.
        earlier: this segment.
        terms: the common terms of the next segment.
        dictionary: all of its terms.
        lists: its posting lists.
        lengths: uint32[fields, nodes], its lengths.
    """
    before = TermDictionary(earlier.reader)
    row_of = {before.term(number): row for row, number in enumerate(kept.terms)}
    rows = {term: row for term in terms if (row := row_of.get(dictionary.term(term))) is not None}
    changed, patched = earlier.changed, PatchedBlockMaxima(kept, lists, lengths)
    own, previous = (each[:, changed] for each in (lengths, earlier.reader.array("lengths")))
    text, previous_text = (rounded_lengths(each.sum(axis=0, dtype=np.uint32)) for each in (own, previous))
    if not patched.are_few(changed):
        loose = kept.loose + len(patched.blocks(changed))
        if loose > MAX_LOOSE * patched.n_blocks:
            return {}, loose
        shorter = (own < previous).any(axis=0) | (text < previous_text)
        same = {term: row for term, row in rows.items() if earlier.same[term] >= 0}
        found = patched.of(same, changed[shorter])
        return found, loose
    of_changed = {term: row for term, row in rows.items() if earlier.same_scores[term] < 0}
    others = {term: row for term, row in rows.items() if term not in of_changed}
    found = patched.of(of_changed, changed)
    found.update(patched.of(others, changed[text != previous_text]))
    return found, kept.loose


def _all_maxima(
    terms: Sequence[int],
    known: Mapping[int, StoredMaxima],
    lists: SegmentPostings,
    lengths: NDArray[np.uint32],
    forms: Sequence[BlockMaxForm],
) -> Iterator[StoredMaxima]:
    """The maxima of words; those that are not known are computed from their postings."""
    if len(known) == len(terms):
        yield from (known[term] for term in terms)
        return
    anew = _TermMaxima(lists, lengths, rounded_lengths(lengths.sum(axis=0, dtype=np.uint32)), forms)
    with ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1), "hybridkg-maxima") as pool:
        for own in [known.get(term) or pool.submit(anew.of, term) for term in terms]:
            yield own.result() if isinstance(own, Future) else own


class _TermMaxima:
    """The block maxima of words, computed from their postings; may be used by several threads."""

    def __init__(
        self,
        lists: SegmentPostings,
        lengths: NDArray[np.uint32],
        text_lengths: NDArray[np.uint32],
        forms: Sequence[BlockMaxForm],
    ):
        self._forms, self._own = forms, threading.local()
        self._reader_of = partial(BlockReader, lists, lengths, text_lengths, forms)

    def of(self, term: int) -> StoredMaxima:
        """Those of a word."""
        own = self._own.__dict__
        if "reader" not in own:
            own["reader"] = self._reader_of()
        reader: BlockReader = own["reader"]
        blocks = reader.blocks(term)
        found = [_quantised(form, maxima) for form, maxima in zip(self._forms, blocks.maxima, strict=True)]
        levels: list[ArrayPiece] = [*(one[1] for one in found), blocks.sets.copy()]
        return StoredMaxima(blocks.members[None, :], levels, np.concatenate([one[0] for one in found]))


def _quantised(form: BlockMaxForm, maxima: Floats) -> tuple[Floats, Array]:
    return quantised(maxima, form.levels, halves=form.levels == COARSE)


class BlockReader:
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
        with np.errstate(divide="ignore"):  # by a base of 0 at length 0, which no field with a posting has
            self._shares = 1.0 / (self._numbers[:, 1, :, None] + self._numbers[:, 2, :, None] * np.arange(SHORT))

    def blocks(self, term: int) -> TermBlocks:
        """The blocks of a term."""
        n_fields = len(self._lengths)
        sizes, ids, tf = self._lists.lists(term * n_fields, (term + 1) * n_fields)
        kernel = KERNEL.for_work(len(ids))
        if kernel is None:
            return block_maxima_numpy(sizes, ids, tf, self._lengths, self._text_lengths, self._forms)
        members = np.zeros(self._words, np.uint64)
        n = kernel.block_maxima(
            sizes, ids, tf, self._lengths, self._text_lengths, self._numbers, self._together, self._shares, members,
            self._sets, self._maxima,
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
        text_lengths: uint32[nodes], of all fields, rounded.
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
