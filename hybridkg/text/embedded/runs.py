"""Sorts token streams into postings.

A token stream holds one uint32 per position: a term number, or one of the two
marks below. A stream is sorted in chunks of bounded size (runs); the runs of a
field are then scattered to their final places, term by term.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.layout import Array, ArrayWriter, smallest_unsigned

NO_TERM = 0xFFFF_FFFF
"""Mark of a word that keeps its position but has no term (a stop word)."""

NEXT_VALUE = 0xFFFF_FFFE
"""Mark between two values of a field."""

VALUE_GAP = 100
"""Positions between the values of a field, so that no phrase crosses them."""

CHUNK_TOKENS = 1_000_000
"""Tokens sorted at once; about 40 bytes of memory each. Four times as many take four times as long per token,
because the allocator then takes new pages from the system for every array."""

U32 = NDArray[np.uint32]


@dataclass(frozen=True)
class Run:
    """The postings of some entities, ascending by (term number, entity).

    Args:
        terms: uint32[t], the distinct term numbers, ascending.
        df: uint32[t], entities of each term.
        cf: uint32[t], occurrences of each term.
        ids: uint32[p], entity of each posting.
        tf: uint32[p], occurrences in that entity.
        positions: uint32[sum(cf)], ascending within each posting.
    """

    terms: U32
    df: U32
    cf: U32
    ids: U32
    tf: U32
    positions: U32

    def spill(self, path: Path) -> Run:
        """The same run, its arrays mapped from the new file `path`."""
        arrays = [getattr(self, f.name) for f in fields(self)]
        with path.open("wb") as file:
            for array in arrays:
                array.tofile(file)
        whole = np.memmap(path, np.uint32, mode="r")
        cuts = np.cumsum([len(a) for a in arrays])[:-1]
        return Run(*(np.asarray(part) for part in np.split(whole, cuts)))


def chunks(slots: U32, limit: int = CHUNK_TOKENS) -> Iterator[tuple[int, int]]:
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


def sort_run(tokens: U32, entities: U32, slots: U32) -> tuple[Run, NDArray[np.int64]]:
    """Sorts one chunk.

    Args:
        tokens: uint32[n], the token streams of the records one after another.
        entities: uint32[r], ascending, the entity of each record.
        slots: uint32[r], the length of each record's stream; they add up to n.

    Returns:
        The run, and int64[r] with the indexed tokens of each record.
    """
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
    run = Run(
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


def write_postings(out: ArrayWriter, prefix: str, runs: Sequence[Run], place: NDArray[np.int64]) -> int:
    """Merges the runs of one field into its files and returns the number of postings.

    Args:
        out: where the arrays go.
        prefix: beginning of their names.
        runs: in ascending order of their entities, which do not overlap.
        place: int64[terms], the final place of each term number.
    """
    df = np.zeros(len(place), np.int64)
    cf = np.zeros(len(place), np.int64)
    for run in runs:
        df[place[run.terms]] += run.df
        cf[place[run.terms]] += run.cf
    postings_end, tokens_end = np.cumsum(df), np.cumsum(cf)
    n_postings, n_tokens = int(df.sum()), int(cf.sum())
    for name, ends, total in (("offsets", postings_end, n_postings), ("starts", tokens_end, n_tokens)):
        offsets = np.concatenate(([0], ends))
        out.write(f"{prefix}.{name}", offsets.astype(smallest_unsigned(total)))

    ids = out.create(f"{prefix}.ids", "<u4", (n_postings,))
    tf = out.create(f"{prefix}.tf", smallest_unsigned(_largest(run.tf for run in runs)), (n_postings,))
    widest = smallest_unsigned(_largest(run.positions for run in runs))
    positions = out.create(f"{prefix}.positions", widest, (n_tokens,))
    next_posting, next_token = postings_end - df, tokens_end - cf
    for run in runs:
        where = place[run.terms]
        target = _targets(next_posting[where], run.df)
        ids[target] = run.ids
        tf[target] = run.tf
        positions[_targets(next_token[where], run.cf)] = run.positions
        next_posting[where] += run.df
        next_token[where] += run.cf
    return n_postings


def _targets(starts: NDArray[np.int64], widths: U32) -> NDArray[np.int64]:
    """int64[sum(widths)]: start, start + 1, ... for each of the blocks."""
    ends = np.cumsum(widths, dtype=np.int64)
    return np.repeat(starts - (ends - widths), widths) + np.arange(int(widths.sum(dtype=np.int64)))


def _largest(arrays: Iterator[Array]) -> int:
    return max((int(a.max()) for a in arrays if len(a)), default=0)
