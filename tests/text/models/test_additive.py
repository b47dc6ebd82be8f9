"""The compiled ranking of additive models against numpy, bit for bit, and numpy against the formula."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.ranking_model import Postings
from hybridkg.text.id_sets import NO_POSTINGS, contains, restricted, union
from hybridkg.text.index.codec.packing import PADDING, blocks_of, pack_numpy
from hybridkg.text.index.field_lengths import NO_LENGTHS, narrow_lengths
from hybridkg.text.index.layout import DOC_BLOCK
from hybridkg.text.index.stored_fields import best
from hybridkg.text.index.topk import topk
from hybridkg.text.index.topk.block_max import FINE, words_of
from hybridkg.text.models.additive import (
    SMALLEST,
    AdditiveForm,
    PackedPostings,
    QueryLists,
    TopKHeap,
    rank,
    rank_small,
    score_compiled,
    score_numpy,
)

pytestmark = pytest.mark.quick

LARGEST = 2**32 - 1


def made(seed, kind, n_nodes, n_terms, n_fields, share, n_pairs=0):
    """A form and its lists: `saturated`, or logarithms of `dirichlet`, `jm` or `one_text`.

    There are few distinct lengths and occurrences, so many scores are equal; some lists are empty, some coefficients 0.
    """
    rng = np.random.default_rng(seed)
    n_terms = max(n_terms, n_pairs)
    lengths = rng.choice([1, 2, 5, 400], (3, n_nodes)).astype(np.uint32)
    rows = rng.permutation(3)[:n_fields].astype(np.int64)
    shape = n_terms, n_fields
    coefficient = rng.choice([0.0, 0.25, 1.0, 7.5], shape) * rng.choice([1.0, 1.0, 1e-9, 1e9, 1e-99], (n_terms, 1))
    gain = rng.choice([-0.5, 0.0, 0.8, 1.0, 3.0], n_terms)
    base, slope, k1 = np.zeros(n_fields), np.ones(n_fields), 0.0
    background, constant = np.zeros(shape), np.zeros(n_terms)
    if kind == "saturated":
        b = rng.choice([0.0, 0.4, 1.0], n_fields)
        base, slope, k1 = 1.0 - b, b / (rng.random(n_fields) * 9 + 1), float(rng.choice([1e-3, 1.2, 1.2, 500.0, 1e300]))
    elif kind == "jm":
        constant = rng.choice([0.0, 1e-300, 1e-4, 0.1], n_terms)
    else:
        base = rng.choice([1e-6, 3.0, 1500.0], n_fields)
        background = rng.choice([0.0, 1e-5, 0.1], shape)
        if kind == "one_text":
            rows[:], base[:] = rows[0], base[0]
    lists = []
    for _ in range(n_terms * n_fields):
        size = min(n_nodes, int(n_nodes * share * rng.choice([0, 0.1, 1, 3])))
        ids = np.sort(rng.choice(n_nodes, size, replace=False)).astype(np.uint32)
        lists.append(Postings(ids, rng.choice([1, 1, 2, 9], size).astype(np.uint32)) if size else NO_POSTINGS)
    words = max(1, n_terms - n_pairs)
    matching = union([postings.ids for postings in lists[: words * n_fields]])
    pairs = [restricted(postings, matching) for postings in lists[words * n_fields :]]
    form = AdditiveForm(rows, base, slope, coefficient, gain, k1, background, constant, words, lengths)
    return form, lists[: words * n_fields] + pairs


forms = st.builds(
    made,
    st.integers(0, 2**32 - 1),
    st.sampled_from(["saturated", "dirichlet", "jm", "one_text"]),
    st.sampled_from([1, 50, 1000, 8192, 40_000]),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.002, 0.05]),
    st.integers(0, 4),
)


def packed_of(form, lists, plain_one_in=3):
    """The same lists as the index has them, every third one plain: (QueryLists, PackedPostings)."""
    n_fields = len(form.rows)
    active = [i for i, postings in enumerate(lists) if len(postings.ids)]
    df = np.array([0 if i % plain_one_in == 2 else len(lists[i].ids) for i in active], np.int64)
    packed_lists = [lists[i] for i in active if i % plain_one_in != 2] or [NO_POSTINGS]
    packed = pack_numpy(
        df,
        np.concatenate([p.ids for p in packed_lists]).astype(np.uint32),
        np.concatenate([p.tf for p in packed_lists]).astype(np.uint32),
    )
    first_block = np.cumsum(blocks_of(df)) - blocks_of(df)
    rows, plain, start = [], [], 0
    for n, i in enumerate(active):
        here = i % plain_one_in == 2
        size = len(lists[i].ids)
        rows.append((i // n_fields, i % n_fields, -1 if here else first_block[n], start if here else 0, size))
        if here:
            plain.append(lists[i])
            start += size
    columns = np.array(rows, np.int64).reshape(len(rows), 5).T.copy()
    none = np.zeros(0, np.uint32)
    query = QueryLists(
        columns, np.concatenate([none, *(p.ids for p in plain)]), np.concatenate([none, *(p.tf for p in plain)])
    )
    words = np.concatenate([packed.words, np.zeros(PADDING, np.uint32)])
    return query, PackedPostings(words, packed.first, packed.at, packed.widths)


def exactly(found):
    return found[0].dtype, found[0].tolist(), found[1].tobytes()


def restated(form, lists):
    """{entity: score} by the formula in the module's first lines, one entity and one term at a time."""
    n_terms, n_fields = form.coefficient.shape
    tf = [dict(zip(p.ids.tolist(), p.tf.tolist(), strict=True)) for p in lists]
    scores = {}
    for d in {d for own in tf[: form.words * n_fields] for d in own}:
        scores[d] = 0.0
        for t in range(n_terms):
            x = 0.0
            for f in range(n_fields):
                length = form.base[f] + form.slope[f] * int(form.lengths[form.rows[f], d])
                x += form.coefficient[t, f] * tf[t * n_fields + f].get(d, 0) / length
                x += form.background[t, f] / length
            if form.k1:
                scores[d] += form.gain[t] * x / (form.k1 + x)
            else:
                scores[d] += form.gain[t] * math.log(max(x + form.constant[t], SMALLEST))
    return scores


