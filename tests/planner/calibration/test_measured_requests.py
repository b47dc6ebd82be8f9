"""What the calibration measures is a request: its work does not grow with the graph."""

from __future__ import annotations

import pytest

from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.meter import ADJACENCY, Meter
from hybridkg.planner.calibration import local_calibration
from hybridkg.planner.calibration.local_calibration import calibrate
from hybridkg.planner.calibration.stopwatch import Stopwatch
from hybridkg.rdf.terms import BlankNode, NamedNode, Triple


def graph_of(papers: int) -> Projection:
    """Each paper cites the one before it, and all of them the first; both predicates are large."""
    node = lambda name: NamedNode(f"e:{name}")
    triples = [Triple(node(n), node("cites"), node(n - 1)) for n in range(1, papers)]
    triples += [Triple(node(n), node("near"), node(max(n - 1, 0))) for n in range(papers)]
    triples += [Triple(node(n), node("near"), node(0)) for n in range(papers)]
    return Projection(columns_of(triples, sorted({t.subject for t in triples}, key=str)), lambda *_: [])


class CountingStopwatch(Stopwatch):
    """In place of microseconds, the entries of the projection that a run reads."""

    def us(self, run):
        self.runs += 1
        found: list[Meter] = []

        class Listed(Meter):
            def __init__(self) -> None:
                super().__init__()
                found.append(self)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(local_calibration, "Meter", Listed)
            run()
        return float(sum(meter.counts[ADJACENCY] for meter in found))


@pytest.mark.parametrize("papers", [100, 5_000])
def test_a_request_to_the_projection_is_one_for_few_entries(papers: int):
    predicates = [("e:near", 2 * papers), ("e:cites", papers - 1)]
    measured = calibrate(graph=graph_of(papers), predicates=predicates, watch=CountingStopwatch())
    assert 0 < measured.us["us_per_graph_question"] < 10


def test_a_predicate_of_blank_nodes_is_measured_whole():
    triples = [Triple(NamedNode(f"e:{n}"), NamedNode("e:near"), BlankNode(f"b{n}")) for n in range(30)]
    graph = Projection(columns_of(triples, sorted({t.subject for t in triples}, key=str)), lambda *_: [])
    measured = calibrate(graph=graph, predicates=[("e:near", 30)], watch=CountingStopwatch())
    assert measured.us["us_per_graph_question"] >= 30
