"""The additive form of ranking models: a score as a sum over the terms.

    score(d) = sum_t phi_t(x_t(d))
    x_t(d)   = sum_f coefficient[t, f] * tf[t, f](d) / (base[f] + slope[f] * length_f(d))

with phi_t(x) = gain * x / (k1 + x) for BM25F, and for the language models

    phi_t(x) = gain * ln(x + sum_f background[t, f] / (base[f] + slope[f] * length_f(d)) + constant[t])

So the compiled kernels of text/index/topk/ (windowed_kernel.py, small_kernel.py, and block_max_kernel.py with
entity_bounds_kernel.py) and of evaluation/tuning/kernels.py rank by any of them, directly from packed postings, and
one kind of upper bound prunes for all of them (block_max.py). `score_numpy` is the reference: the kernels do the same
operations in the same order and give the same bits. Change all together.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.interfaces.ranking_model import Postings, ScoringTask
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.id_sets import NONE, union
from hybridkg.text.models.logarithm import log

KERNEL = LazyKernel("hybridkg.text.index.topk.windowed_kernel", background=True)

SMALLEST = 1e-70
"""Lower bound of a probability: the product of four is still a normal float."""

GROUP = 4
"""Neighbouring terms of the same gain whose probabilities are multiplied before the logarithm, which is the expensive
part."""

CHUNK = 256
"""Entities that a kernel scores at once, so that LLVM vectorises and the scratch memory stays in the cache."""

LAST_STAMP = 1 << 31
"""A call needs fewer stamps than remain from here to 2 ** 32: one per window, and one per term in it."""

Floats = NDArray[np.float64]


class AdditiveForm(NamedTuple):  # a dataclass takes three times as long to make
    """The numbers of a model and a query. Terms are words, or pairs of words, which do not affect matching.

    Args:
        rows: int64[fields], the row of each field in `lengths`.
        base, slope: float64[fields], at least 0; not both 0.
        coefficient: float64[terms, fields], at least 0.
        gain: float64[terms].
        k1: saturation, above 0; 0 for logarithms.
        background: float64[terms, fields], at least 0; for logarithms, and only where base is above 0.
        constant: float64[terms], at least 0; for logarithms.
        words: the number of terms that decide which entities match; they come before the others.
        lengths: uint32[rows, nodes], tokens.
    """

    rows: NDArray[np.int64]
    base: Floats
    slope: Floats
    coefficient: Floats
    gain: Floats
    k1: float
    background: Floats
    constant: Floats
    words: int
    lengths: NDArray[np.uint32]

    @property
    def together(self) -> bool:
        """Whether several fields are read as one text with one length. The sum is then divided by it once, so that
        equal sums of occurrences are equal scores.
        """
        return not self.k1 and len(self.rows) > 1 and not (self.rows != self.rows[0]).any()


class FormCoefficients(NamedTuple):
    """The derivation of a form from the statistics of words, each once in the query:

        share[t, f] = weight[f] * cf[t, f] / tokens[f], weight 0 where cf is 0
        gain[t] = gain[df[t]], 0 where no share is above 0
        coefficient[t, f] = weight[f] * (1 - lambda[f])
        background[t, f] = mu[f] * share[t, f], 0 where lambda is above 0
        constant[t] = sum_f lambda[f] * share[t, f]

    Where k1 is above 0 coefficients are the weights, and there is neither background nor constant. Fields that are read
    as one text have one number each, and cf is their sum.

    Args:
        gain: float64[n], by df.
        weight, lambda_, mu: float64[fields].
        tokens: float64[fields], above 0.
    """

    gain: Floats
    weight: Floats
    lambda_: Floats
    mu: Floats
    tokens: Floats


class FormTemplate(Protocol):
    """The part of a form that does not depend on the words of the query."""

    def word_numbers(self, most: int) -> tuple[AdditiveForm, FormCoefficients]:
        """A form without words, and the derivation of the form of words with df up to `most`."""

    def form(self, counts: Sequence[float], df: Sequence[int], cf: NDArray[np.int64]) -> AdditiveForm:
        """The form of words that may occur in every field, and of pairs of them.

        Args:
            counts: occurrences in the query of each word, then of each pair.
            df: entities that have each word in any field.
            cf: int64[words + 2 * pairs, fields], occurrences of each word, of each pair as a phrase, and as a window.
        """


class AdditiveModel:
    """A model with an additive form."""

    def frame(self, task: ScoringTask) -> FormTemplate | None:
        """The form's template for the fields of a task; None for a model that reads more than words."""
        del task
        return None

    def form(self, task: ScoringTask) -> AdditiveForm:
        """The form of a task; reads no postings."""
        raise NotImplementedError

    def score(self, task: ScoringTask) -> tuple[Ids, Scores]:
        """(ids ascending, scores) of every entity in the terms' postings."""
        form = self.form(task)
        terms = (*task.terms, *task.ordered, *task.unordered)[: len(form.gain)]  # some models ignore pairs
        return score(form, [postings for term in terms for postings in term.postings])


