"""Packed posting lists: what goes in comes out, the same bytes from numpy and from the kernel, few of them read."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.compute.kernels import LazyKernel
from hybridkg.interfaces.ranking_model import Postings
from hybridkg.text import id_sets
from hybridkg.text.index.build.posting_lists import ListsWriter
from hybridkg.text.index.codec.packing import BLOCK, PADDING, PackedLists, blocks_of, pack_numpy, unpack_numpy
from hybridkg.text.index.layout import ArrayReader, ArrayWriter
from hybridkg.text.index.postings import SegmentPostings
from hybridkg.text.index.topk import topk
from hybridkg.text.models.additive import QueryLists

pytestmark = pytest.mark.quick

LARGEST = 2**32 - 1
lengths = st.sampled_from([0, 0, 1, 2, 3, 4, 5, 31, 127, 128, 129, 256, 1000])


def drawn(seed, sizes, gap_bits, tf_bits):
    """Lists of these sizes: (df, ids, tf), with gaps and occurrences of about so many bits, one in ten the largest."""
    rng = np.random.default_rng(seed)
    lists = []
    for size in sizes:
        gaps = rng.integers(1, 2**gap_bits, size, endpoint=True)
        ids = np.cumsum(gaps) - gaps[:1] + rng.integers(0, 2**gap_bits) if size else gaps
        if size and ids[-1] > LARGEST:
            ids = np.unique(rng.integers(0, LARGEST, size, endpoint=True))
        if size and rng.random() < 0.3:
            ids[-1] = LARGEST
        lists.append(ids.astype(np.uint32))
    df = np.array([len(ids) for ids in lists], np.int64)
    tf = rng.integers(1, 2**tf_bits, int(df.sum()), endpoint=True).clip(1, LARGEST)
    if len(tf) and rng.random() < 0.3:
        tf[rng.integers(len(tf))] = LARGEST
    return df, np.concatenate([*lists, np.zeros(0, np.uint32)]).astype(np.uint32), tf.astype(np.uint32)


lists = st.builds(
    drawn,
    st.integers(0, 2**32 - 1),
    st.lists(lengths, max_size=6),
    st.sampled_from([0, 1, 3, 8, 17, 31, 32]),
    st.sampled_from([0, 0, 1, 4, 20, 32]),
)


def sizes_of(df):
    return np.array([min(BLOCK, n - at) for n in df.tolist() for at in range(0, n, BLOCK)], np.int64)


def padded(packed):
    return np.concatenate([packed.words, np.zeros(PADDING, np.uint32)])


def compiled_pack(packing, df, ids, tf):
    blocks = int(blocks_of(df).sum())
    first, at, widths = np.empty(blocks, np.uint32), np.empty(blocks, np.uint32), np.empty((blocks, 2), np.uint8)
    words = np.zeros(4 * packing.measure(df, ids, tf, first, at, widths), np.uint32)
    packing.pack(df, ids, tf, at, widths, words)
    return PackedLists(first, at, widths, words)


@pytest.fixture(scope="module")
def packing(kernel):
    from hybridkg.text.index.codec import packing_kernel

    return packing_kernel


@settings(deadline=None, max_examples=examples(90, 150))
@given(lists)
@example((np.array([2, 1]), np.array([0, LARGEST, LARGEST], np.uint32), np.array([1, LARGEST, 1], np.uint32)))
@example((np.array([0, 0]), np.zeros(0, np.uint32), np.zeros(0, np.uint32)))
def test_what_is_packed_comes_out_again(lists):
    df, ids, tf = lists
    packed = pack_numpy(df, ids, tf)
    found = unpack_numpy(padded(packed), packed.first, packed.at, packed.widths, sizes_of(df))
    assert [part.dtype for part in found] == [np.uint32, np.uint32]
    assert [part.tolist() for part in found] == [ids.tolist(), tf.tolist()]


@settings(deadline=None, max_examples=examples(90, 150))
@given(lists)
@example((np.array([2, 1]), np.array([0, LARGEST, LARGEST], np.uint32), np.array([1, LARGEST, 1], np.uint32)))
@example((np.array([0, 0]), np.zeros(0, np.uint32), np.zeros(0, np.uint32)))
def test_the_kernel_writes_the_bytes_of_numpy_and_reads_its_numbers(packing, lists):
    df, ids, tf = lists
    want, got = pack_numpy(df, ids, tf), compiled_pack(packing, df, ids, tf)
    for name in ("first", "at", "widths", "words"):
        one, other = getattr(want, name), getattr(got, name)
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes()), name
    out = np.full((2, len(ids) + 3), 7, np.uint32)
    packing.unpack(padded(got), got.first, got.at, got.widths, sizes_of(df), out[0], out[1])
    assert out[:, : len(ids)].tolist() == [ids.tolist(), tf.tolist()]


@settings(deadline=None, max_examples=examples(36, 60))
@given(lists, st.randoms(use_true_random=False))
def test_any_blocks_can_be_read_alone_and_in_any_order(packing, lists, random):
    df, ids, tf = lists
    packed, sizes = pack_numpy(df, ids, tf), sizes_of(df)
    blocks = random.sample(range(len(sizes)), random.randint(0, len(sizes)))
    begins = np.cumsum(sizes) - sizes
    wanted = np.concatenate([np.arange(begins[b], begins[b] + sizes[b]) for b in blocks] + [np.zeros(0, np.int64)])
    wanted = wanted.astype(np.int64)
    parts = packed.first[blocks], packed.at[blocks], packed.widths[blocks], sizes[blocks]
    found = unpack_numpy(padded(packed), *parts)
    out = np.zeros((2, len(wanted) + 3), np.uint32)
    packing.unpack(padded(packed), *parts, out[0], out[1])
    for n, whole in enumerate((ids, tf)):
        assert found[n].tolist() == out[n, : len(wanted)].tolist() == whole[wanted].tolist()


def test_a_worked_example():
    # 5 ids from 10: gaps - 1 are 0 3 0 1 (two bits), tf - 1 are 0 0 6 0 0 (three bits); two rows of lanes each.
    df, ids, tf = np.array([5]), np.array([10, 11, 15, 16, 18], np.uint32), np.array([1, 1, 7, 1, 1], np.uint32)
    packed = pack_numpy(df, ids, tf)
    assert (packed.first.tolist(), packed.at.tolist(), packed.widths.tolist()) == ([10], [0], [[2, 3]])
    # The values 0 (of the first id), 0, 3, 0 fill lanes 0 to 3; the fifth, 1, is in lane 0 again, two bits up.
    assert packed.words.tolist() == [1 << 2, 0, 3, 0, 0, 0, 6, 0]


def test_a_dense_list_of_single_occurrences_takes_no_words():
    packed = pack_numpy(np.array([1000]), np.arange(1000, dtype=np.uint32), np.ones(1000, np.uint32))
    assert (packed.widths.max(), len(packed.words)) == (0, 0)
    assert packed.first.tolist() == list(range(0, 1000, BLOCK))


def test_blocks_of_a_list():
    assert blocks_of(np.array([0, 1, 127, 128, 129, 256, 1000])).tolist() == [0, 1, 1, 1, 2, 2, 8]


def stored(folder, df, ids, tf, pieces=1):
    """A segment with these lists only, each occurrence at position 0."""
    out = ArrayWriter(folder, "1")
    writer = ListsWriter(out, len(df), 0)
    ends = np.concatenate(([0], np.cumsum(df)))
    for own in np.array_split(np.arange(len(df)), pieces):
        if len(own):
            part = slice(ends[own[0]], ends[own[-1] + 1])
            counts = np.array([tf[ends[i] : ends[i + 1]].sum(dtype=np.int64) for i in own])
            writer.append(df[own], counts, ids[part], tf[part], np.zeros(int(counts.sum()), np.uint32))
    assert writer.finish() == len(ids)
    out.finish({})
    return SegmentPostings(ArrayReader(folder, "1"), len(df))


small = st.builds(
    drawn,
    st.integers(0, 2**32 - 1),
    st.lists(lengths, min_size=1, max_size=6),
    st.sampled_from([0, 1, 3, 8]),
    st.sampled_from([0, 1, 4]),
).filter(lambda lists: lists[2].max(initial=0) < LARGEST)


def as_lists(postings):
    return postings.ids.tolist(), postings.tf.tolist()


@settings(deadline=None, max_examples=examples(30, 50))
@given(small, st.integers(1, 3), st.integers(0, 2**32 - 1), st.booleans())
def test_lists_on_disk_are_those_that_were_written(packing, lists, pieces, seed, plain):
    df, ids, tf = lists
    ends = np.concatenate(([0], np.cumsum(df)))
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if plain:
            patch.setattr(LazyKernel, "for_work", lambda self, work: None)
        stored_lists = stored(Path(folder), df, ids, tf, pieces)
        for i in range(len(df)):
            own = slice(ends[i], ends[i + 1])
            whole = stored_lists.postings(i)
            assert as_lists(whole) == (ids[own].tolist(), tf[own].tolist())
            assert (stored_lists.size(i), stored_lists.occurrences(i)) == (df[i], tf[own].sum())
            candidates = some_of(rng, ids[own])
            assert as_lists(stored_lists.restricted(i, candidates)) == as_lists(id_sets.restricted(whole, candidates))
        there = [i for i in rng.permutation(len(df)).tolist() if df[i] and rng.random() < 0.8]
        first = np.array([stored_lists.first_block(i) for i in there], np.int64)
        assert stored_lists.directory(0, len(df))[0] == ends.tolist()
        for among in (None, some_of(rng, ids)):
            several = stored_lists.several(first, df[there], among)
            wholes = [stored_lists.postings(i) for i in there]
            wanted = wholes if among is None else [id_sets.restricted(whole, among) for whole in wholes]
            assert list(map(as_lists, several)) == list(map(as_lists, wanted))
        begin, end = sorted(rng.integers(0, len(df), 2, endpoint=True).tolist())
        sizes, found_ids, found_tf = stored_lists.lists(begin, end)
        own = slice(ends[begin], ends[end])
        assert sizes.tolist() == df[begin:end].tolist()
        assert (found_ids.tolist(), found_tf.tolist()) == (ids[own].tolist(), tf[own].tolist())
        assert stored_lists.sizes(np.arange(len(df))).tolist() == df.tolist()


def some_of(rng, ids):
    """Ascending candidates, members and others, anywhere or near each other."""
    every = np.unique(np.concatenate([ids, ids + 1, rng.integers(0, LARGEST, 5), np.array([0, LARGEST])]))
    every = every[every <= LARGEST].astype(np.uint32)
    if rng.random() < 0.5:
        middle = rng.integers(len(every))
        every = every[middle : middle + 5]
    return every[rng.random(len(every)) < rng.choice([0.0, 0.1, 1.0])]


@settings(deadline=None, max_examples=examples(27, 100))
@given(small, st.integers(0, 2**32 - 1), st.integers(0, 2**6 - 1))
def test_the_kernel_keeps_the_postings_of_candidates(kernel, packing, lists, seed, plain):
    df, ids, tf = lists
    ends = np.concatenate(([0], np.cumsum(df)))
    wanted = some_of(np.random.default_rng(seed), ids)
    with tempfile.TemporaryDirectory() as folder:
        stored_lists = stored(Path(folder), df, ids, tf)
        # Some of the lists are plain, as those of phrases are.
        there = [(i, stored_lists.first_block(i) if not plain >> i & 1 else -1) for i in range(len(df)) if df[i]]
        rows = np.array([(i, i % 2, block, ends[i], df[i]) for i, block in there], np.int64).reshape(-1, 5).T.copy()
        found, postings = topk.restricted(kernel, QueryLists(rows, ids, tf), stored_lists.packed, wanted)
        want = [(i, id_sets.restricted(stored_lists.postings(i), wanted)) for i, _ in there]
    assert [
        (t, f, block, found.ids[at : at + n].tolist(), found.tf[at : at + n].tolist())
        for t, f, block, at, n in found.rows.T.tolist()
    ] == [(i, i % 2, -1, *as_lists(own)) for i, own in want if len(own.ids)]
    assert postings == sum(len(own.ids) for _, own in want) == int(found.sizes.sum())


@pytest.mark.parametrize("plain", [True, False])
def test_only_the_blocks_in_which_candidates_may_be_are_read(packing, tmp_path, monkeypatch, plain):
    n = 100 * BLOCK + 50
    ids = (3 * np.arange(n)).astype(np.uint32)
    if plain:
        monkeypatch.setattr(LazyKernel, "for_work", lambda self, work: None)
    lists = stored(tmp_path, np.array([7, n]), np.concatenate([ids[:7], ids]), np.ones(n + 7, np.uint32))
    read = []
    whole = SegmentPostings._read
    monkeypatch.setattr(
        SegmentPostings, "_read", lambda self, b, sizes: read.append(b.tolist()) or whole(self, b, sizes)
    )
    block = 3 * BLOCK

    def asked(*candidates):
        read.clear()
        found = lists.restricted(1, np.array(candidates, np.uint32)).ids.tolist()
        return found, [b for blocks in read for b in blocks]

    assert asked(0) == ([0], [1])
    assert asked(1) == ([], [1])
    assert asked(3 * BLOCK - 3, 3 * BLOCK) == ([3 * BLOCK - 3, 3 * BLOCK], [1, 2])
    assert asked(5 * block, 90 * block + 6) == ([5 * block, 90 * block + 6], [6, 91])
    assert asked(int(ids[-1])) == ([int(ids[-1])], [101])
    assert asked(int(ids[-1]) + 1, LARGEST)[0] == []
    assert asked() == ([], [])
    assert len(lists.restricted(1, ids[::1]).ids) == n


@pytest.mark.parametrize("plain", [True, False])
def test_lists_are_read_at_once_in_any_order(packing, tmp_path, monkeypatch, plain):
    if plain:
        monkeypatch.setattr(LazyKernel, "for_work", lambda self, work: None)
    lists = stored(tmp_path, np.ones(4, np.int64), np.arange(5, 9, dtype=np.uint32), np.ones(4, np.uint32))
    for order in itertools.permutations(range(4), 3):  # 1, 0, 3 is as long as 1, 2, 3
        found = lists.several(np.array(order), np.ones(3, np.int64))
        assert [postings.ids.tolist() for postings in found] == [[5 + i] for i in order]


def test_candidates_before_the_first_posting_read_nothing(tmp_path, monkeypatch):
    lists = stored(tmp_path, np.array([2]), np.array([50, 60], np.uint32), np.ones(2, np.uint32))
    monkeypatch.setattr(SegmentPostings, "_read", None)
    assert lists.restricted(0, np.array([3, 49], np.uint32)).ids.tolist() == []


def test_a_writer_wants_all_lists(tmp_path):
    writer = ListsWriter(ArrayWriter(tmp_path, "1"), 3, 0)
    empty = np.zeros(0, np.uint32)
    writer.append(np.zeros(2, np.int64), np.zeros(2, np.int64), empty, empty, empty)
    with pytest.raises(ValueError, match="2 lists instead of 3"):
        writer.finish()


def test_an_empty_list_has_no_postings(tmp_path):
    empty = np.zeros(0, np.uint32)
    lists = stored(tmp_path, np.array([0, 0]), empty, empty)
    assert as_lists(lists.postings(1)) == ([], [])
    assert as_lists(lists.restricted(1, np.array([0], np.uint32))) == ([], [])
    assert isinstance(lists.postings(0), Postings)
