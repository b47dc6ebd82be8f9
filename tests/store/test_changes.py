"""The effective change of a graph is the same wherever the first change is looked up, and a failed write ends it; a
large change reports its progress.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.rdf.terms import NamedNode, Quad
from hybridkg.store import changes
from hybridkg.store.changes import ChangingGraph, Store

QUADS = [Quad(NamedNode(f"e:{s}"), NamedNode("e:p"), NamedNode(f"e:{o}"), NamedNode("e:g")) for s in "ab" for o in "cd"]

some = st.lists(st.sampled_from(QUADS), max_size=4)


def store_of(quads) -> Store:
    store = Store()
    store.extend(quads)
    return store


@given(some, st.lists(st.tuples(some, some), min_size=1, max_size=4))
def test_a_first_change_that_is_looked_up_in_the_earlier_state_is_that_of_the_store(before, changes):
    one, two = ChangingGraph(lambda: store_of(before)), ChangingGraph(lambda: store_of(before), frozenset(before))
    for removed, added in changes:
        for graph in (one, two):
            graph.begin_request()
            graph.apply(removed, added)
        assert one.request_change() == two.request_change()
    assert one.change() == two.change()
    assert set(one.store) == set(two.store)
    two.undo_request()
    one.undo_request()
    assert set(one.store) == set(two.store)


def test_a_change_of_nothing_does_not_open_the_store():
    def refuse() -> Store:
        raise AssertionError("opened")

    graph = ChangingGraph(refuse, frozenset(QUADS[:1]))
    graph.apply(QUADS[1:2], QUADS[:1])
    graph.flush()
    graph.close()
    assert graph.size() == (0, 0)


@pytest.mark.parametrize("use", [ChangingGraph.flush, ChangingGraph.close, lambda graph: graph.store])
def test_a_first_write_that_fails_is_an_error_of_whoever_needs_it(use):
    def fail() -> Store:
        raise OSError("No space left on device")

    graph = ChangingGraph(fail, frozenset())
    graph.apply([], QUADS)
    with pytest.raises(OSError, match="No space"):
        use(graph)
    assert isinstance(graph.failure, OSError)
    graph.close()


class Told:
    def __init__(self):
        self.steps = []

    def start(self, label, total):
        self.steps.append([label, total, 0])

    def advance(self, _, items):
        self.steps[-1][2] += items

    def done(self, items):
        self.steps[-1].append(items)


def quads(n):
    return [Quad(NamedNode("a:s"), NamedNode("a:p"), NamedNode(f"a:{i}")) for i in range(n)]


def test_every_step_of_a_large_change_reports_its_progress_and_a_small_one_none(monkeypatch):
    monkeypatch.setattr(changes, "BULK", 5)
    monkeypatch.setattr(changes, "TOLD_EVERY", 2)
    told = Told()
    graph = ChangingGraph(Store, progress=told)
    graph.apply([], quads(4))
    assert told.steps == []
    graph.apply([], quads(11))
    assert told.steps == [["comparing with the graph", 11, 10, 11], ["adding triples", 7, 6, 7]]
    told.steps.clear()
    graph.apply(quads(5), [])
    assert told.steps == [["comparing with the graph", 5, 4, 5], ["removing triples", 5, 4, 5]]
    assert set(graph.quads_of(quads(1)[0].graph_name)) == set(quads(11)) - set(quads(5))
