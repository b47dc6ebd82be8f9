"""STaRK's edges in memory against a slow restatement: a dictionary of the edges of each ordered pair."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.datasets.stark import neighbours
from hybridkg.datasets.stark.neighbours import Neighbours
from hybridkg.errors import LoadError

NODES = 6
NAMES = {0: "also_buy", 1: "also_view", 2: "has_brand"}
node = st.integers(0, NODES - 1)
edge_lists = st.lists(st.tuples(node, node, st.sampled_from(sorted(NAMES))), max_size=30)

Edge = tuple[int, int, int]


def slow(edges: list[Edge]) -> set[Edge]:
    """(source, target, relation) of the edges in the memory of STaRK's code."""
    pairs = Counter((a, b) for a, b, _ in edges)
    if all(pairs[a, b] == pairs[b, a] for a, b in pairs):
        return set(edges)
    numbers = defaultdict(list)
    for a, b, relation in edges:
        numbers[a, b].append(relation)
        numbers[b, a].append(relation)
    return {(a, b, sum(all_) // len(all_)) for (a, b), all_ in numbers.items()}


def neighbours_of(edges: list[Edge], names=NAMES) -> Neighbours:
    rows = np.array(edges, np.int64).reshape(-1, 3).T
    return Neighbours.of_edges(rows[:2], rows[2], nodes=NODES, names=names)


@given(edge_lists, st.booleans(), st.integers(1, 4))
def test_edges_are_those_of_the_restatement(edges, mirrored, block):
    if mirrored:
        edges = edges + [(b, a, relation) for a, b, relation in edges]
    found, wanted = neighbours_of(edges), slow(edges)
    for a in range(NODES):
        for relation in NAMES:
            assert found.of(a, relation).tolist() == sorted(b for x, b, r in wanted if (x, r) == (a, relation))
    rows = [row for part in found.blocks(block) for row in zip(*(x.tolist() for x in part), strict=True)]
    assert rows == sorted(wanted, key=lambda row: (row[0], row[2], row[1]))
    assert len(found) == len(wanted)


@given(edge_lists)
def test_blocks_of_nodes_change_nothing(edges):
    whole = neighbours_of(edges).keys.tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "NODES_AT_ONCE", 2)
        assert neighbours_of(edges).keys.tolist() == whole


def test_bought_and_viewed_is_bought_only():
    found = neighbours_of([(0, 1, 0), (1, 0, 1), (0, 2, 2)])
    assert found.of(0, 0).tolist() == [1]
    assert found.of(1, 0).tolist() == [0]
    assert found.of(0, 1).tolist() == []
    assert found.of(2, 2).tolist() == [0]


def test_the_mean_of_three_edges_is_rounded_down():
    # 0 -> 1 has the numbers 2 and 1, and 2 from its reverse: 5 / 3, rounded down, is 1.
    assert neighbours_of([(0, 1, 2), (0, 1, 1), (1, 0, 2)]).of(0, 1).tolist() == [1]


def test_symmetric_edges_stay_also_those_of_several_types():
    found = neighbours_of([(0, 1, 0), (1, 0, 0), (0, 1, 2), (1, 0, 2), (3, 3, 1)])
    assert found.of(0, 0).tolist() == found.of(0, 2).tolist() == [1]
    assert found.of(3, 1).tolist() == [3]


def test_numbers_that_have_no_mean_or_no_room_are_refused():
    with pytest.raises(LoadError, match="the mean 1, which is not a relation"):
        neighbours_of([(0, 1, 0), (0, 1, 2)], names={0: "a", 2: "b"})
    with pytest.raises(LoadError, match="which are no small ones"):
        neighbours_of([(0, 1, 0)], names={0: "a", 1 << 60: "b"})
    with pytest.raises(LoadError, match="which are no small ones"):
        neighbours_of([(0, 1, 0)], names={0: "a", -1: "b"})
