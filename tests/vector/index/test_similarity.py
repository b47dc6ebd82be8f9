"""The similarity is the same bits by kernel and by numpy, whichever rows are asked about."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.vector.index import similarity
from hybridkg.vector.index.similarity import LANES, similarities, similarities_numpy

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    assert similarity.KERNEL.load() is not None


@given(st.integers(0, 40), st.integers(1, 6), st.integers(0, 10_000))
def test_the_kernel_gives_the_bits_of_its_twin(n, groups, seed):
    draw = np.random.default_rng(seed)
    vectors = (draw.standard_normal((n, groups * LANES)) * 10.0 ** draw.integers(-20, 20)).astype(np.float32)
    query = draw.standard_normal(groups * LANES).astype(np.float32)
    places = draw.integers(0, n, 2 * n) if n else np.empty(0, np.int64)
    kernel = similarity.KERNEL.loaded
    every, some = np.empty(n), np.empty(len(places))
    kernel.every(vectors, query, every)
    kernel.some(vectors, places, query, some)
    assert every.tolist() == similarities_numpy(vectors, None, query).tolist()
    assert some.tolist() == every[places].tolist() == similarities_numpy(vectors, places, query).tolist()


def test_many_rows_are_the_dot_products(monkeypatch):
    monkeypatch.setattr(similarity, "AT_ONCE", 64)
    draw = np.random.default_rng(1)
    vectors, query = draw.standard_normal((100, 24)).astype(np.float32), draw.standard_normal(24).astype(np.float32)
    wide = vectors.astype(np.float64) @ query.astype(np.float64)
    assert similarities(vectors, None, query) == pytest.approx(wide, abs=1e-12)
    assert similarities_numpy(vectors, None, query) == pytest.approx(wide, abs=1e-12)
