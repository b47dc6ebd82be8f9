"""The sort of token streams into runs of postings.

A token stream has one uint32 per position: a term number, or one of the two marks below. It is sorted in chunks of
bounded size, each of entities of one field; merging.py merges the runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel

NO_TERM = 0xFFFF_FFFF
"""The mark of a position without a term: a word that the analyzer drops."""

NEXT_VALUE = 0xFFFF_FFFE
"""The mark between two values of a field."""

VALUE_GAP = 100
"""Positions between the values of a field, so that no phrase crosses them."""

CHUNK_TOKENS = 1_000_000
"""Tokens of a chunk; about 40 bytes of memory each. Four times as many take four times as long per token, because the
allocator then takes new pages from the system for every array."""

KERNEL = LazyKernel("hybridkg.text.index.build.merging_kernel")

U32 = NDArray[np.uint32]


@dataclass(frozen=True)
class PostingRun:
    """Postings in ascending order of (term number, entity).

    Args:
        terms: uint32[t], the distinct term numbers, ascending.
        df, cf: uint32[t], of each term.
        ids, tf: uint32[p], of each posting.
        positions: uint32[sum(cf)], ascending within each posting.
    """

    terms: U32
    df: U32
    cf: U32
    ids: U32
    tf: U32
    positions: U32


def chunks(slots: NDArray[np.integer[Any]], limit: int = CHUNK_TOKENS) -> Iterator[tuple[int, int]]:
    """Ranges of records whose slots add up to at most `limit`, or of one larger record.

    >>> list(chunks(np.array([3, 3, 9, 1], np.uint32), 6))
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = np.cumsum(slots, dtype=np.int64)
    first = 0
    while first < len(slots):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield first, last
        first = last


def sort_run(tokens: U32, entities: U32, slots: U32) -> tuple[PostingRun, NDArray[np.int64]]:
    """Sorts one chunk.

    Args:
        tokens: uint32[n], the concatenated token streams of the records.
        entities: uint32[r], ascending, the entity of each record.
        slots: uint32[r], the length of each stream; they add up to n.

    Returns:
        The run, and int64[r], the indexed tokens of each record.
    """
    kernel = KERNEL.for_work(len(tokens))
    if kernel is None:
        return sort_run_numpy(tokens, entities, slots)
    n = len(tokens)
    scratch = np.empty((6, n), np.uint32)
    out = [np.empty(n, np.uint32) for _ in range(5)]
    counts, sizes = np.zeros(len(slots), np.int64), np.zeros(4, np.int64)
    kernel.sort(tokens, entities, slots, scratch, *out, counts, sizes)
    n_terms, n_postings, n_tokens, row = sizes.tolist()
    terms, df, cf = (a[:n_terms] for a in out[:3])
    ids, tf = (a[:n_postings] for a in out[3:])
    return PostingRun(terms, df, cf, ids, tf, scratch[row, :n_tokens]), counts


def sort_run_numpy(tokens: U32, entities: U32, slots: U32) -> tuple[PostingRun, NDArray[np.int64]]:
    """The numpy reference of the kernel `sort`."""
    step = np.where(tokens == NEXT_VALUE, VALUE_GAP, 1).astype(np.int64)
    before = np.cumsum(step) - step
    starts = np.cumsum(slots, dtype=np.int64) - slots
    record = np.repeat(np.arange(len(slots), dtype=np.uint32), slots)
    real = np.flatnonzero(tokens < NEXT_VALUE)
    record_of_token = record[real]
    position = (before[real] - before[starts[record_of_token]]).astype(np.uint32)

    keys = tokens[real].astype(np.uint64) << np.uint64(32)
    keys |= np.arange(len(real), dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64(0xFFFF_FFFF)).astype(np.int64)
    term = (keys >> np.uint64(32)).astype(np.uint32)
    record_sorted = record_of_token[order]

    new_term = np.ones(len(term), bool)
    new_term[1:] = term[1:] != term[:-1]
    new_posting = new_term.copy()
    new_posting[1:] |= record_sorted[1:] != record_sorted[:-1]
    posting_starts = np.flatnonzero(new_posting)
    term_starts = np.flatnonzero(new_term)
    run = PostingRun(
        terms=term[term_starts],
        df=_widths(np.flatnonzero(new_term[posting_starts]), len(posting_starts)),
        cf=_widths(term_starts, len(term)),
        ids=entities[record_sorted[posting_starts]],
        tf=_widths(posting_starts, len(term)),
        positions=position[order],
    )
    return run, np.bincount(record_of_token, minlength=len(slots)).astype(np.int64)


def _widths(starts: NDArray[np.int64], end: int) -> U32:
    return np.diff(starts, append=end).astype(np.uint32)