@settings(deadline=None, max_examples=examples(36, 60))
@given(forms.filter(lambda made: made[0].lengths.shape[1] <= 1000))
def test_numpy_computes_the_formula(made):
    ids, scores = score_numpy(*made)
    want = restated(*made)
    assert ids.tolist() == sorted(want)
    np.testing.assert_allclose(scores, [want[d] for d in sorted(want)], rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=examples(72, 120))
@given(forms)
def test_the_kernel_gives_the_bits_of_numpy(kernel, made):
    form, lists = made
    want = exactly(score_numpy(form, lists))
    assert exactly(score_compiled(kernel, form, lists)) == want
    query, packed = packed_of(form, lists)
    every = TopKHeap(int(query.sizes.sum()))
    rank(kernel, form, query, every, packed=packed, complete=True)
    assert exactly((every.ids[: every.n], every.scores[: every.n])) == want
    assert every.scored == every.n


@settings(deadline=None, max_examples=examples(72, 120))
@given(
    forms,
    st.sampled_from([1, 2, 10, 1000, 10**6]),
    st.sampled_from(["all", "none", "one", "few", "many"]),
    st.booleans(),
)
def test_the_best_of_the_kernel_are_those_of_the_whole_ranking(kernel, made, k, among, by_rank):
    form, lists = made
    n_nodes = form.lengths.shape[1]
    rng = np.random.default_rng(k)
    ranks = rng.permutation(n_nodes).astype(np.uint32)
    ids, scores = score_numpy(form, lists)
    allowed = None
    if among != "all":
        share = {"none": 0.0, "one": 0.0, "few": 0.01, "many": 0.6}[among]
        allowed = np.flatnonzero(rng.random(n_nodes) < share).astype(np.uint32)
        if among == "one":
            allowed = np.array([n_nodes - 1], np.uint32)
        kept = contains(ids, allowed)
        ids, scores = ids[kept], scores[kept]
    want = best(ids, scores, k, (lambda ids: ranks[ids]) if by_rank else None)
    query, packed = packed_of(form, lists)
    found = TopKHeap(min(k, int(query.sizes.sum())))
    some = {"ranks": ranks} if by_rank else {}
    rank(kernel, form, query, found, packed=packed, allowed=allowed, **some)
    assert exactly(found.found()) == exactly(want)


