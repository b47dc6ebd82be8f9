"""The tests of significance against slow restatements, scipy, and their laws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy  # its parts are loaded when a test needs them
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import ParameterError
from hybridkg.evaluation.significance import (
    EXACT_UP_TO,
    TESTS,
    bootstrap_interval,
    holm,
    paired_test,
    randomisation_test,
    t_test,
)

sixteenths = st.integers(-16, 16).map(lambda n: n / 16)  # few values, exact in binary, so ties are common
differences = st.lists(sixteenths, min_size=1, max_size=30)
any_difference = st.lists(st.floats(-1, 1), min_size=1, max_size=40)
p_values = st.lists(st.floats(1e-300, 1), max_size=20)


def slow_randomisation(values: list[float]) -> float:
    """Swap the two runs of every topic in every way, in exact arithmetic."""
    exact = [Fraction(v) for v in values]
    means = [
        abs(sum(s * v for s, v in zip(signs, exact, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(exact))
    ]
    return sum(m >= abs(sum(exact)) for m in means) / len(means)


def slow_holm(p: list[float]) -> list[float]:
    """Each p-value, against every one that is at most as large."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    return [max(min(1.0, (len(p) - j) * p[order[j]]) for j in range(order.index(i) + 1)) for i in range(len(p))]


@settings(max_examples=examples(15, 120), deadline=None)
@given(st.lists(sixteenths, min_size=1, max_size=9))
def test_the_exact_randomisation_test_equals_a_slow_enumeration(values):
    result = randomisation_test(values)
    assert result.exact
    assert result.p == slow_randomisation(values)


@settings(max_examples=examples(15, 120), deadline=None)
@given(st.lists(st.floats(-1, 1, width=16), min_size=2, max_size=8))
def test_decimal_rounding_does_not_hide_a_tie(values):
    tenths = [round(v, 1) for v in values]
    want = slow_randomisation([round(t * 10) for t in tenths])
    assert randomisation_test(tenths).p == want


def test_topics_without_a_difference_do_not_count_towards_the_limit_of_the_exact_test():
    result = randomisation_test([0.0] * 500 + [0.25] * EXACT_UP_TO)
    assert (result.p, result.permutations, result.exact) == (2 / 2**EXACT_UP_TO, 2**EXACT_UP_TO, True)


def test_drawn_swaps_come_near_the_exact_share():
    sizes = [((7 * i) % 13 - 4) / 13 for i in range(20)]
    sums = np.zeros(1)
    for v in sizes:
        sums = np.concatenate((sums + v, sums - v))
    exact = np.mean(np.abs(sums) >= abs(sum(sizes)) - 1e-9)
    drawn = randomisation_test(sizes, permutations=200_000, seed=3)
    assert not drawn.exact
    assert drawn.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 200_000))


def test_each_sign_is_drawn_as_often_as_the_other_and_independently():
    # Two topics outweigh the others, which point the other way: every swap in which the two agree reaches the sum.
    assert randomisation_test([1.0, 1.0] + [-1e-6] * 18, permutations=50_000).p == pytest.approx(1 / 2, abs=0.01)
    assert randomisation_test([1.0] * 4 + [-1e-6] * 30, permutations=50_000).p == pytest.approx(1 / 8, abs=0.01)


def test_p_is_never_zero_and_counts_the_observed_swap():
    assert randomisation_test([0.5] * 100, permutations=999).p == 1 / 1000


@settings(max_examples=examples(18, 160), deadline=None)
@given(any_difference, st.randoms(use_true_random=False), st.integers(0, 5))
def test_neither_the_order_of_topics_nor_that_of_runs_matters(values, random, seed):
    shuffled = values[:]
    random.shuffle(shuffled)
    swapped = [-v for v in shuffled]
    for test in TESTS.values():
        p = test.run(values, 200, seed).p
        assert 0 < p <= 1
        assert test.run(shuffled, 200, seed).p == p
        assert test.run(swapped, 200, seed).p == p
    low, high = bootstrap_interval(values, resamples=100, seed=seed)
    assert low <= high
    assert bootstrap_interval(shuffled, resamples=100, seed=seed) == (low, high)
    assert bootstrap_interval(swapped, resamples=100, seed=seed) == (-high, -low)


