"""Edited packed lists are those of the edited postings, in the bytes of their packing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.staying import Staying
from hybridkg.text.index.build.list_edits import KERNEL, Entering, ListEditor, edit_lists_numpy, run_ends
from hybridkg.text.index.build.posting_lists import ListsWriter
from hybridkg.text.index.layout import ArrayReader, ArrayWriter
from hybridkg.text.index.postings import SegmentPostings


@pytest.fixture(scope="module")
def compiled(kernel):
    assert KERNEL.load() is not None


def _drawn(rng: np.random.Generator, df: list[int], n_nodes: int) -> tuple:
    """(df, cf, ids, tf, positions) of lists."""
    ids = np.concatenate([np.zeros(0), *(np.sort(rng.choice(n_nodes, size, replace=False)) for size in df)])
    tf = np.where(rng.random(len(ids)) < 0.8, 1, rng.integers(1, 40, len(ids))).astype(np.uint32)
    ends = np.concatenate(([0], np.cumsum(tf, dtype=np.int64)))[np.cumsum([0, *df])]
    return np.array(df, np.int64), np.diff(ends), ids.astype(np.uint32), tf, rng.integers(0, 200, int(tf.sum()))


def _stored(folder: Path, df, cf, ids, tf, positions) -> SegmentPostings:
    out = ArrayWriter(folder, "1")
    writer = ListsWriter(out, len(df), 255)
    writer.append(df, cf, ids, tf, positions)
    writer.finish()
    out.finish({})
    return SegmentPostings(ArrayReader(folder, "1"), len(df))


def _entering(rng, df, ids, old_to_new, n_new: int, n_lists: int) -> Entering:
    """New postings, of entities that do not stay in their list."""
    number = np.repeat(np.arange(len(df)), df)
    after = old_to_new[number % len(old_to_new), ids]
    stay = {(int(a), int(b)) for a, b in zip(number[after >= 0], after[after >= 0], strict=True)}
    drawn = {(int(rng.integers(n_lists)), int(rng.integers(n_new))) for _ in range(int(rng.choice([0, 1, 5, 200])))}
    pairs = sorted(drawn - stay)
    tf = rng.integers(1, 4, len(pairs)).astype(np.uint32)
    lists, new_ids = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    return Entering(lists, new_ids.astype(np.uint32), tf, rng.integers(0, 200, int(tf.sum())).astype(np.uint32))


@settings(max_examples=examples(24, 150), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_fields=st.integers(1, 3),
    sizes=st.lists(st.sampled_from([0, 0, 1, 2, 3, 127, 128, 129, 256, 300, 640]), max_size=9),
    gone=st.sampled_from([0.0, 0.0, 0.002, 0.1, 1.0]),
    shifted=st.sampled_from([0.0, 0.0, 0.002, 0.1]),
    wide=st.booleans(),
)
def test_blocks_that_are_copied_or_packed_again_are_those_of_the_edited_postings(
    compiled, seed, n_fields, sizes, gone, shifted, wide
):
    rng, n_nodes = np.random.default_rng(seed), 700
    sizes = sizes[: len(sizes) // n_fields * n_fields]
    df, cf, ids, tf, positions = _drawn(rng, sizes, n_nodes)
    is_gone = rng.random(n_nodes) < gone
    replaced = is_gone & (rng.random(n_nodes) < 0.5)  # their ids stay free for new postings
    steps = 1 - (is_gone & ~replaced) + 2 * (rng.random(n_nodes) < shifted)
    old_to_new = np.tile(np.where(is_gone, -1, np.cumsum(steps) - 1), (n_fields, 1))
    old_to_new[rng.random(old_to_new.shape) < gone] = -1
    terms = np.sort(rng.integers(0, len(df) // n_fields + 1, int(rng.integers(0, 3))))
    new = np.repeat(terms * n_fields, n_fields)
    with_new = np.insert(df, new, 0)
    entering = _entering(rng, with_new, ids, old_to_new, int(steps.sum()) + 3, len(with_new)) if len(with_new) else None
    entering = entering or Entering(*(np.zeros(0, np.int64),), *(np.zeros(0, np.uint32),) * 3)
    wanted_type = np.dtype("<u2" if wide else "<u1")
    with tempfile.TemporaryDirectory() as folder:
        old = _stored(Path(folder), df, cf, ids, tf, positions)
        found = ListEditor(old, [Staying.of(own) for own in old_to_new], wanted_type).edited(0, len(df), new, entering)
    wanted = edit_lists_numpy(
        with_new, ids, tf, positions.astype(wanted_type), old_to_new, np.arange(n_fields), entering
    )
    for name in ("df", "cf", "positions", "is_edited"):
        one, other = getattr(found, name), getattr(wanted, name)
        assert (one.dtype, one.tolist()) == (other.dtype, other.tolist()), name
    for name in ("first", "at", "widths", "words"):
        assert getattr(found.packed, name).tolist() == getattr(wanted.packed, name).tolist(), name


def test_runs_end_where_ids_shift_otherwise():
    assert run_ends(np.array([-1, -1, 0, 1, 3])).tolist() == [1, 2, 4, 4, 5]
    assert run_ends(np.zeros(0, np.int64)).tolist() == []
