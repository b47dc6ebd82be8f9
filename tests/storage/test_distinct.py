"""Sorting gives the distinct values that numpy's own function gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.storage.distinct import sorted_distinct


@given(st.lists(st.integers(0, 40), max_size=60), st.sampled_from([np.uint8, np.uint32, np.int64, np.uint64, float]))
def test_distinct_values_are_those_of_numpy(values, dtype):
    given_values = np.array(values, dtype)
    found = sorted_distinct(given_values)
    assert found.dtype == given_values.dtype
    assert found.tolist() == np.unique(given_values).tolist()
    assert given_values.tolist() == values


@pytest.mark.parametrize("texts", [[], ["b"], ["b", "a", "b"]])
def test_texts_have_distinct_values(texts):
    assert sorted_distinct(np.array(texts, "U1")).tolist() == sorted(set(texts))
