"""The writer of the block maxima of common words, `peaks.*`, from the posting lists of a segment."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.index.codec.packing import KERNEL
from hybridkg.text.index.layout import DOC_BLOCK, FIELD_SETS, Array, ArrayReader, ArrayWriter
from hybridkg.text.index.postings import SegmentPostings
from hybridkg.text.index.term_field_sets import TermSets
from hybridkg.text.index.topk.block_max import COARSE, BlockMaxForm, default_forms, rounded_lengths, words_of
from hybridkg.text.index.topk.block_max_levels import quantised
from hybridkg.text.index.topk.earlier_block_max import EarlierBlockMaxima
from hybridkg.text.models.additive import Floats

ArrayPiece: TypeAlias = "Array | tuple[int, int]"
"""New rows of an array, or a range of rows of the earlier one."""

COMMON = 64
"""A word has block maxima if at least one in this many entities has it."""

MAX_THREADS = 4
"""Threads that compute block maxima; each holds 32 bytes for four entities."""

SHORT = 2_048
"""Lengths whose share of each form is computed once, 16 kB for each field of a form."""

MIN_NODES = 20_000
"""Entities below which an index has no block maxima."""


@dataclass(frozen=True)
class EarlierSegment:
    """The segment that an index follows.

    Args:
        reader: its arrays.
        n_terms: number of its terms.
        same: int64[next terms], the earlier number of each term that has the postings of before; -1 for the others.
        same_scores: the same for terms whose postings are in fields of the length of before as well.
        ids_stay: whether every entity that stays has the id of before, and none has come or gone.
    """

    reader: ArrayReader
    n_terms: int
    same: NDArray[np.int64]
    same_scores: NDArray[np.int64]
    ids_stay: bool


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
    totals: Sequence[tuple[int, int]],
    earlier: EarlierSegment | None = None,
) -> list[dict[str, Any]]:
    """Writes the block maxima of the common words, `peaks.*`, and returns the forms for the header.

    Args:
        out: of the segment.
        reader: of the same segment, whose lists and term sets are finished.
        lists: its posting lists.
        lengths: uint32[fields, nodes].
        fields: (weight, b) of each.
        totals: (entities, tokens) of each.
        earlier: a segment that spares the words that have not changed.
    """
    n_fields, n_nodes = lengths.shape
    forms = default_forms(fields, totals)
    sets = TermSets(reader, (len(lists.ends) - 1) // n_fields)
    terms = [] if n_nodes < MIN_NODES else sets.at_least(n_nodes // COMMON)
    text_lengths = lengths.sum(axis=0, dtype=np.uint32)
    rounded = rounded_lengths(text_lengths)
    kept = None
    if terms and earlier is not None and earlier.ids_stay:
        kept = EarlierBlockMaxima.of(earlier.reader, earlier.same_scores, forms, rounded)
    term_maxima = _TermMaxima(lists, lengths, rounded, forms, kept)
    members: list[ArrayPiece] = []
    levels: list[ArrayPiece] = []
    codes, starts = [], [0]
    with ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1), "hybridkg-maxima") as pool:
        for own in [term_maxima.kept(term) or pool.submit(term_maxima.of, term) for term in terms]:
            found = own.result() if isinstance(own, Future) else own
            members.append(found.members)
            codes += found.codes
            for part in found.levels:
                levels.append(part)
                starts.append(starts[-1] + (part[1] - part[0] if isinstance(part, tuple) else len(part)))
    source = None if kept is None else kept.reader
    _write_pieces(out, "peaks.members", ("<u8", words_of(-(-n_nodes // DOC_BLOCK))), members, source)
    _write_pieces(out, "peaks.levels", ("<u1", 0), levels, source)
    out.write("peaks.starts", np.array(starts, np.uint64))
    out.write("peaks.terms", np.array(terms, np.uint32))
    n_levels = sum(form.levels for form in forms)
    out.write("peaks.codes", np.concatenate([np.zeros(0), *codes]).reshape(len(terms), n_levels))
    longest = [*(int(row.max(initial=0)) for row in lengths), int(text_lengths.max(initial=0))]
    out.write("peaks.longest", np.array(longest, np.uint32))
    return [form.to_json() for form in forms]


def _write_pieces(
    out: ArrayWriter,
    name: str,
    columns: tuple[str, int],
    pieces: Sequence[ArrayPiece],
    earlier: ArrayReader | None,
) -> None:
    """Writes an array of new rows and of ranges of rows of the `earlier` one; `columns` are its type and their number.

    Adjacent ranges are copied as one.
    """
    if earlier is None:
        stream = out.stream(name, *columns)
        for piece in pieces:
            stream.append(cast(Array, piece))
        stream.close()
        return
    merged: list[ArrayPiece] = []
    for piece in pieces:
        last = merged[-1] if merged else None
        if isinstance(piece, tuple) and isinstance(last, tuple) and last[1] == piece[0]:
            merged[-1] = last[0], piece[1]
        else:
            merged.append(piece)
    out.splice(name, earlier, merged)


class _Maxima(NamedTuple):
    """The block maxima of a word as arrays have them: `members`, the levels of each form and behind them the sets of
    fields, and the x of each level of each form.
    """

    members: ArrayPiece
    levels: list[ArrayPiece]
    codes: list[Array]


class _TermMaxima:
    """The block maxima of words; may be used by several threads."""

    def __init__(
        self,
        lists: SegmentPostings,
        lengths: NDArray[np.uint32],
        text_lengths: NDArray[np.uint32],
        forms: Sequence[BlockMaxForm],
        kept: EarlierBlockMaxima | None,
    ):
        self._forms, self._kept, self._own = forms, kept, threading.local()
        self._reader_of = partial(_BlockReader, lists, lengths, text_lengths)

    def kept(self, term: int) -> _Maxima | None:
        """Those of a word that are the same as in the earlier segment; None for another word."""
        kept = self._kept
        row = None if kept is None else kept.row(term)
        return self.of(term) if kept and row is not None and all(kept.keeps(row, f) for f in self._forms) else None

    def of(self, term: int) -> _Maxima:
        """Those of a word, taken from the earlier segment where they are the same."""
        kept = self._kept
        row = None if kept is None else kept.row(term)
        if kept is None or row is None:
            blocks = self._blocks(term, self._forms)
            found = [_quantised(form, maxima) for form, maxima in zip(self._forms, blocks.maxima, strict=True)]
            levels: list[ArrayPiece] = [*(one[1] for one in found), blocks.sets.copy()]
            return _Maxima(blocks.members[None, :], levels, [one[0] for one in found])
        changed = [form for form in self._forms if not kept.keeps(row, form)]
        anew = {}
        if changed:
            maxima_of_each = self._blocks(term, changed).maxima
            anew = {id(form): _quantised(form, maxima) for form, maxima in zip(changed, maxima_of_each, strict=True)}
        levels, codes = [], []
        for number, form in enumerate(self._forms):
            code, level = anew.get(id(form)) or (kept.codes_of(row, number), kept.range_of(row, number))
            levels.append(level)
            codes.append(code)
        return _Maxima((row, row + 1), [*levels, kept.range_of(row, len(self._forms))], codes)

    def _blocks(self, term: int, forms: Sequence[BlockMaxForm]) -> TermBlocks:
        """The blocks of a word, valid until the next call of the same thread."""
        readers: dict[int, _BlockReader] = self._own.__dict__.setdefault("readers", {})
        if len(forms) not in readers:
            readers[len(forms)] = self._reader_of(forms)
        return readers[len(forms)].blocks(term)


def _quantised(form: BlockMaxForm, maxima: Floats) -> tuple[Floats, Array]:
    return quantised(maxima, form.levels, halves=form.levels == COARSE)


class _BlockReader:
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
