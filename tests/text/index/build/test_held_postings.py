"""Postings are found in their lists, by the kernel as by numpy, and what a list lacks is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples
from test_incremental import FIELDS, _built, folder
from test_list_tails import _run

from hybridkg.compute.kernels import LazyKernel
from hybridkg.text.index.build.held_postings import are_held
from hybridkg.text.index.build.list_edits import Entering
from hybridkg.text.index.layout import ArrayReader
from hybridkg.text.index.postings import SegmentPostings, TermDictionary

__all__ = ["folder"]


def texts(first: int, end: int) -> dict:
    """Entities whose words are common, and occur once or twice in the title."""
    found = {}
    for n in range(first, end):
        title = "sea " + "sea fish " * (n % 3 == 0) + ("w1 w1 w2" if n % 7 else "w2")
        found[n] = ([(title, "")], [(f"w{n % 5} the sea", "")], [])
    return found


@pytest.fixture(scope="module", params=["whole", "tail"])
def lists(request, folder):
    old = texts(0, 900)
    path, _ = _built(folder, old)
    if request.param == "tail":
        path, _ = _run("tail", folder, path, old, {**old, **texts(5, 6), 7: texts(900, 901)[900]})
    reader = ArrayReader(path, "1")
    return SegmentPostings(reader, len(TermDictionary(reader)) * len(FIELDS))


def chosen(lists: SegmentPostings, seed: int) -> tuple[np.ndarray, Entering]:
    """Some lists, and some postings that they have."""
    rng = np.random.default_rng(seed)
    numbers = np.flatnonzero(lists.ends[1:] > lists.ends[:-1])
    numbers = np.sort(rng.permutation(numbers)[: rng.integers(1, 6)])
    columns: list[list] = [[], [], [], []]
    for number in numbers.tolist():
        own, positions = lists.postings(number), lists.positions(number)
        ends = np.cumsum(own.tf, dtype=np.int64)
        for at in np.flatnonzero(rng.random(len(own.ids)) < rng.choice([0.01, 0.3, 1])).tolist():
            end = int(ends[at])
            columns[0].append(number)
            columns[1].append(int(own.ids[at]))
            columns[2].append(int(own.tf[at]))
            columns[3] += positions[end - int(own.tf[at]) : end].tolist()
    types = np.int64, np.uint32, np.uint32, np.uint32
    return numbers, Entering(*(np.array(column, dtype) for column, dtype in zip(columns, types, strict=True)))


@pytest.mark.parametrize("kernel", [True, False])
@settings(max_examples=examples(40, 400), deadline=None)
@given(seed=st.integers(0, 2**32), at_once=st.sampled_from([1, 200, 10**6]), data=st.data())
def test_held_postings_are_found_and_others_are_not(lists, kernel, seed, at_once, data):
    numbers, postings = chosen(lists, seed)
    with pytest.MonkeyPatch.context() as patch:
        if not kernel:
            patch.setattr(LazyKernel, "for_work", lambda self, work: None)
        else:
            patch.setattr(LazyKernel, "for_work", lambda self, work: self.load())
        assert are_held(lists, numbers, postings, at_once)
        if not len(postings.ids):
            return
        place = data.draw(st.integers(0, len(postings.ids) - 1))
        tf = postings.tf.copy()
        tf[place] += 1
        positions = np.insert(postings.positions, int(postings.tf[: place + 1].sum()), 10**6)
        assert not are_held(lists, numbers, replace(postings, tf=tf, positions=positions), at_once)
        positions = postings.positions.copy()
        positions[int(postings.tf[:place].sum())] += 1
        assert not are_held(lists, numbers, replace(postings, positions=positions), at_once)
        number, held = int(postings.lists[place]), set(lists.postings(int(postings.lists[place])).ids.tolist())
        absent = [one for one in (*range(0, 900, 61), 899, 10**6) if one not in held]
        if absent:
            other = absent[data.draw(st.integers(0, len(absent) - 1))]
            one = Entering(
                np.array([number]), np.array([other], np.uint32), np.array([1], np.uint32), np.array([0], np.uint32)
            )
            assert not are_held(lists, numbers, one, at_once)


def test_no_postings_are_held_by_any_lists(lists):
    none = np.zeros(0, np.uint32)
    assert are_held(lists, np.zeros(0, np.int64), Entering(np.zeros(0, np.int64), none, none, none), 100)
