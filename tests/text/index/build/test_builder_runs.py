"""The compiled sort and merge equal their numpy references, and both a slow restatement."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.text.index.build import merging, runs
from hybridkg.text.index.build.merging import Blocks, ListRanges, RunSpill
from hybridkg.text.index.build.runs import NEXT_VALUE, NO_TERM, VALUE_GAP

pytestmark = pytest.mark.quick

token = st.sampled_from([0, 1, 2, 5, 2047, 2048, 5_000_000, NO_TERM, NEXT_VALUE])
records = st.dictionaries(st.integers(0, 300), st.lists(token, min_size=1, max_size=12), max_size=12)


@pytest.fixture(scope="module", autouse=True)
def kernel():
    """The compiled kernels."""
    module = runs.KERNEL.load()
    assert module is not None
    return module


def restated(records):
    """{term: {entity: positions}} and the tokens of each entity."""
    found, counts = defaultdict(dict), []
    for entity, tokens in sorted(records.items()):
        position = n = 0
        for one in tokens:
            if one < NEXT_VALUE:
                found[one].setdefault(entity, []).append(position)
                n += 1
            position += VALUE_GAP if one == NEXT_VALUE else 1
        counts.append(n)
    return found, counts


def arrays_of(records):
    entities = sorted(records)
    tokens = [one for entity in entities for one in records[entity]]
    return (np.array(a, np.uint32) for a in (tokens, entities, [len(records[e]) for e in entities]))


@settings(max_examples=examples(42, 150), deadline=None)
@given(records)
def test_a_run_is_sorted(records):
    found, counts = restated(records)
    tokens, entities, slots = arrays_of(records)
    for sort in (runs.sort_run, runs.sort_run_numpy):
        run, own = sort(tokens, entities, slots)
        assert own.tolist() == counts
        assert run.terms.tolist() == sorted(found)
        assert run.df.tolist() == [len(found[term]) for term in sorted(found)]
        assert run.cf.tolist() == [sum(map(len, found[term].values())) for term in sorted(found)]
        postings = [(e, p) for term in sorted(found) for e, p in sorted(found[term].items())]
        assert run.ids.tolist() == [e for e, _ in postings]
        assert run.tf.tolist() == [len(p) for _, p in postings]
        assert run.positions.tolist() == [one for _, p in postings for one in p]
        assert {getattr(run, f.name).dtype for f in fields(run)} == {np.dtype(np.uint32)}


TERMS = 6
few = st.dictionaries(
    st.tuples(st.integers(0, 40), st.integers(0, 2)), st.lists(st.integers(0, TERMS - 1), max_size=8), max_size=25
)


@settings(max_examples=examples(24, 100), deadline=None)
@given(few, st.integers(1, 9), st.integers(1, 20))
def test_ranges_hold_every_list_in_order(tmp_path_factory, records, per_run, limit):
    cf = [np.zeros(TERMS, np.int64) for _ in range(3)]
    want = defaultdict(list)
    for (entity, field), tokens in sorted(records.items()):
        np.add.at(cf[field], np.array(tokens, int), 1)
        for term in sorted(set(tokens)):
            want[term * 3 + field].append((entity, [i for i, one in enumerate(tokens) if one == term]))
    ranges = ListRanges.of(cf, limit)
    assert ranges.bounds[0] == 0
    assert ranges.bounds[-1] == 3 * TERMS
    spill = RunSpill(tmp_path_factory.mktemp("spill") / "runs", ranges)
    spilled = []
    for field in range(3):
        own = {e: tokens for (e, f), tokens in sorted(records.items()) if f == field and tokens}
        for first in range(0, len(own), per_run):
            part = dict(list(own.items())[first : first + per_run])
            spilled.append(spill.write(runs.sort_run_numpy(*arrays_of(part))[0], field))
    for i in range(len(ranges)):
        first, last = ranges.bounds[i : i + 2].tolist()
        blocks = Blocks.read(spill, spilled, i)
        lists = [want[n] for n in range(first, last)]
        expected = [
            [len(own) for own in lists],
            [sum(len(p) for _, p in own) for own in lists],
            [e for own in lists for e, _ in own],
            [len(p) for own in lists for _, p in own],
            [one for own in lists for _, p in own for one in p],
        ]
        assert last - first == 1 or sum(expected[1]) + last - first <= limit
        for merge in (merging.merged, merging.merged_numpy):
            assert [a.tolist() for a in merge(blocks, last - first)] == expected
    spill.close()
