"""Runs of equal keys among ascending ones, by a table and by binary search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.graph.match import tables

pytestmark = pytest.mark.quick

keys = st.one_of(
    st.lists(st.integers(0, 9), max_size=30),
    st.lists(st.integers(2**32 - 12, 2**32 - 2), max_size=30),
    st.lists(st.integers(0, 2**32 - 2), max_size=30),
)


@settings(max_examples=examples(100, 2_000), deadline=None)
@given(left=keys, right=keys)
def test_a_run_has_the_places_of_all_equal_keys(left, right):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "MANY", 0)
        low, counts = tables._runs(np.array(left, np.uint32), np.array(sorted(right), np.uint32))
    for key, place, count in zip(left, low.tolist(), counts.tolist(), strict=True):
        assert count == right.count(key)
        assert sorted(right)[place : place + count] == [key] * count
