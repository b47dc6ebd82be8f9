"""Coordinate ascent: laws on functions whose maximum is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.evaluation.tuning.ranges import LINEAR, LOG, SHARE, Range
from hybridkg.evaluation.tuning.search import HALVINGS, ascend
from hybridkg.evaluation.tuning.space import Coordinate, StageMoves

LINE = Range("b", 0, 1, 0.25, LINEAR)
FACTOR = Range("k1", 0.01, 100, 4, LOG)
PART = Range("weight", 0, 1, 0.2, SHARE)


def moves(*ranges, base=None):
    coordinates = tuple(Coordinate(r, f"f{i}") for i, r in enumerate(ranges))
    return StageMoves(coordinates, tuple(range(len(ranges))), base or tuple(0.5 for _ in ranges))


def bowl(target):
    return lambda point: -sum((np.log(p + 1e-3) - np.log(t + 1e-3)) ** 2 for p, t in zip(point, target, strict=True))


def rough(salt):
    """A function with many hills: the same for the same point."""
    return lambda point: float(np.random.default_rng([salt, *(int(1000 * p) for p in point)]).random())


target = st.tuples(st.floats(0, 1), st.floats(0.02, 50))


@settings(max_examples=examples(18, 30), deadline=None)
@given(target, st.integers(0, 99))
def test_a_smooth_hill_is_climbed_to_within_the_last_step(target, seed):
    found = ascend(bowl(target), moves(LINE, FACTOR), (0.5, 1.0), restarts=2, seed=seed).best.point
    last = 0.5**HALVINGS
    assert abs(found[0] - target[0]) <= 0.25 * last + 1e-3
    assert abs(np.log(found[1] / target[1])) <= np.log(4) * last + 1e-3


@settings(max_examples=examples(18, 30), deadline=None)
@given(st.integers(0, 99), st.integers(0, 99))
def test_the_value_never_falls_on_the_way_and_the_start_is_among_the_tried(salt, seed):
    objective = rough(salt)
    ascent = ascend(objective, moves(LINE, FACTOR, PART, PART), (0.5, 1.0, 0.5, 0.5), restarts=3, seed=seed)
    for climb in ascent.climbs:
        assert list(climb.path) == sorted(climb.path)
        assert climb.value == climb.path[-1] == objective(climb.point)
    assert ascent.climbs[0].path[0] == objective((0.5, 1.0, 0.5, 0.5))
    assert ascent.best.value == max(climb.value for climb in ascent.climbs)


@settings(max_examples=examples(9, 15), deadline=None)
@given(st.integers(0, 99), st.integers(0, 99))
def test_the_first_restarts_of_more_are_those_of_fewer(salt, seed):
    few, more = (ascend(rough(salt), moves(LINE, FACTOR), (0.5, 1.0), restarts=n, seed=seed).climbs for n in (2, 4))
    assert more[:2] == few


def test_another_seed_starts_elsewhere():
    starts = {ascend(rough(1), moves(LINE, FACTOR), (0.5, 1.0), restarts=2, seed=s).climbs[1].path[0] for s in range(5)}
    assert len(starts) == 5


@settings(max_examples=examples(36, 60), deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=5), st.integers(0, 4), st.floats(-10, 10))
def test_shares_sum_to_one_and_stay_between_nought_and_one(shares, coordinate, steps):
    space = moves(*[PART] * len(shares))
    moved = space.moved(tuple(shares), coordinate % len(shares), steps)
    if moved != tuple(shares):
        assert sum(moved) == pytest.approx(1, abs=1e-4)
        assert all(0 <= share <= 1 for share in moved)


@settings(max_examples=examples(36, 60), deadline=None)
@given(st.floats(0.01, 100), st.floats(-20, 20))
def test_a_moved_number_stays_in_its_range(value, steps):
    assert FACTOR.low <= moves(FACTOR).moved((value,), 0, steps)[0] <= FACTOR.high
    assert 0 <= moves(LINE).moved((min(value, 1.0),), 0, steps)[0] <= 1


def test_random_points_fill_the_ranges():
    generator = np.random.default_rng(0)
    space = moves(LINE, FACTOR, PART, PART)
    points = [space.random(generator) for _ in range(200)]
    assert all(0 <= p[0] <= 1 and 0.01 <= p[1] <= 100 and p[2] + p[3] == pytest.approx(1, abs=1e-4) for p in points)
    assert np.median([p[1] for p in points]) == pytest.approx(1, rel=1)  # uniform on the scale of the range


def test_a_share_without_another_is_not_searched():
    assert moves(PART, LINE).coordinates() == [1]
