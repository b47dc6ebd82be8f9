"""Entities that have a term in any of some fields, against the union of the term's postings."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.compute.kernels import LazyKernel
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.index import term_field_sets
from hybridkg.text.index.build.posting_lists import ListsWriter
from hybridkg.text.index.layout import ArrayReader, ArrayWriter
from hybridkg.text.index.postings import SegmentPostings
from hybridkg.text.index.term_field_sets import MAX_FIELDS_OF_KERNEL, TermSets, count_numpy, mask_of, write_term_sets


def drawn(seed, n_terms, n_fields):
    """Ids of each list: the fields of a term share most of their entities, and some lists are empty."""
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(n_terms):
        some = rng.choice(400, rng.integers(0, 200), replace=False)
        for _ in range(n_fields):
            own = some[rng.random(len(some)) < rng.choice([0.0, 0.1, 1.0])]
            lists.append(np.unique(np.concatenate([own, rng.integers(0, 400, rng.integers(0, 3))])).astype(np.uint32))
    return lists


def stored(folder, lists, n_fields):
    """(lists, counts) of a segment with these lists."""
    out = ArrayWriter(folder, "1")
    writer = ListsWriter(out, len(lists), 0)
    df = np.array([len(ids) for ids in lists], np.int64)
    ids = np.concatenate([np.zeros(0, np.uint32), *lists])
    writer.append(df, df, ids, np.ones(len(ids), np.uint32), np.zeros(len(ids), np.uint32))
    writer.finish()
    out.finish({})
    postings = SegmentPostings(ArrayReader(folder, "1"), len(lists))
    write_term_sets(out, postings, len(lists) // n_fields, n_fields)
    out.finish({})
    return postings, TermSets(ArrayReader(folder, "1"), len(lists) // n_fields)


def masks_of(rng, n_fields):
    if n_fields <= 4:
        return range(1 << n_fields)
    return [
        0,
        (1 << n_fields) - 1,
        1 << (n_fields - 1),
        *(mask_of(np.flatnonzero(rng.random(n_fields) < 0.4).tolist()),),
    ]


@settings(deadline=None, max_examples=examples(36, 60))
@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.sampled_from([1, 2, 3, 5, 8, 9, 20, 33, 64]), st.booleans())
def test_the_df_over_any_fields_is_the_size_of_the_union(kernel, seed, n_terms, n_fields, plain):
    lists = drawn(seed, n_terms, n_fields)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(term_field_sets, "_POSTINGS_AT_ONCE", seed % 500)
        if plain:
            patch.setattr(LazyKernel, "for_work", lambda self, work: None)
        _, sets = stored(Path(folder), lists, n_fields)
        most = []
        for term in range(n_terms):
            own = [set(ids.tolist()) for ids in lists[term * n_fields : (term + 1) * n_fields]]
            most.append(len(set().union(*own)))
            for mask in masks_of(np.random.default_rng(seed), n_fields):
                want = set().union(*(ids for field, ids in enumerate(own) if mask >> field & 1))
                sizes = [len(ids) for field, ids in enumerate(own) if mask >> field & 1]
                assert sets.df(term, mask, sizes) == len(want)
        for least in (1, 50, 10**6):
            assert sets.at_least(least) == [term for term, df in enumerate(most) if df >= least]


@settings(deadline=None, max_examples=examples(15, 100))
@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(1, MAX_FIELDS_OF_KERNEL), st.integers(0, 500))
def test_the_kernel_writes_the_bytes_of_numpy(kernel, seed, n_terms, n_fields, at_once):
    lists, written = drawn(seed, n_terms, n_fields), []
    for plain in (True, False):
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(term_field_sets, "_POSTINGS_AT_ONCE", at_once)
            if plain:
                patch.setattr(LazyKernel, "for_work", lambda self, work: None)
            stored(Path(folder), lists, n_fields)
            written.append({path.name: path.read_bytes() for path in Path(folder).iterdir()})
    assert written[0] == written[1]


def test_a_worked_example():
    # Term 0: title 1, 2, 5 and body 2, 5, 7. Term 1: body 3. Sets of fields are bits: title 1, body 2, both 3.
    ids = np.array([1, 2, 5, 2, 5, 7, 3], np.uint32)
    per_term, sets, entities = count_numpy(np.array([3, 3, 0, 1]), ids, 2)
    assert per_term.tolist() == [3, 1]
    assert sets.tolist() == [1, 2, 3, 2]
    assert entities.tolist() == [1, 1, 2, 1]


def test_an_index_without_terms_has_no_sets(tmp_path):
    _, sets = stored(tmp_path, [], 3)
    assert sets.at_least(0) == []


@pytest.mark.parametrize("n_fields", [2, MAX_FIELDS_OF_KERNEL, MAX_FIELDS_OF_KERNEL + 1, 64])
def test_an_index_tells_the_df_over_the_fields_of_a_query(build, n_fields):
    names = [f"f{i}" for i in range(n_fields)]
    rng = np.random.default_rng(n_fields)
    documents = {e: {name: "red" if rng.random() < 2 / n_fields else "sea" for name in names} for e in range(60)}
    index = build(documents, [IndexedField(name, analyzer="unstemmed") for name in names])
    for own in (names, names[-1:], names[1::2], [names[0], names[-1]]):
        query = TextQuery("red", fields=tuple(FieldChoice(name) for name in own))
        (term,) = index.terms(query)
        assert term.df == sum(any(texts[name] == "red" for name in own) for texts in documents.values())
        assert term.df == len(index.score_all(query)[0])
