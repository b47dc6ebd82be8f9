"""A large change of a graph reports its progress."""

from __future__ import annotations

from pyoxigraph import Store

from hybridkg.rdf.terms import NamedNode, Quad
from hybridkg.store import changes
from hybridkg.store.changes import ChangingGraph


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
    graph = ChangingGraph(Store, told)
    graph.apply([], quads(4))
    assert told.steps == []
    graph.apply([], quads(11))
    assert told.steps == [["comparing with the graph", 11, 10, 11], ["adding triples", 7, 6, 7]]
    told.steps.clear()
    graph.apply(quads(5), [])
    assert told.steps == [["comparing with the graph", 5, 4, 5], ["removing triples", 5, 4, 5]]
    assert set(graph.quads_of(quads(1)[0].graph_name)) == set(quads(11)) - set(quads(5))
