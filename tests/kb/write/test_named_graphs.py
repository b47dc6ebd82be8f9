"""A change that puts triples where a plain query does not look says so, and a graph may be named with a prefix."""

from __future__ import annotations

import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from hybridkg import KnowledgeBase
from hybridkg.kb.snapshot import snapshot_of

TURTLE = "@prefix ex: <http://e/> . ex:a ex:p {} ."
NOTE = "named graph"


@pytest.fixture
def kb(tmp_path):
    with KnowledgeBase.create(tmp_path / "g.kb") as base:
        (tmp_path / "a.ttl").write_text(TURTLE.format(1), encoding="utf-8")
        base.load(tmp_path / "a.ttl")
        yield base


def noted(report):
    return [line for line in report.lines() if NOTE in line]


def graphs(kb):
    return {row[0].value for row in snapshot_of(kb).store.select("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }").rows}


def test_a_graph_is_named_by_a_kept_or_well_known_prefix(kb, tmp_path):
    (tmp_path / "b.ttl").write_text(TURTLE.format(2), encoding="utf-8")
    kb.load(tmp_path / "b.ttl", replace="ex:g")
    kb.load(tmp_path / "b.ttl", replace="rdfs:g")
    kb.load(tmp_path / "b.ttl", replace="other:g")
    assert graphs(kb) == {"http://e/g", "http://www.w3.org/2000/01/rdf-schema#g", "other:g"}
    assert kb.delete(tmp_path / "b.ttl", graph="ex:g").removed == 1
    assert "http://e/g" not in graphs(kb)


def test_each_change_counts_the_triples_that_only_graph_sees(kb, tmp_path):
    (tmp_path / "b.ttl").write_text(TURTLE.format(2), encoding="utf-8")
    (tmp_path / "c.nq").write_text('<x:a> <x:p> "1" <x:g> .\n<x:a> <x:p> "2" .\n', encoding="utf-8")
    (one,) = noted(kb.load(tmp_path / "b.ttl", replace="ex:g"))
    assert one.startswith(
        "note: 1 new triple is in a named graph, which queries outside GRAPH and text search do not see"
    )
    (one,) = noted(kb.load(tmp_path / "c.nq"))
    assert one.startswith("note: 1 new triple is in a named graph")
    (two,) = noted(kb.update("INSERT DATA { GRAPH <x:g> { <x:b> <x:p> 1, 2 } <x:b> <x:p> 3 }"))
    assert two.startswith("note: 2 new triples are in named graphs")
    folder = tmp_path / "g.kb"
    for note in (one, two):
        assert note.endswith(f"hybridkg config {folder} default_graph union, then hybridkg index {folder}")
    assert not noted(kb.update("INSERT DATA { GRAPH <x:g> { <x:b> <x:p> 1, 2 } <x:b> <x:p> 4 }"))
    assert not noted(kb.update("DELETE DATA { GRAPH <x:g> { <x:b> <x:p> 1 } }"))
    with kb.transaction() as t:
        t.update("INSERT DATA { GRAPH <x:h> { <x:b> <x:p> 1 } }")
    assert len(noted(t.report)) == 1


@pytest.mark.parametrize(("graph", "named"), [(NamedNode("x:g"), True), (DefaultGraph(), False)])
@pytest.mark.parametrize("n", [100, 10_001])
def test_a_first_load_says_it_too(tmp_path, graph, named, n):
    quads = (Quad(NamedNode(f"x:{i}"), NamedNode("x:p"), Literal(str(i)), graph) for i in range(n))
    with KnowledgeBase.create(tmp_path / "g.kb") as kb:
        report = kb.load(quads, index=False)
        assert len(noted(report)) == named
        assert report.in_named_graphs == (0 if not named else n if n == 100 else None)


def test_a_union_of_all_graphs_hides_nothing(kb, tmp_path):
    settings = tmp_path / "g.kb" / "kb.toml"
    settings.write_text('default_graph = "union"\n', encoding="utf-8")
    with KnowledgeBase.open(tmp_path / "g.kb") as union:
        assert not noted(union.update("INSERT DATA { GRAPH <x:g> { <x:b> <x:p> 1, 2 } }"))


def test_many_triples_of_insert_data_enter_their_graphs(kb):
    lines = [f'<x:s{i}> <x:p> "{i}"@EN .' for i in range(300)]
    data = f"{{ {' '.join(lines[:150])} GRAPH <x:g> {{ {' '.join(lines[140:])} }} {lines[7]} }}"
    assert kb.update(f"INSERT DATA {data}").added == 310
    found = "SELECT ?s {{ {} FILTER(LCASE(LANG(?o)) = 'en') }}"
    assert len(kb.query(found.format("?s <x:p> ?o"))) == 150
    assert len(kb.query(found.format("GRAPH <x:g> { ?s <x:p> ?o }"))) == 160
    assert kb.update(f"INSERT DATA {data}").added == 0
    assert kb.update(f"DELETE DATA {data}").removed == 310
