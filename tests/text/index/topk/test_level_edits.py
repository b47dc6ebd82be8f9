"""Edited levels are those of the edited blocks, by the kernel and by numpy."""

import numpy as np
import pytest

from hybridkg.compute.kernels import LazyKernel
from hybridkg.text.index.topk.block_max_levels import packed_levels
from hybridkg.text.index.topk.changed_blocks import KERNEL
from hybridkg.text.index.topk.level_edits import LevelEdits, StoredParts, edited_levels, edited_parts, ranks_of

pytestmark = pytest.mark.quick

HALVES = np.array([False, True, True, False])
"""Of the parts of a word: a byte, or half of one, for a level."""


@pytest.fixture(scope="module")
def compiled(kernel):
    assert KERNEL.load() is not None


def plain(found, *arguments, **options):
    """What a function gives without a kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LazyKernel, "for_work", lambda self, work: None)
        return found(*arguments, **options)


def drawn(seed, n_words, n_blocks):
    """Members of words, and the values of the blocks in each part: bool[words, blocks], uint8[words, parts, blocks]."""
    rng = np.random.default_rng(seed)
    members = rng.random((n_words, n_blocks)) < rng.choice([0, 0.02, 0.5, 1], n_words)[:, None]
    values = rng.integers(0, 256, (n_words, len(HALVES), n_blocks)).astype(np.uint8)
    values[:, HALVES] &= 15
    return members, values * members[:, None, :]


def stored_rows(members):
    bits = np.zeros((len(members), -(-members.shape[1] // 64) * 64), bool)
    bits[:, : members.shape[1]] = members
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)


def stored_parts(members, values):
    pieces = [
        packed_levels(part[own], halves=halves)
        for own, of_word in zip(members, values, strict=True)
        for part, halves in zip(of_word, HALVES.tolist(), strict=True)
    ]
    begins = np.cumsum([7, *(len(piece) for piece in pieces)])[:-1].reshape(len(members), -1)
    levels = np.concatenate([np.full(7, 255, np.uint8), *pieces, np.full(1, 255, np.uint8)])
    return StoredParts(levels, begins, members.sum(axis=1), HALVES), pieces


@pytest.mark.parametrize("seed", range(20))
def test_edits_are_those_of_the_blocks(compiled, seed):
    rng = np.random.default_rng(seed)
    n_words, n_blocks = int(rng.integers(1, 9)), int(rng.choice([1, 63, 64, 65, 700]))
    members, values = drawn(seed, n_words, n_blocks)
    next_members, next_values = drawn(seed + 100, n_words, n_blocks)
    chosen = rng.random((n_words, n_blocks)) < rng.choice([0, 0.01, 0.3, 1], n_words)[:, None]
    next_members = np.where(chosen, next_members, members)
    next_values = np.where((chosen & (rng.random(chosen.shape) < 0.8))[:, None], next_values, values)
    next_values[:, 1:2] = np.where((members & next_members)[:, None], values[:, 1:2], next_values[:, 1:2])
    next_values *= next_members[:, None]
    words, blocks = map(np.ascontiguousarray, np.nonzero(chosen & (members | next_members)))
    ends = np.searchsorted(words, np.arange(n_words + 1))
    rows = stored_rows(members)
    ranks = ranks_of(rows, np.arange(n_words), ends, blocks)
    wanted_ranks = np.array([members[word, :block].sum() for word, block in zip(words, blocks, strict=True)], np.int64)
    assert ranks.tolist() == wanted_ranks.tolist()
    assert plain(ranks_of, rows, np.arange(n_words), ends, blocks).tolist() == ranks.tolist()
    stored, pieces = stored_parts(members, values)
    own_values = np.ascontiguousarray(next_values[words, :, blocks].T)
    edits = LevelEdits(ends, ranks, members[words, blocks], next_members[words, blocks], own_values)
    changed, parts = edited_parts(stored, edits, words)
    _, wanted = stored_parts(next_members, next_values)
    found = edited_levels(stored, edits, changed, parts)
    for one, other in zip(found, plain(edited_levels, stored, edits, changed, parts), strict=True):
        assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes())
    after = dict(enumerate(pieces))
    for i, (word, part) in enumerate(zip(changed.tolist(), parts.tolist(), strict=True)):
        after[word * len(HALVES) + part] = found[0][found[1][i] : found[1][i + 1]]
    assert [piece.tobytes() for piece in after.values()] == [piece.tobytes() for piece in wanted]
