"""Significance of a mean difference between two runs: two paired tests, Holm's correction, a bootstrap interval.

The randomisation test measures how often random swaps of the two runs in each topic give a difference as large (Fisher;
for retrieval Smucker, Allan and Carterette, CIKM 2007); up to EXACT_UP_TO differing topics, all swaps are counted,
above that they are sampled. The t-test is Student's. Both are two-sided. The interval is Efron's BCa bootstrap ("Better
Bootstrap Confidence Intervals", 1987).

The results do not depend on the order of the topics; swapping the runs negates difference and interval and keeps p. To
that end the values are sorted, with a canonical sign, before anything is drawn. The reference implementations are in
tests/evaluation/test_significance.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybridkg.errors import MissingExtraError, ParameterError
from hybridkg.registry import did_you_mean

EXACT_UP_TO = 16
"""Maximum differing topics for which the randomisation test counts all 2^n swaps (at most 65,536)."""

PERMUTATIONS = 100_000
"""Default number of drawn swaps: the minimum p is 0.00001, and the standard error of a p near .05 is .0007."""

MAX_PERMUTATIONS = 100_000_000
"""Maximum number of drawn swaps; they take a minute for 467 topics."""

RESAMPLES = 10_000
"""Bootstrap samples of an interval."""

CONFIDENCE = 0.95
"""Confidence of an interval."""

MIN_P = float(np.finfo(np.float64).tiny)
"""What a t-test says instead of 0, where the differences do not vary or the tail is below every double."""

_TABLE_BITS = 8  # topics whose 256 sums are looked up by one random byte
_CELLS = 1 << 20  # numbers in memory while drawing

Values = NDArray[np.float64]


@dataclass(frozen=True)
class TestResult:
    """The result of a paired test.

    Args:
        p: two-sided, above 0 and at most 1.
        permutations: swaps counted or drawn; 0 for the t-test.
        exact: False if swaps were sampled.
    """

    __test__ = False  # pytest would collect it for its name

    p: float
    permutations: int
    exact: bool


def t_test(differences: ArrayLike) -> TestResult:
    """Student's paired t-test of the mean difference against 0, as `scipy.stats.ttest_rel`.

    Args:
        differences: float[n], finite, one for each topic.

    Returns:
        p is 1 for fewer than two topics or without a difference. If all differences are equal, t is infinite and p is
        MIN_P.

    Raises:
        MissingExtraError: scipy is not installed.
        ValueError: a difference is not a finite number.

    >>> round(t_test([0.1, 0.2, 0.3]).p, 4)
    0.0742
    """
    values, _ = _canonical(differences)
    if len(values) < 2 or not values.any():
        return TestResult(1.0, 0, True)
    try:
        from scipy.special import stdtr
    except ModuleNotFoundError as e:
        raise MissingExtraError(f"the t-test needs the package {e.name!r}", hint='pip install "hybridkg[eval]"') from e
    values = _scaled(values)
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    t = abs(_mean(values)) / error if error and values[0] != values[-1] else math.inf
    return TestResult(min(1.0, max(MIN_P, 2 * float(stdtr(len(values) - 1, -t)))), 0, True)


def randomisation_test(differences: ArrayLike, *, permutations: int = PERMUTATIONS, seed: int = 0) -> TestResult:
    """Fisher's randomisation test of the mean difference against 0.

    Args:
        differences: float[n], finite, one for each topic.
        permutations: swaps to draw, at least 1, if more than EXACT_UP_TO topics differ; else all are counted.
        seed: of the generator, at least 0.

    Returns:
        p = (1 + c) / (1 + permutations), where c drawn swaps have an absolute mean at least as large; if all are
        counted, their share. Means that agree to one part in 10^12 of the largest possible one count as equal.

    Raises:
        ValueError: a difference is not a finite number, or an argument is out of range.

    Of the eight choices of signs below, only +++ and --- reach a sum of 6.

    >>> randomisation_test([0.1, 0.2, 0.3])
    TestResult(p=0.25, permutations=8, exact=True)
    """
    if not 1 <= permutations <= MAX_PERMUTATIONS:
        raise ValueError(f"permutations must be between 1 and {MAX_PERMUTATIONS:,}, not {permutations}")
    values, _ = _canonical(differences)
    # A swap changes nothing in a topic without a difference, and only the sign in the others.
    sizes = np.sort(np.abs(values[values != 0]))
    if not len(sizes):
        return TestResult(1.0, 1, True)
    reached = abs(math.fsum(values)) - 1e-12 * math.fsum(sizes)
    if len(sizes) <= EXACT_UP_TO:
        sums = _all_sums(sizes)
        return TestResult(float(np.count_nonzero(np.abs(sums) >= reached) / len(sums)), len(sums), True)
    count = sum(int(np.count_nonzero(np.abs(s) >= reached)) for s in _drawn_sums(sizes, permutations, seed))
    return TestResult((1 + count) / (1 + permutations), permutations, False)


def _all_sums(sizes: Values) -> Values:
    """Sums under all choices of signs: float64[2^n]."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate((sums + size, sums - size))
    return sums


