"""Edits of stored block maxima: some document blocks of a word get another level, others get or lose the word.

The levels of a word are those of the blocks that have it, in the order of the blocks, a byte or half of one for each.
The place of a block among them, its *rank*, is the number of members before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.storage.array_edit import ArrayEdit
from hybridkg.text.index.layout import Array
from hybridkg.text.index.topk.block_max_levels import packed_levels
from hybridkg.text.index.topk.changed_blocks import KERNEL
from hybridkg.text.models.additive import Floats

I64 = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class LevelEdits:
    """Edits of blocks, in the order of words and blocks.

    Args:
        ends: int64[words + 1], how many edits come before those of each word.
        ranks: int64[n], of each block before the edit.
        before: bool[n], whether the block had the word.
        after: bool[n], whether it has it now; each block has one of both.
        values: uint8[parts, n], what it has now in each part of the levels of a word, 0 where it lacks the word.
    """

    ends: I64
    ranks: I64
    before: NDArray[np.bool_]
    after: NDArray[np.bool_]
    values: Bytes


@dataclass(frozen=True)
class StoredParts:
    """Where the levels of some words are.

    Args:
        levels: uint8[...], `peaks.levels`.
        begins: int64[words, parts], the first byte of each part of a word.
        sizes: int64[words], blocks of each word.
        halves: bool[parts], whether a byte of a part holds two levels.
    """

    levels: Array
    begins: I64
    sizes: I64
    halves: NDArray[np.bool_]

    def values(self, words: I64, ranks: I64) -> Bytes:
        """uint8[parts, n]: what the blocks of a rank have in each part of a word."""
        begins = self.begins[words].T
        halves = self.halves[:, None]
        found = self.levels[begins + np.where(halves, ranks >> 1, ranks)]
        return np.where(halves, found >> (4 * (ranks & 1)).astype(np.uint8) & np.uint8(15), found)


def has_members(members: NDArray[np.uint64], rows: I64, blocks: I64) -> NDArray[np.bool_]:
    """bool[words, b]: whether blocks are members of some rows."""
    words = members[rows[:, None], blocks >> 6] >> (blocks & 63).astype(np.uint64)
    found: NDArray[np.bool_] = (words & np.uint64(1)).astype(bool)
    return found


def ranks_of(members: NDArray[np.uint64], rows: I64, ends: I64, blocks: I64) -> I64:
    """The rank of each of n blocks in the rows of its word: the members before it.

    Args:
        members: uint64[all words, ...], `peaks.members`.
        rows: int64[words], the row of each word.
        ends: int64[words + 1], how many blocks come before those of each word.
        blocks: int64[n], ascending for each word.
    """
    kernel = KERNEL.for_work(len(rows) * members.shape[1])
    ranks = np.zeros(len(blocks), np.int64)
    if kernel is not None:
        kernel.ranks(members, rows, ends, blocks, ranks)
        return ranks
    for row, begin, end in zip(rows.tolist(), ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        counts = np.cumsum(np.unpackbits(members[row].view(np.uint8), bitorder="little"), dtype=np.int64)
        own = blocks[begin:end]
        ranks[begin:end] = np.where(own > 0, counts[own - 1], 0)
    return ranks


def edited_parts(stored: StoredParts, edits: LevelEdits, words: I64) -> tuple[I64, I64]:
    """The parts that edits change: (the word of each int64[m], its number among the parts of the word int64[m]).

    Args:
        stored: of the words.
        edits: of them.
        words: int64[n], the word of each edit.
    """
    stays = edits.before & edits.after
    differs = np.ones(edits.values.shape, bool)
    differs[:, stays] = stored.values(words[stays], edits.ranks[stays]) != edits.values[:, stays]
    changed = np.zeros(stored.begins.shape, bool)
    for part, own in enumerate(differs):
        changed[words[own], part] = True
    of_words, parts = np.nonzero(changed)
    return of_words.astype(np.int64), parts.astype(np.int64)


def edited_levels(stored: StoredParts, edits: LevelEdits, words: I64, parts: I64) -> tuple[Bytes, I64]:
    """Parts of the levels of words afterwards: (one after the other uint8[...], int64[m + 1], where each begins, and
    the end of the last).

    Args:
        stored: of the words.
        edits: of all of their blocks that change.
        words: int64[m], the word of each part.
        parts: int64[m], its number among the parts of the word.
    """
    changes = np.concatenate(([0], np.cumsum(edits.after.astype(np.int64) - edits.before)))[edits.ends]
    halves, before = stored.halves[parts], stored.sizes[words]
    after = before + np.diff(changes)[words]
    at = np.concatenate(([0], np.cumsum(np.where(halves, (after + 1) >> 1, after))))
    out = np.zeros(int(at[-1]), np.uint8)
    kernel = KERNEL.for_work(len(out))
    if kernel is not None:
        kernel.edit(
            stored.levels, stored.begins[words, parts], before, halves, edits.ends, edits.ranks, edits.before,
            edits.after, edits.values, words, parts, out, at,
        )  # fmt: skip
        return out, at
    for i, (word, part) in enumerate(zip(words.tolist(), parts.tolist(), strict=True)):
        out[at[i] : at[i + 1]] = _edited(stored, edits, word, part)
    return out, at


def _edited(stored: StoredParts, edits: LevelEdits, word: int, part: int) -> Bytes:
    """A part of the levels of a word afterwards."""
    halves, size, begin = bool(stored.halves[part]), int(stored.sizes[word]), int(stored.begins[word, part])
    own = slice(int(edits.ends[word]), int(edits.ends[word + 1]))
    ranks, before, after, values = (a[own] for a in (edits.ranks, edits.before, edits.after, edits.values[part]))
    held = stored.levels[begin : begin + (-(-size // 2) if halves else size)]
    levels = np.stack((held & 15, held >> 4), axis=1).reshape(-1)[:size] if halves else held.copy()
    stays = before & after
    levels[ranks[stays]] = values[stays]
    edit = ArrayEdit(size, ranks[before & ~after], ranks[after & ~before])
    return packed_levels(edit.apply(levels, values[after & ~before]), halves=halves)


def lowest_levels(codes: Floats, words: I64, x: Floats) -> Bytes:
    """The lowest level of each of n maxima whose x is not below it.

    Args:
        codes: float64[words, 2 ** bits], ascending, the x of each level.
        words: int64[n].
        x: float64[n], at most the highest level.

    >>> lowest_levels(np.array([[0.0, 1.0, 1.0, 3.0]]), np.zeros(3, np.int64), np.array([0.0, 1.0, 2.0])).tolist()
    [0, 1, 3]
    """
    found, step = np.zeros(len(x), np.int64), codes.shape[1] >> 1
    while step:
        found += step * (codes[words, found + step - 1] < x)
        step >>= 1
    return found.astype(np.uint8)