@settings(max_examples=examples(18, 160), deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=40))
def test_the_t_test_equals_scipys(pairs):
    a, b = (np.array(x) for x in zip(*pairs, strict=True))
    if np.ptp(b - a) < 1e-6:
        return  # scipy divides by a rounding error here
    assert t_test(b - a).p == pytest.approx(scipy.stats.ttest_rel(b, a).pvalue, rel=1e-9, abs=1e-300)


def test_the_t_test_by_hand():
    # mean .2, standard error .1 / sqrt(3), t = 2 * sqrt(3) with 2 degrees of freedom: p = 1 - t / sqrt(2 + t * t)
    t = 2 * math.sqrt(3)
    assert t_test([0.1, 0.2, 0.3]).p == pytest.approx(1 - t / math.sqrt(2 + t * t), rel=1e-12)


@pytest.mark.parametrize("values", [[], [0.0], [0.0] * 5, [0.3]])
def test_nothing_can_be_told_from_no_difference_or_one_topic(values):
    assert t_test(values).p == 1
    assert randomisation_test(values).p == 1


def test_differences_that_do_not_vary_have_a_p_above_zero():
    assert 0 < t_test([0.1] * 5).p < 1e-300
    assert bootstrap_interval([0.1] * 5) == (0.1, 0.1)


@pytest.mark.parametrize("values", [[math.nan, 0.1], [math.inf], [[0.1], [0.2]]])
def test_what_is_no_list_of_numbers_is_refused(values):
    for run in (t_test, randomisation_test, bootstrap_interval):
        with pytest.raises(ValueError, match="finite"):
            run(values)


def test_under_the_null_p_values_are_about_uniform():
    generator = np.random.default_rng(11)
    drawn = generator.standard_normal((400, 25)) ** 3  # long tails, symmetric
    assert (
        scipy.stats.kstest([randomisation_test(row, permutations=999, seed=5).p for row in drawn], "uniform").pvalue
        > 0.01
    )
    drawn = generator.standard_normal((400, 25))
    assert scipy.stats.kstest([t_test(row).p for row in drawn], "uniform").pvalue > 0.01


def test_tiny_differences_are_differences():
    values = [1e-200, 3e-200, 2e-200]
    assert t_test(values).p == pytest.approx(t_test([1, 3, 2]).p)
    assert randomisation_test(values).p == 0.25
    low, high = bootstrap_interval(values)
    assert (low * 1e200, high * 1e200) == pytest.approx(bootstrap_interval([1, 3, 2]))


def test_an_interval_holds_the_true_mean_as_often_as_it_says():
    generator = np.random.default_rng(12)
    drawn = generator.exponential(0.1, (400, 40)) - 0.1  # skewed; the true mean is 0
    intervals = [bootstrap_interval(row, resamples=500, seed=1) for row in drawn]
    assert 0.90 <= np.mean([low <= 0 <= high for low, high in intervals]) <= 0.98


def test_an_interval_is_that_of_scipy():
    values = np.random.default_rng(13).exponential(0.1, 60) - 0.05
    ours = bootstrap_interval(values, resamples=100_000, seed=2)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, method="BCa", n_resamples=100_000, batch=10_000, random_state=np.random.default_rng(7)
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.0006)


def test_a_seed_gives_the_same_and_another_seed_something_else():
    values = [((7 * i) % 13 - 5) / 13 for i in range(30)]
    assert randomisation_test(values, seed=1) == randomisation_test(values, seed=1)
    assert randomisation_test(values, seed=1) != randomisation_test(values, seed=2)
    assert bootstrap_interval(values, seed=1) == bootstrap_interval(values, seed=1)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)


@settings(max_examples=examples(24, 200), deadline=None)
@given(p_values)
def test_holm_equals_a_slow_one_is_monotone_and_never_below_the_raw_value(p):
    corrected = holm(p)
    assert list(corrected) == slow_holm(p)
    assert all(raw <= c <= 1 for raw, c in zip(p, corrected, strict=True))
    assert all(corrected[i] <= corrected[j] for i in range(len(p)) for j in range(len(p)) if p[i] <= p[j])


def test_an_unknown_test_is_told_with_the_known_ones():
    with pytest.raises(ParameterError, match=r"no test 'randomization'; known: randomisation, t") as e:
        paired_test("randomization")
    assert e.value.hint == "did you mean 'randomisation'?"