def _drawn_sums(sizes: Values, permutations: int, seed: int) -> Iterator[Values]:
    """Sums under random signs, in batches: a random byte indexes a table of the sums of eight topics."""
    tables = [_all_sums(sizes[i : i + _TABLE_BITS]) for i in range(0, len(sizes), _TABLE_BITS)]
    generator = np.random.default_rng(seed)
    piece = max(1, _CELLS // len(tables))
    for start in range(0, permutations, piece):
        n = min(piece, permutations - start)
        picked = np.frombuffer(generator.bytes(n * len(tables)), dtype=np.uint8).reshape(len(tables), n)
        sums = np.zeros(n)
        for table, row in zip(tables, picked, strict=True):
            sums += table[row & (len(table) - 1)]  # the last table may have fewer topics
        yield sums


def bootstrap_interval(
    differences: ArrayLike, *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """The BCa bootstrap confidence interval of the mean difference: (low, high).

    Args:
        differences: float[n], at least one, finite, one for each topic.
        confidence: between 0 and 1, both excluded.
        resamples: bootstrap samples, at least 1.
        seed: of the generator, at least 0.

    Returns:
        Both ends equal the mean if all differences are equal.

    Raises:
        ValueError: no difference, one that is not finite, or an argument is out of range.

    >>> bootstrap_interval([0.25, 0.25, 0.25])
    (0.25, 0.25)
    """
    if not 0 < confidence < 1 or resamples < 1:
        raise ValueError(f"no interval with confidence {confidence} from {resamples} resamples")
    values, negated = _canonical(differences)
    if not len(values):
        raise ValueError("no interval without a topic")
    mean = _mean(values)
    if values[0] == values[-1]:
        low = high = float(values[0])
    else:
        means = np.sort(_resampled_means(values, resamples, seed))
        low, high = (float(x) for x in np.quantile(means, _bca_levels(values, mean, means, confidence)))
    return (-high + 0.0, -low + 0.0) if negated else (low, high)


def _resampled_means(values: Values, resamples: int, seed: int) -> Values:
    generator = np.random.default_rng(seed)
    piece = max(1, _CELLS // len(values))
    means = [
        values[generator.integers(0, len(values), size=(min(piece, resamples - start), len(values)))].mean(axis=1)
        for start in range(0, resamples, piece)
    ]
    return np.concatenate(means)


def _bca_levels(values: Values, mean: float, means: Values, confidence: float) -> list[float]:
    """The two quantile levels of the resampled means, corrected for bias and skewness."""
    normal = NormalDist()
    below = float(np.count_nonzero(means < mean) + np.count_nonzero(means == mean) / 2) / len(means)
    bias = normal.inv_cdf(min(1 - 0.5 / len(means), max(0.5 / len(means), below)))
    centred = _scaled(values - mean)
    skew = float(np.sum(centred**3) / (6 * np.sum(centred**2) ** 1.5))  # the jackknife, exact for a mean
    levels = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = bias + normal.inv_cdf(tail)
        levels.append(normal.cdf(bias + z / (1 - skew * z)) if skew * z < 1 else float(z > 0))
    return levels


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's corrected p-values, which bound the family-wise error rate; in the order of the arguments.

    The smallest of m is multiplied by m, the next by m - 1, and so on; each is at least the one before, at most 1.
    Source: Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (1979).

    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    corrected = [1.0] * len(p_values)
    largest = 0.0
    for done, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - done) * p_values[i]))
        corrected[i] = largest
    return tuple(corrected)


def _canonical(differences: ArrayLike) -> tuple[Values, bool]:
    """(values in ascending order with a canonical sign, whether they were negated)."""
    values = np.sort(np.asarray(differences, dtype=np.float64)) + 0.0  # no -0.0
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("differences must be a list of finite numbers")
    other = 0.0 - values[::-1]
    unequal = np.flatnonzero(values != other)
    negated = bool(len(unequal)) and bool(values[unequal[0]] < other[unequal[0]])
    return (other, True) if negated else (values, False)


def _scaled(values: Values) -> Values:
    """The values scaled by a power of two to a maximum near 1, so that squares do not underflow."""
    return np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))


def _mean(values: Values) -> float:
    return math.fsum(values) / len(values)


@dataclass(frozen=True)
class PairedTest:
    """A paired test: its title in a report, and `run(differences, permutations, seed)`."""

    title: str
    run: Callable[[ArrayLike, int, int], TestResult]


TESTS: Mapping[str, PairedTest] = {
    "randomisation": PairedTest(
        "paired randomisation test",
        lambda differences, permutations, seed: randomisation_test(differences, permutations=permutations, seed=seed),
    ),
    "t": PairedTest("paired t-test", lambda differences, _permutations, _seed: t_test(differences)),
}
"""The paired tests by name, as in `hybridkg compare --test`."""


def paired_test(name: str) -> PairedTest:
    """The test of a name; ParameterError with the valid names if there is none."""
    if name not in TESTS:
        raise ParameterError(f"no test {name!r}; known: {', '.join(TESTS)}", hint=did_you_mean(name, list(TESTS)))
    return TESTS[name]
