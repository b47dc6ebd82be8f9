"""Single-call ranking of rare words: look-up, form and top-k of a bag of words in one kernel call.

For few postings the calls between Python and kernels take longer than the kernels: `topk` of one rare word of 100,000
entities takes 7 us in one call, and in several 14 us with `bm25f` and 26 us with `lm`. The arrays of the segment and of
the frame are assembled once. Queries of more postings take several calls (bag_of_words.py, topk.py).
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.index.layout import Array
from hybridkg.text.match_query.vocabulary import damaged_terms
from hybridkg.text.models.additive import CHUNK, KERNEL, AdditiveForm, FormCoefficients, PackedPostings

MAX_POSTINGS = 5_000
"""Maximum number of postings of a query; at most topk.MIN_POSTINGS, where block-max pruning begins."""

DAMAGED = -2
"""The kernel's sign of damaged terms."""

MAX_WORDS = 16

MAX_FIELDS = 8
"""Maximum number of fields of an index, as of `look_up`."""

SingleCallFrame = tuple[Any, ...]
"""The arguments of `rank_words` that depend on the frame: fields .. narrow."""


class SingleCall:
    """Top-k of distinct words of few postings in one segment. Safe to use from many threads.

    Args:
        n_fields: of the index, at most MAX_FIELDS.
        arrays: of `look_up`, in the order and types of `bag_of_words.OF_INDEX`.
        packed: the postings.
        ranks: uint32[nodes], order among ties; empty for the ids themselves.
        lengths: uint32[fields, nodes], tokens.
        narrow: uint8[nodes, fields], of `narrow_lengths`.
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
        self._lengths, self._narrow = lengths, narrow
        self._segment = n_fields, *arrays, packed.words, packed.first, packed.at, packed.widths, ranks

    def frame(self, fields: NDArray[np.int64], form: AdditiveForm, numbers: FormCoefficients) -> SingleCallFrame:
        """The kernel's arguments for index fields, int64[fields], a form without words, and its numbers."""
        narrow = self._narrow if form.lengths is self._lengths else np.zeros((0, 0), np.uint8)
        norms = np.array([form.base, form.slope], np.float64)
        weights = np.array(numbers[1:], np.float64)
        return np.array([fields, form.rows]), norms, weights, numbers.gain, form.k1, form.lengths, narrow

    def best(
        self, frame: SingleCallFrame, wanted: NDArray[np.uint8], n_words: int, k: int
    ) -> tuple[Ids, Scores] | None:
        """The k best entities: (ids, scores), best first; None where the words have more than MAX_POSTINGS.

        Args:
            frame: of `frame`.
            wanted: the distinct words, encoded as for `look_up`.
            n_words: their number, 1 to MAX_WORDS.
            k: at least 1.

        Raises:
            CorruptError: the terms are damaged.
        """
        kernel: Any = KERNEL.loaded
        postings, ids, scores = kernel.rank_words(
            wanted, n_words, min(k, MAX_POSTINGS), MAX_POSTINGS, *self._segment, *frame, *_scratch.arrays
        )
        if postings == DAMAGED:
            raise damaged_terms()
        return None if postings > MAX_POSTINGS else (ids, scores)


class _Scratch(threading.local):
    """Memory of a thread for `rank_small`; the table is 0 before and after each call."""

    def __init__(self) -> None:
        table = np.zeros(1 << (2 * MAX_POSTINGS - 1).bit_length(), np.uint32)
        uints = np.empty(6 * (MAX_POSTINGS + 4), np.uint32)
        floats = np.empty((3 + MAX_WORDS) * MAX_POSTINGS + (3 + MAX_FIELDS) * CHUNK)
        self.arrays = table, uints, floats


_scratch = _Scratch()