def score(form: AdditiveForm, lists: Sequence[Postings]) -> tuple[Ids, Scores]:
    """(ids ascending, scores) of every entity in the postings of the words; lists are terms x fields, term by term."""
    kernel = KERNEL.for_work(sum(len(postings.ids) for postings in lists))
    return score_numpy(form, lists) if kernel is None else score_compiled(kernel, form, lists)


def score_numpy(form: AdditiveForm, lists: Sequence[Postings]) -> tuple[Ids, Scores]:
    """The reference implementation of the kernel: one term at a time, whole arrays."""
    fields = range(len(form.rows))
    ids = union([postings.ids for postings in lists[: form.words * len(fields)]])
    if not len(ids):
        return NONE, np.zeros(0)
    place_of = places_in(ids, sum(len(postings.ids) for postings in lists))
    with np.errstate(divide="ignore"):
        inverse = [1.0 / (form.base[f] + form.slope[f] * form.lengths[form.rows[f], ids]) for f in fields]
    total, product, members = np.zeros(len(ids)), np.zeros(0), 0
    for t, gain in enumerate(form.gain):
        x = np.zeros(len(ids))
        for f in fields:
            postings = lists[t * len(fields) + f]
            if len(postings.ids):
                where = place_of(postings.ids)
                own = form.coefficient[t, f] * postings.tf
                x[where] += own if form.together else own * inverse[f][where]
        if form.k1:
            total += gain * x / (form.k1 + x)
            continue
        if form.together:
            x *= inverse[0]
        for f in fields:
            if form.background[t, f]:
                x += form.background[t, f] * inverse[f]
        own = np.maximum(x + form.constant[t], SMALLEST)
        product = own if members == 0 else product * own
        members += 1
        if members == GROUP or t + 1 == len(form.gain) or form.gain[t + 1] != gain:
            total += gain * log(product)
            members = 0
    return ids, total


@dataclass(frozen=True)
class PackedPostings:
    """The packed postings of a segment (text/index/codec/packing.py): words, and first, at, widths of blocks."""

    words: NDArray[np.uint32]
    first: NDArray[np.uint32]
    at: NDArray[np.uint32]
    widths: NDArray[np.uint8]


_NO_WORDS = np.zeros(0, np.uint32)
NOTHING_PACKED = PackedPostings(_NO_WORDS, _NO_WORDS, _NO_WORDS, np.zeros((0, 2), np.uint8))


