"""The laws of interfaces/fusion.py, of every function that is registered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hybridkg.interfaces.fusion import FUSIONS, FusedList, added
from hybridkg.operators.rank_functions import fusion_of, spread

LEAST = -2.0
SCORES = st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0]) | st.floats(-2, 50)
tables = st.lists(st.none() | SCORES, min_size=4, max_size=4)
"""The score of each of four entities in one relation; None where it is absent."""

weights = st.sampled_from([0.5, 1.0, 3.0])
SEVERAL = [name for name in FUSIONS.names() if fusion_of(name).several]


def listed(table, weight=1.0):
    """The relation as a function sees it: ranks count who is better; of equal ones the first is."""
    present = [score for score in table if score is not None]
    floor = min([0.0, *present])
    better = lambda i: sum(
        other is not None and (other, -j) > (table[i], -i) for j, other in enumerate(table) if table[i] is not None
    )
    return FusedList(
        np.array([np.nan if score is None else score for score in table]),
        np.array([floor if score is None else score for score in table]),
        np.array([1.0 + better(i) for i in range(len(table))]),
        spread(present, LEAST),
        weight,
    )


def values(name, lists):
    fusion = fusion_of(name)
    return fusion.values(lists, fusion.arguments).tolist()


@settings(deadline=None)
@given(st.lists(st.tuples(tables, weights), min_size=2, max_size=4), st.randoms(), st.sampled_from(SEVERAL))
def test_to_swap_lists_with_their_weights_changes_nothing(drawn, random, name):
    lists = [listed(table, weight) for table, weight in drawn]
    swapped = random.sample(lists, len(lists))
    assert values(name, lists) == values(name, swapped)


@settings(deadline=None)
@given(tables, st.sampled_from(FUSIONS.names()))
def test_one_list_alone_keeps_its_order(table, name):
    found, one = values(name, [listed(table)]), listed(table)
    present = sorted(np.flatnonzero(one.present), key=lambda i: one.ranks[i])
    in_order = [found[i] for i in present]
    assert in_order == sorted(in_order, reverse=True)
    absent = [found[i] for i in range(len(table)) if table[i] is None]
    assert max(absent, default=-np.inf) <= min(in_order, default=np.inf)
    assert name == "zscore" or not present or in_order[0] > 0


@settings(deadline=None)
@given(tables, tables, weights, st.integers(0, 3), SCORES, st.sampled_from(FUSIONS.names()))
def test_no_row_falls_when_one_of_its_scores_rises(table, other, weight, at, higher, name):
    """From absent to present, too: so an absent score never helps. What all have, and the others, stays as it is."""
    one = listed(table, weight)
    low, high = one.spread.low, one.spread.high
    assume(low <= higher <= high)
    assume(table[at] is None or higher >= table[at])
    scores, floored, ranks = one.scores.copy(), one.floored.copy(), one.ranks.copy()
    scores[at] = floored[at] = higher
    better = sum(score is not None and score > higher for i, score in enumerate(table) if i != at)
    ranks[at] = min(1.0 + better, ranks[at]) if table[at] is not None else 1.0 + better
    risen = replace(one, scores=scores, floored=floored, ranks=ranks)
    beside = [listed(other)] if fusion_of(name).several else []
    assert values(name, [risen, *beside])[at] >= values(name, [one, *beside])[at]


@settings(deadline=None)
@given(st.lists(tables, min_size=1, max_size=4), st.sampled_from(FUSIONS.names()))
def test_values_are_finite(drawn, name):
    lists = [listed(table) for table in drawn][: None if fusion_of(name).several else 1]
    assert np.isfinite(values(name, lists)).all()


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), st.randoms())
def test_a_sum_does_not_depend_on_the_order_of_its_parts(numbers, random):
    parts = [np.array([number]) for number in numbers]
    assert added(parts) == added(random.sample(parts, len(parts)))
    assert added(parts)[0] == pytest.approx(sum(numbers), abs=1e-6)


def test_numbers_worked_by_hand():
    first, second = listed([1.0, 2.0, 5.0, None]), listed([0.5, None, 0.0, 1.0])
    assert values("rrf", [first, second])[:2] == [1 / 63 + 1 / 62, 1 / 62]
    assert values("isr", [first, second]) == [2 * (1 / 9 + 1 / 4), 1 / 4, 2 * (1 + 1 / 9), 1.0]
    assert values("minmax", [first]) == [0.0, 0.25, 1.0, -0.25]
    assert values("tmm", [first]) == [3 / 7, 4 / 7, 1.0, 2 / 7]
    assert values("combmnz", [first, second]) == [2 * 0.5, 0.25, 2 * 1.0, 1.0]
    assert values("zscore", [listed([1.0, 3.0, None, None])])[:2] == [-1.0, 1.0]


def test_the_least_score_is_worth_nothing_and_the_highest_one():
    one = listed([LEAST, 1.0, None, None])
    assert values("tmm", [one]) == [0.0, 1.0, 0.0, 0.0]
    assert values("tmm", [listed([LEAST, LEAST, None, None])]) == [1.0, 1.0, 0.0, 0.0]
