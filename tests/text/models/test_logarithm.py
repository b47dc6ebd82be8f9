"""The logarithm against the C library's, its series in fractions, and its compiled twin."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.compute.kernels import LazyKernel
from hybridkg.text.models import logarithm
from hybridkg.text.models.logarithm import log

pytestmark = pytest.mark.quick

positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


@pytest.fixture(scope="module")
def compiled():
    module = LazyKernel("hybridkg.text.models.logarithm_kernel").load()
    assert module is not None
    return module


def numbers(n, seed=7):
    """float64[3n]: of all magnitudes, subnormal, and near 1."""
    r = np.random.default_rng(seed)
    bits = r.integers(1, 0x7FEF_FFFF_FFFF_FFFF, n, dtype=np.uint64, endpoint=True)
    subnormal = r.integers(1, 1 << 52, n, dtype=np.uint64)
    near_one = 1 + r.uniform(-1, 1, n) * 10.0 ** -r.uniform(0.5, 16, n)
    return np.concatenate([bits.view(np.float64), subnormal.view(np.float64), near_one])


def ulps(found, x):
    want = np.array([math.log(each) for each in x.tolist()])
    return np.abs(found - want) / np.spacing(np.abs(want))


@settings(deadline=None, max_examples=examples(120, 200))
@given(st.lists(positive, max_size=20))
def test_it_is_next_to_that_of_the_c_library(values):
    x = np.array(values, np.float64)
    assert (ulps(log(x), x) <= 1).all()


def test_it_is_next_to_that_of_the_c_library_at_all_magnitudes():
    x = numbers(60_000)
    assert ulps(log(x), x).max() <= 1


def test_known_values():
    x = np.array([1.0, 2.0, 0.5, math.e, 5e-324, np.finfo(np.float64).tiny, np.finfo(np.float64).max])
    want = [0.0, math.log(2), -math.log(2), 1.0, -744.4400719213812, -708.3964185322641, 709.782712893384]
    assert log(x).tolist() == want
    assert math.copysign(1, log(x)[0]) == 1
    assert log(np.zeros(0)).shape == (0,)
    assert log(np.full(10_000, 3.0)[::2]).tolist() == [log(np.array([3.0]))[0]] * 5_000


@settings(deadline=None, max_examples=examples(120, 200))
@given(positive)
def test_a_larger_number_has_no_smaller_logarithm(x):
    x = np.array([x, math.nextafter(x, math.inf)])
    if np.isfinite(x).all():
        smaller, larger = log(x)
        assert smaller <= larger


def test_neighbours_are_in_order_around_every_change_of_the_exponent():
    edges = [np.uint64((k << 52) + logarithm.SQRT_HALF % (1 << 52)) for k in range(1, 2046)]
    steps = np.arange(-40, 40, dtype=np.int64).astype(np.uint64)
    x = (np.array(edges)[:, None] + steps).view(np.float64)
    found = log(x.ravel()).reshape(x.shape)
    assert (np.diff(found, axis=1) >= 0).all()


def test_the_polynomial_is_near_the_series():
    coefficients = [Fraction(getattr(logarithm, f"R{i}")) for i in range(1, 8)]
    root = Fraction(math.sqrt(0.5))
    top = ((1 - root) / (1 + root)) ** 2
    for i in range(1, 201):
        z = top * i / 200
        series = sum(Fraction(2, 2 * n + 1) * z**n for n in range(1, 25))
        near = sum(c * z**n for n, c in enumerate(coefficients, 1))
        assert abs(float(near - series)) < 2**-58.49


def test_ln_2_is_in_two_parts_the_first_of_32_bits():
    series = sum(Fraction(1, n * 2**n) for n in range(1, 130))
    both = Fraction(logarithm.LN2_HIGH) + Fraction(logarithm.LN2_LOW)
    assert abs(float(both - series)) < 2.0**-85
    assert (logarithm.LN2_HIGH * 2**32).is_integer()


def test_the_compiled_one_gives_the_same_bits(compiled):
    x = numbers(300_000)
    found = np.empty(len(x))
    compiled.logs(x, found)
    assert np.array_equal(found.view(np.uint64), log(x).view(np.uint64))
    assert [compiled.log(float(one)) for one in x[:50]] == log(x[:50]).tolist()
