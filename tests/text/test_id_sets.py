"""The set operations against Python's own sets, in every shape that picks another branch."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.ranking_model import Postings
from hybridkg.text.id_sets import contains, intersection, restricted, union

dense = st.sets(st.integers(0, 60), max_size=60)
sparse = st.sets(st.integers(0, 2**32 - 1), max_size=8)
spread = st.builds(lambda few, step: {n * step for n in few}, dense, st.sampled_from([1, 1_000_000, 70_000_000]))
members = st.one_of(dense, sparse, spread)


def ids(numbers):
    return np.array(sorted(numbers), np.uint32)


@settings(deadline=None, max_examples=examples(75, 400))
@given(members, members)
def test_contains_is_membership(a, b):
    assert contains(ids(a), ids(b)).tolist() == [n in b for n in sorted(a)]


@settings(deadline=None, max_examples=examples(42, 200))
@given(members, st.data())
def test_few_members_are_found_wherever_they_stand(a, data):
    few = data.draw(st.sets(st.sampled_from(sorted(a)), max_size=2)) if a else set()
    few |= data.draw(st.sets(st.integers(0, 2**32 - 1), max_size=1))
    assert contains(ids(a), ids(few)).tolist() == [n in few for n in sorted(a)]


@settings(deadline=None, max_examples=examples(60, 200))
@given(st.lists(members, min_size=1, max_size=4))
def test_union_and_intersection_are_those_of_sets(parts):
    arrays = [ids(part) for part in parts]
    assert union(arrays).tolist() == sorted(set.union(*parts))
    assert intersection(arrays).tolist() == sorted(set.intersection(*parts))
    assert union(arrays).dtype == intersection(arrays).dtype == np.uint32


@settings(deadline=None, max_examples=examples(60, 100))
@given(members, members)
def test_restricted_keeps_tf_beside_its_entity(a, b):
    kept = restricted(Postings(ids(a), np.arange(1, len(a) + 1, dtype=np.uint32)), ids(b))
    tf = {n: i + 1 for i, n in enumerate(sorted(a))}
    assert dict(zip(kept.ids.tolist(), kept.tf.tolist(), strict=True)) == {n: tf[n] for n in a & b}