@settings(deadline=None, max_examples=examples(72, 120))
@given(forms, st.sampled_from([1, 2, 10, 1000, 10**6]), st.booleans(), st.booleans())
def test_the_best_of_few_postings_are_those_of_the_whole_ranking(kernel, made, k, by_rank, is_narrow):
    form, lists = made
    ranks = np.random.default_rng(k).permutation(form.lengths.shape[1]).astype(np.uint32)
    want = best(*score_numpy(form, lists), k, (lambda ids: ranks[ids]) if by_rank else None)
    query, packed = packed_of(form, lists)
    narrow = narrow_lengths(form.lengths) if is_narrow else NO_LENGTHS
    found = rank_small(
        kernel, form, query, int(query.sizes.sum()), k,
        packed=packed, ranks=ranks if by_rank else NO_POSTINGS.ids, narrow=narrow,
    )  # fmt: skip
    assert exactly(found) == exactly(want)


@pytest.mark.parametrize("kind", ["saturated", "dirichlet", "jm", "one_text"])
@pytest.mark.parametrize("gain", [1.0, 0.8, 1e-6, 1e6])
def test_equal_gains_bound_the_scores_of_logarithms(kernel, kind, gain):
    for seed in range(5):
        form, lists = made(seed, kind, 9000, 4, 2, 0.05)
        form = form._replace(gain=np.full(4, gain))
        want = exactly(best(*score_numpy(form, lists), 5, None))
        query, packed = packed_of(form, lists)
        found = TopKHeap(5)
        rank(kernel, form, query, found, packed=packed)
        assert exactly(found.found()) == want
        postings = int(query.sizes.sum())
        few = rank_small(kernel, form, query, postings, 5, packed=packed, ranks=NO_POSTINGS.ids, narrow=NO_LENGTHS)
        assert exactly(few) == want