class QueryLists(NamedTuple):
    """The non-empty posting lists of a query, by term, then field.

    Args:
        rows: int64[5, lists]: term of the form, field of the form, first block of a packed list or -1, first posting of
            a plain one, and number of postings.
        ids, tf: uint32[...], of the plain lists.
    """

    rows: NDArray[np.int64]
    ids: Ids = _NO_WORDS
    tf: NDArray[np.uint32] = _NO_WORDS

    @property
    def terms(self) -> NDArray[np.int64]:
        """int64[lists]."""
        terms: NDArray[np.int64] = self.rows[0]
        return terms

    @property
    def sizes(self) -> NDArray[np.int64]:
        """int64[lists], postings."""
        sizes: NDArray[np.int64] = self.rows[4]
        return sizes

    @classmethod
    def plain(cls, lists: Sequence[Postings], n_fields: int) -> QueryLists:
        """The lists of each term and field, some of them empty."""
        active = [(i, postings) for i, postings in enumerate(lists) if len(postings.ids)]
        number = np.array([i for i, _ in active], np.int64)
        sizes = np.array([len(postings.ids) for _, postings in active], np.int64)
        ids = np.concatenate([postings.ids for _, postings in active]) if active else _NO_WORDS
        tf = np.concatenate([postings.tf for _, postings in active], dtype=np.uint32) if active else _NO_WORDS
        starts = np.cumsum(sizes) - sizes
        return cls(np.stack((number // n_fields, number % n_fields, np.full(len(active), -1), starts, sizes)), ids, tf)


class TopKHeap:
    """The best k entities so far, a heap that the kernel maintains."""

    def __init__(self, k: int):
        self.ids, self.ranks, self.scores = np.empty(k, np.uint32), np.empty(k, np.uint32), np.empty(k)
        self.n = 0
        self.scored = 0

    @property
    def threshold(self) -> float:
        """The k-th best score; -inf with fewer than k entities."""
        return float(self.scores[0]) if self.n == len(self.ids) else -math.inf

    def found(self) -> tuple[Ids, Scores]:
        """(ids, scores), best first after the `rank` with `last`."""
        return self.ids[: self.n], self.scores[: self.n]


class _Scratch:
    """Reusable memory of a thread, which saves a query of few postings the allocation.

    `table` is 0 before and after each kernel call; no number of `stamps` is above `stamp`, which only grows; the others
    have arbitrary contents.
    """

    def __init__(self) -> None:
        self.stamps, self.stamp = np.zeros(0, np.uint32), 0
        self.floats, self.whole, self.table = np.zeros(0), np.zeros(0, np.uint32), np.zeros(0, np.uint32)

    def grow(self, floats: int, whole: int, table: int = 0, stamps: int = 0) -> None:
        if len(self.floats) < floats:
            self.floats = np.empty(floats)
        if len(self.whole) < whole:
            self.whole = np.empty(whole, np.uint32)
        if len(self.table) < table:
            self.table = np.zeros(1 << (table - 1).bit_length(), np.uint32)
        if len(self.stamps) < stamps or self.stamp > LAST_STAMP:
            self.stamps, self.stamp = np.zeros(max(stamps, len(self.stamps)), np.uint32), 0


class _ScratchOfThread(threading.local):
    """Each attribute of a thread takes as long as ten of an object."""

    def __init__(self) -> None:
        self.of_thread = _Scratch()


_scratch = _ScratchOfThread()


def rank(
    kernel: Any,
    form: AdditiveForm,
    lists: QueryLists,
    best: TopKHeap,
    *,
    packed: PackedPostings = NOTHING_PACKED,
    allowed: Ids | None = None,
    ranks: NDArray[np.uint32] = _NO_WORDS,
    complete: bool = False,
    last: bool = True,
    postings: int | None = None,
) -> None:
    """Adds the best entities of some lists to a heap.

    Args:
        kernel: compiled.
        form: the query.
        lists: its postings.
        best: the heap; with room for all entities where `complete`.
        packed: the segment of the packed lists.
        allowed: uint32[...], ascending: the candidate set; None for all entities.
        ranks: uint32[nodes], which break ties; empty for the ids themselves.
        complete: whether all entities are returned, ascending by id.
        last: whether this is the last call, which sorts the heap.
        postings: the number of those of all lists, where it is known.
    """
    n_terms, n_fields = form.coefficient.shape
    postings = int(lists.sizes.sum()) if postings is None else postings
    width = _window(postings, form.lengths.shape[1], n_terms)
    scratch = _scratch.of_thread
    scratch.grow((3 if form.k1 else 3 + n_terms) * width + (3 + n_fields) * CHUNK, 4 * (width + 1), stamps=2 * width)
    n, scored, scratch.stamp = kernel.rank(
        packed.words, packed.first, packed.at, packed.widths,
        *lists,
        form.lengths, form.rows, form.base, form.slope, form.coefficient, form.gain, form.k1,
        form.background, form.constant, form.words,
        _NO_WORDS if allowed is None else allowed, allowed is not None, ranks,
        width, scratch.floats, scratch.whole, scratch.stamps, scratch.stamp,
        best.ids, best.ranks, best.scores, best.n, complete, last and not complete,
    )  # fmt: skip
    best.n, best.scored = n, best.scored + scored


def rank_small(
    kernel: Any,
    form: AdditiveForm,
    lists: QueryLists,
    postings: int,
    k: int,
    *,
    packed: PackedPostings,
    ranks: NDArray[np.uint32],
    narrow: NDArray[np.uint8],
) -> tuple[Ids, Scores]:
    """(ids, scores) of the best k, best first, of lists that fit memory unpacked.

    Arguments are as of `rank`; `postings` is their number, and `narrow` is uint8[nodes, rows] of `narrow_lengths`,
    NO_LENGTHS where they are not loaded.
    """
    each = 3 if form.k1 else 3 + len(form.gain)
    scratch = _scratch.of_thread
    scratch.grow(each * postings + (3 + len(form.rows)) * CHUNK, 6 * (postings + 4), 2 * postings)
    found: tuple[Ids, Scores] = kernel.rank_small(
        packed.words, packed.first, packed.at, packed.widths, *lists, form.lengths, narrow,
        form.rows, form.base, form.slope, form.coefficient, form.gain, form.k1, form.background, form.constant,
        form.words, ranks, scratch.table, scratch.whole, scratch.floats, min(k, postings),
    )  # fmt: skip
    return found


def _window(postings: int, nodes: int, terms: int) -> int:
    """Entities scored at once, a power of two: more where postings are few and sparse, fewer where the scratch memory
    of many terms would exceed the cache.
    """
    width = 16_384 if postings > 1_000 and postings * 2 < nodes else 4_096
    while width > 64 and terms * width > 65_536:
        width //= 2
    return width


def score_compiled(kernel: Any, form: AdditiveForm, postings: Sequence[Postings]) -> tuple[Ids, Scores]:
    """Same bits as `score_numpy` by the kernel, which allocates fewer arrays and releases the GIL."""
    lists = QueryLists.plain(postings, len(form.rows))
    heap = TopKHeap(int(lists.sizes[lists.terms < form.words].sum()))
    rank(kernel, form, lists, heap, complete=True)
    return heap.ids[: heap.n], heap.scores[: heap.n]


def places_in(ids: Ids, lookups: int) -> Callable[[Ids], NDArray[Any]]:
    """The function from members of `ids`, ascending and not empty, to their places, for so many lookups."""
    low, span = ids[0], int(ids[-1]) - int(ids[0]) + 1
    if span > 4 * lookups + 65_536:
        return lambda members: np.searchsorted(ids, members)
    # A table over the range of the ids costs less than a search for each posting.
    table = np.empty(span, np.uint32)
    table[ids - low] = np.arange(len(ids), dtype=np.uint32)
    return lambda members: table[members - low]
