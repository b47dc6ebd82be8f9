"""Plain queries of few postings, from their words to the best in one call of a kernel.

What such a query takes is less than what Python takes to hand it from step to step: words are looked up, a form is made
of them and ranked, with 40 arrays to hand over in all. Here those that stay are handed over as addresses. What has too
many postings has been looked up, and goes on step by step.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.additive import CHUNK, KERNEL, AdditiveForm, PackedPostings, WordNumbers
from hybridkg.text.addresses import Addresses
from hybridkg.text.layout import Array
from hybridkg.text.vocabulary import encoded

END = "\n"
"""Behind each term that the kernel looks up; no word has it."""

MOST_POSTINGS = 5_000
"""Of a query; with fewer than topk.FEWEST_POSTINGS nothing is passed over."""

MOST_WORDS = 16

MOST_FIELDS = 8
"""As of `look_up`."""

OF_INDEX = "<u8", "<u8", "|u1", "<u4", "<u4", "<u4", "<u4", "|u1", "<u4"
"""What the kernel takes `terms.prefixes`, `.offsets`, `.text`, `lists.postings`, `.tokens`, `.blocks`,
`terms.sets.offsets`, `.fields` and `.entities` for."""


class LookedUp(NamedTuple):
    """What the index has of some words, which have too many postings.

    Args:
        numbers: of their terms; -1 for one that the index lacks.
        df: entities that have each in any of the fields.
        cf: int64[t, f], occurrences.
        lists: int64[5, l], of `QueryLists`.
        postings: how many these have.
    """

    numbers: list[int]
    df: list[int]
    cf: NDArray[np.int64]
    lists: NDArray[np.int64]
    postings: int


class AtOnce:
    """Answers queries of one segment. Safe to use from many threads.

    Args:
        n_fields: of the index.
        arrays: those of OF_INDEX.
        packed: the postings.
        ranks: uint32[nodes], which decide ties; empty for the ids themselves.
        lengths: uint32[fields, nodes], and
        narrow: uint8[nodes, fields], of `narrow_lengths`.

    Raises:
        ValueError: an array has another type.
    """

    def __init__(
        self,
        n_fields: int,
        arrays: tuple[Array, ...],
        packed: PackedPostings,
        ranks: Ids,
        lengths: NDArray[np.uint32],
        narrow: NDArray[np.uint8],
    ):
        if n_fields > MOST_FIELDS:
            raise ValueError(f"{n_fields} fields")
        self._n_fields, self._lengths, self._narrow = n_fields, lengths, narrow
        self._index = Addresses(
            *zip(arrays, OF_INDEX, strict=True),
            (packed.words, "<u4"), (packed.first, "<u4"), (packed.at, "<u4"), (packed.widths, "|u1"), (ranks, "<u4"),
        )  # fmt: skip

    def frame(self, fields: NDArray[np.int64], form: AdditiveForm, numbers: WordNumbers) -> Addresses:
        """What the kernel takes of a frame.

        Args:
            fields: int64[f], the index's numbers of the fields.
            form: of no words.
            numbers: of the frame.
        """
        narrow = self._narrow if form.lengths is self._lengths else np.zeros((0, 0), np.uint8)
        saturation = np.array([form.k1])
        floats = form.base, form.slope, *numbers[1:], numbers.gain, saturation
        return Addresses(
            (fields, "<i8"), (form.rows, "<i8"), (form.lengths, "<u4"), (narrow, "|u1"),
            *((np.ascontiguousarray(array), "<f8") for array in floats),
        )  # fmt: skip

    def answer(self, frame: Addresses, words: list[str], k: int) -> tuple[Ids, Scores] | LookedUp:
        """The best k of distinct words.

        Args:
            frame: as `frame` made it.
            words: terms, 1 to MOST_WORDS.
            k: how many at most, at least 1.
        """
        kernel: Any = KERNEL.loaded
        memory = _memory
        n = len(words)
        wanted = np.frombuffer(encoded(END.join(words) + END), np.uint8)
        found, n_lists, postings = kernel.answer(
            self._index.table,
            frame.table,
            memory.addresses.table,
            wanted,
            n,
            self._n_fields,
            min(k, MOST_POSTINGS),
            MOST_POSTINGS,
        )
        if found >= 0:
            return memory.ids[:found].copy(), memory.scores[:found].copy()
        many = int(frame.table[0, 2])
        numbers, df = memory.terms[: 2 * n].reshape(2, n).tolist()
        cf, lists = memory.cf[: n * many].reshape(n, many), memory.lists[: 5 * n * many].reshape(5, n * many)
        return LookedUp(numbers, df, cf.copy(), lists[:, :n_lists].copy(), postings)


class _Memory(threading.local):
    """Of a thread: what the kernel works in. `table` is 0 before and after each call."""

    def __init__(self) -> None:
        lists, postings = MOST_WORDS * MOST_FIELDS, MOST_POSTINGS + 4
        self.terms, self.cf, self.lists = (np.zeros(n * lists, np.int64) for n in (2, 1, 5))
        self.ids, self.scores = np.zeros(postings, np.uint32), np.zeros(postings)
        floats = (3 + MOST_WORDS) * postings + (3 + MOST_FIELDS) * CHUNK
        self.addresses = Addresses(
            (self.terms, "<i8"), (self.cf, "<i8"), (self.lists, "<i8"), (np.zeros(5 * lists, np.int64), "<i8"),
            *((np.zeros(n), "<f8") for n in (lists, lists, MOST_WORDS, MOST_WORDS)),
            (np.zeros(1 << (2 * postings - 1).bit_length(), np.uint32), "<u4"),
            (np.zeros(6 * postings, np.uint32), "<u4"), (np.zeros(floats), "<f8"),
            (self.ids, "<u4"), (np.zeros(postings, np.uint32), "<u4"), (self.scores, "<f8"),
            (np.zeros(0, np.uint32), "<u4"),
        )  # fmt: skip


_memory = _Memory()
