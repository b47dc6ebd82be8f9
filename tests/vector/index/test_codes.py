"""8-bit codes: what they propose holds the best k, by similarities computed apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.index import codes_kernel
from hybridkg.vector.index.codes import MAX_SUM, Codes, propose_rows, quantize
from hybridkg.vector.index.similarity import similarities

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setattr("hybridkg.vector.index.codes.KERNEL._module", codes_kernel)


def drawn(draw, n, d, shape):
    vectors = draw.standard_normal((n, d)).astype(np.float32)
    if shape == "few":
        vectors = np.round(vectors)
    if shape == "spiky":
        vectors[np.arange(n), draw.integers(0, d, n)] *= 1e4
    if shape == "near":
        vectors = vectors[:1] + vectors * 1e-4
    vectors[:, 0] += ~vectors.any(axis=1)
    return unit(vectors)


@given(
    shape=st.sampled_from(["noise", "few", "spiky", "near"]),
    n=st.integers(1, 80),
    d=st.sampled_from([8, 64, 384]),
    seed=st.integers(0, 10_000),
    data=st.data(),
)
def test_the_best_are_proposed(shape, n, d, seed, data):
    draw = np.random.default_rng(seed)
    vectors = drawn(draw, n, d, shape)
    own = quantize(vectors)
    query = data.draw(st.sampled_from([vectors[0], drawn(draw, 1, d, shape)[0]]))
    places = data.draw(st.sampled_from([None, np.sort(draw.choice(n, draw.integers(1, n + 1), replace=False))]))
    scores = np.clip(similarities(vectors, places, query), -1, 1)
    k = data.draw(st.integers(1, len(scores)))
    found = propose_rows(own, places, query, k)
    least = np.sort(scores)[len(scores) - k]
    assert set(np.flatnonzero(scores >= least)) <= set(found.tolist())


def test_bounds_hold_and_few_are_proposed():
    draw = np.random.default_rng(5)
    vectors, queries = drawn(draw, 20_000, 384, "noise"), drawn(draw, 5, 384, "noise")
    own = quantize(vectors)
    for query in queries:
        left = vectors - own.codes * own.scales[:, None]
        assert (np.linalg.norm(left.astype(np.float64), axis=1) <= own.errors * (1 + 1e-6)).all()
        assert 10 <= len(propose_rows(own, None, query, 10)) < 100


@pytest.mark.parametrize("d", [8, 512, 520, 4096, 40_000])
def test_no_sum_overflows(d):
    level = np.full((2, d), d**-0.5, np.float32)
    level[1] *= -1
    own = quantize(level)
    assert own.codes.tolist() == [[127] * d, [-127] * d]
    assert 127 * d * min(2**15 - 1, MAX_SUM // (127 * d)) < 2**31
    assert propose_rows(own, None, level[0], 1).tolist() == [0]
    assert propose_rows(own, None, level[1], 1).tolist() == [1]


def test_codes_that_do_not_fit_are_seen():
    vectors = np.eye(8, dtype=np.float32)
    own = quantize(vectors)
    assert own.fit(vectors)
    assert not own.fit(vectors[:5])
    assert not Codes(own.codes.astype(np.int16), own.scales, own.errors).fit(vectors)
    assert not Codes(own.codes, own.scales[:5], own.errors).fit(vectors)
