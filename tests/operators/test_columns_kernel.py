"""The compiled loops over columns give the bits of numpy, and those of a loop in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sampling import examples

from hybridkg.operators.column_groups import extremes_of_groups, sums_of_groups
from hybridkg.operators.partition import KERNEL, partition
from hybridkg.operators.text_join import scores_of_rows

pytestmark = pytest.mark.quick

ODD = [0.0, -0.0, np.nan, np.inf, -np.inf]


def both_ways(monkeypatch: pytest.MonkeyPatch, work: Callable[[], Any]) -> tuple[Any, Any]:
    """What some work returns with the kernels, and without."""
    module = KERNEL.load()
    assert module is not None
    found = []
    for kernel in (module, None):
        monkeypatch.setattr(KERNEL, "for_work", lambda work, kernel=kernel: kernel)
        found.append(work())
    return found[0], found[1]


def bits(numbers: Any) -> Any:
    return None if numbers is None else [part.tolist() for part in np.atleast_2d(np.asarray(numbers)).view(np.int64)]


@pytest.mark.parametrize("seed", range(examples(10, 200)))
def test_groups_of_ids_are_numbered_in_their_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(seed)
    low, span = int(draw.integers(0, 2**32 - 5_000)), int(draw.integers(1, 5_000))
    keys = (low + draw.integers(0, span, int(draw.integers(65, 2_000)))).astype(np.uint32)
    (group, first), (its_group, its_first) = both_ways(monkeypatch, lambda: partition([keys], len(keys)))
    assert group.tolist() == its_group.tolist()
    assert first.tolist() == its_first.tolist()
    distinct, one, place = np.unique(keys, return_index=True, return_inverse=True)
    assert (first.tolist(), group.tolist()) == (one.tolist(), place.tolist())
    assert len(first) == len(distinct)


@pytest.mark.parametrize("seed", range(examples(10, 200)))
def test_sums_and_extremes_of_groups_have_the_bits_of_a_loop(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(seed)
    size, count = int(draw.integers(1, 500)), int(draw.integers(1, 9))
    numbers = draw.normal(size=size) * 10.0 ** draw.integers(-20, 20, size)
    if seed % 3 == 0:
        numbers[draw.integers(size)] = ODD[seed // 3 % len(ODD)]
    group = draw.integers(0, count, size)
    is_odd = not np.isfinite(numbers).all() or (np.signbit(numbers) & (numbers == 0)).any()
    sums, same = both_ways(monkeypatch, lambda: sums_of_groups(group, numbers, count))
    assert (sums is None) == (same is None) == is_odd
    if not is_odd:
        totals = [0.0] * count
        for at, number in zip(group.tolist(), numbers.tolist(), strict=True):
            totals[at] += number
        assert sums[0].tolist() == same[0].tolist() == totals
        assert sums[1].tolist() == same[1].tolist() == np.bincount(group, minlength=count).tolist()
    for is_least in (True, False):
        best, other = both_ways(
            monkeypatch, lambda least=is_least: extremes_of_groups(group, numbers, count, is_least=least)
        )
        assert bits(best) == bits(other)
        of_group = [numbers[group == at].tolist() for at in range(count)]
        if best is not None:
            nothing = np.inf if is_least else -np.inf
            assert best.tolist() == [(min if is_least else max)([*own, nothing]) for own in of_group]


@pytest.mark.parametrize("seed", range(examples(10, 200)))
def test_a_row_has_the_score_of_its_entity_in_any_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(seed)
    ids = np.unique(draw.integers(0, 300, int(draw.integers(1, 100)))).astype(np.uint32)
    scores, rows = draw.normal(size=len(ids)), draw.choice(ids, int(draw.integers(0, 300)))
    rows = np.sort(rows) if seed % 2 else rows
    (found, n), (other, m) = both_ways(monkeypatch, lambda: scores_of_rows(rows, ids, scores))
    assert found.tolist() == other.tolist() == [scores[ids.tolist().index(row)] for row in rows.tolist()]
    assert n == m == len(set(rows.tolist())) == scores_of_rows(rows, ids, None)[1]
