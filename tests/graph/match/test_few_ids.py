"""What is reached from a few ids is what numpy finds for many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.graph.columns import Adjacency, PredicateColumns
from hybridkg.graph.match import closures, relations
from hybridkg.graph.match import ids as id_sets
from hybridkg.graph.match.closures import ClosureOf
from hybridkg.graph.match.compiled_loops import KERNEL
from hybridkg.graph.match.ids import inside
from hybridkg.graph.match.relations import PredicateRelation
from hybridkg.graph.match.run import PatternRun
from hybridkg.interfaces.graph_index import Ids
from hybridkg.interfaces.meter import Meter

pytestmark = pytest.mark.quick

N = 60
"""Ids of the graphs below; keys that are all of low..high are told apart from others."""

edges = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)), max_size=150)
chains = st.integers(2, N).map(lambda n: [(i, i + 1) for i in range(n - 1)])
sets = st.sets(st.integers(0, N + 3), max_size=20)


def ids_of(numbers: object) -> Ids:
    return np.array(sorted(set(numbers)), np.uint32)


def side(pairs: list[tuple[int, int]]) -> Adjacency:
    keys = sorted({a for a, _ in pairs})
    targets = [sorted({b for own, b in pairs if own == key}) for key in keys]
    offsets = np.cumsum([0, *map(len, targets)]).astype(np.uint32)
    return Adjacency(ids_of(keys), offsets, np.array([b for own in targets for b in own], np.uint32))


def relation(pairs: list[tuple[int, int]]) -> PredicateRelation:
    return PredicateRelation(PredicateColumns(side(pairs), side([(b, a) for a, b in pairs])))


@pytest.fixture(scope="module", autouse=True)
def _kernel():
    assert KERNEL.load() is not None


@settings(max_examples=examples(150, 5_000), deadline=None)
@given(edges, sets, st.booleans(), st.sampled_from([0, 1, 5, 1024]))
def test_the_targets_of_a_few_ids_are_those_of_each(pairs, asked, forward, room):
    found, meter = relation(pairs), Meter()
    ids, run = ids_of(asked), PatternRun(meter, 10**9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relations, "FEW_TARGETS", room)
        reached = found.reach(ids, forward, run)
    ends = [(a, b) if forward else (b, a) for a, b in set(pairs)]
    assert reached.tolist() == sorted({b for a, b in ends if a in asked})
    assert reached.dtype == np.uint32
    many = Meter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relations, "FEW_IDS", 0)
        assert found.reach(ids, forward, PatternRun(many, 10**9)).tolist() == reached.tolist()
    assert meter.counts == many.counts


@settings(max_examples=examples(150, 5_000), deadline=None)
@given(st.one_of(edges, chains), sets, st.booleans(), st.booleans(), st.sampled_from([0, 1, 4, 20, 256]))
def test_a_search_ends_with_the_same_ids_in_a_set_and_in_a_table(pairs, asked, forward, zero, few):
    nodes = ids_of({*(a for a, _ in pairs), *(b for _, b in pairs)})
    closure = ClosureOf(relation(pairs), zero, True, lambda: nodes, N + 4)
    ends = [(a, b) if forward else (b, a) for a, b in pairs]
    wanted, waiting = set[int](), list(asked)
    while waiting:
        at = waiting.pop()
        fresh = {b for a, b in ends if a == at} - wanted
        wanted |= fresh
        waiting += fresh
    wanted |= asked & set(nodes.tolist()) if zero else set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closures, "FEW", few)
        assert closure.reach(ids_of(asked), forward, PatternRun(Meter(), 10**9)).tolist() == sorted(wanted)


@settings(max_examples=examples(150, 5_000), deadline=None)
@given(st.lists(st.integers(0, N), max_size=40), sets, st.booleans())
def test_members_of_sparse_sets_are_found_in_any_order(asked, members, ordered):
    asked = sorted(asked) if ordered else asked
    scale = np.uint32(1_000_000)  # too sparse for a bitmap
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(id_sets, "FEW", 0)
        found = inside(np.array(asked, np.uint32) * scale, ids_of(members) * scale)
    assert found.tolist() == [one in members for one in asked]