def no_peaks(n_nodes):
    """Peaks of an index that has no common terms."""
    ranges = -(-n_nodes // DOC_BLOCK)
    return SimpleNamespace(
        n_blocks=ranges,
        members=np.zeros((0, words_of(ranges)), np.uint64),
        levels=np.zeros(0, np.uint8),
        codes=np.zeros((0, FINE)),
    )


@settings(deadline=None, max_examples=examples(24, 200))
@given(
    forms, st.sampled_from([1, 10, 500]), st.sampled_from([0, 1, 40]), st.sampled_from([1, 3, 64]), st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_ranges_passed_over_by_their_bounds_change_nothing(kernel, made, k, wanted, most, among, narrow):
    form, lists = made
    form = form._replace(gain=np.abs(form.gain))
    n_nodes = form.lengths.shape[1]
    ids, scores = score_numpy(form, lists)
    allowed = np.arange(0, n_nodes, 3, dtype=np.uint32) if among else None
    if among:
        kept = ids % 3 == 0
        ids, scores = ids[kept], scores[kept]
    query, packed = packed_of(form, lists)
    assume(len(query.sizes) > 0)
    lengths = narrow_lengths(form.lengths) if narrow else NO_LENGTHS
    found = TopKHeap(min(k, int(query.sizes.sum())))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topk, "FIRST_BLOCKS", wanted)
        patch.setattr(topk, "MAX_BLOCKS", most)
        patch.setattr(topk, "MIN_BLOCKS", 1)
        topk.rank_with_block_max(
            form, query, found, packed, no_peaks(n_nodes), {}, range(len(form.rows)), NO_POSTINGS.ids, allowed, lengths
        )
    assert found.scored <= len(ids)
    assert exactly(found.found()) == exactly(best(ids, scores, k, None))


@pytest.mark.parametrize("kind", ["saturated", "jm"])
@pytest.mark.parametrize("large", [1e9, 1e15, 1e30])
def test_what_a_term_of_huge_gain_leaves_of_others_is_not_lost_in_rounding(kernel, kind, large):
    rng = np.random.default_rng(1)
    form, _ = made(3, kind, 9000, 3, 1, 0.3)
    lists = []
    for size, most in ((300, 3), (3000, 99), (3000, 99)):
        ids = np.sort(rng.choice(9000, size, replace=False)).astype(np.uint32)
        lists.append(Postings(ids, rng.integers(1, most, size, np.uint32)))
    query, packed = packed_of(form, lists)
    for others in rng.uniform(0.3, 1.0, (20, 2)):
        form = form._replace(
            gain=np.array([large, *others]),
            coefficient=np.ones((3, 1)),
            constant=np.full(3, 0.1 if kind == "jm" else 0.0),
        )
        found = TopKHeap(320)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(topk, "MAX_BLOCKS", 64)
            topk.rank_with_block_max(
                form, query, found, packed, no_peaks(9000), {}, range(1), NO_POSTINGS.ids, None, NO_LENGTHS
            )
        assert exactly(found.found()) == exactly(best(*score_numpy(form, lists), 320, None))


@pytest.mark.parametrize("kind", ["saturated", "dirichlet", "jm", "one_text"])
@pytest.mark.parametrize("n_terms", [64, 65, 200])
def test_a_query_may_have_many_terms(kernel, kind, n_terms):
    form, lists = made(n_terms, kind, 3000, n_terms, 2, 0.01, 5)
    assert exactly(score_compiled(kernel, form, lists)) == exactly(score_numpy(form, lists))


def test_pairs_of_words_match_nothing_by_themselves(kernel):
    form, (words, _) = made(1, "dirichlet", 100, 2, 1, 0.1, 1)
    assert len(words.ids) > 1
    pairs = Postings(np.array([2, 99], np.uint32), np.ones(2, np.uint32))
    assert not contains(pairs.ids, words.ids).any()
    assert score_compiled(kernel, form, [words, pairs])[0].tolist() == words.ids.tolist()


def test_equal_gains_far_apart_are_not_taken_together(kernel):
    form, lists = made(5, "jm", 500, 6, 1, 0.05)
    for gain in ([1, 2, 1, 2, 1, 2], [1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 2, 2], [1, 1, 2, 2, 2, 1]):
        own = form._replace(gain=np.array(gain, np.float64))
        want = restated(own, lists)
        ids, scores = score_numpy(own, lists)
        np.testing.assert_allclose(scores, [want[d] for d in ids.tolist()], rtol=1e-12)
        assert exactly(score_compiled(kernel, own, lists)) == exactly((ids, scores))


def test_four_of_the_smallest_probabilities_have_a_finite_logarithm(kernel):
    form, lists = made(5, "jm", 500, 8, 1, 0.05)
    form = form._replace(gain=np.ones(8), constant=np.zeros(8))
    ids, scores = score_numpy(form, lists)
    assert len(ids)
    assert np.isfinite(scores).all()
    assert exactly(score_compiled(kernel, form, lists)) == exactly((ids, scores))


def test_nothing_is_left_in_the_scratch_memory_from_one_query_to_the_next(kernel):
    tasks = [made(seed, kind, 9000, 4, 2, 0.05, 1) for seed in range(3) for kind in ("saturated", "dirichlet", "jm")]
    want = [exactly(score_numpy(*task)) for task in tasks]
    for _ in range(2):
        for (form, lists), whole in zip(tasks, want, strict=True):
            rank(kernel, form, QueryLists.plain(lists, 2), TopKHeap(3), allowed=np.arange(0, 9000, 7, dtype=np.uint32))
            assert exactly(score_compiled(kernel, form, lists)) == whole


def test_the_kernel_takes_ids_up_to_the_largest_of_a_graph(kernel):
    n = 2**22 + 1
    form = AdditiveForm(
        rows=np.zeros(1, np.int64), base=np.zeros(1), slope=np.ones(1), coefficient=np.ones((1, 1)), gain=np.ones(1),
        k1=1.0, background=np.zeros((1, 1)), constant=np.zeros(1), words=1, lengths=np.ones((1, n), np.uint32),
    )  # fmt: skip
    lists = [Postings(np.array([0, n - 1], np.uint32), np.array([1, LARGEST], np.uint32))]
    assert score_compiled(kernel, form, lists)[0].tolist() == [0, n - 1]
    assert exactly(score_compiled(kernel, form, lists)) == exactly(score_numpy(form, lists))


def test_a_form_without_postings_has_no_entities(kernel):
    form, _ = made(1, "saturated", 10, 2, 2, 0.1)
    for find in (score_numpy, lambda form, lists: score_compiled(kernel, form, lists)):
        ids, scores = find(form, [NO_POSTINGS] * 4)
        assert (ids.dtype, len(ids), len(scores)) == (np.uint32, 0, 0)
