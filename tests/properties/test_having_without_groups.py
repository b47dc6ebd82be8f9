"""HAVING without GROUP BY and aggregates filters the solutions, as in Oxigraph, before a trailing VALUES and SELECT's
expressions (SPARQL 1.1 sections 18.2.4.1 to 18.2.4.4).
"""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from hybridkg import KnowledgeBase

GRAPH = """
@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a :p 1 ; :q 1 ; rdfs:label "red kettle" .
:b :p 5 ; rdfs:label "kettle" . :c :p 900 ; :q 2 ; rdfs:label "kettle kettle" .
"""
P = "PREFIX : <http://x/> "
PLAIN = (
    "SELECT ?s ?x { ?s :p ?x } HAVING(?x > 3)",
    "SELECT ?s ?x { ?s :p ?x } HAVING(?x > 3) (?x < 100)",
    "SELECT ?s { ?s :p ?x } HAVING(?x > 3) ORDER BY ?x LIMIT 1",
    "SELECT DISTINCT ?s { ?s :p ?x FILTER(?x < 100) } HAVING(?x > 3)",
    "SELECT ?s (?x * 2 AS ?y) { ?s :p ?x } HAVING(?x > 3) VALUES ?s { :b :a }",
    "SELECT ?s (?x * 2 AS ?y) { ?s :p ?x } HAVING(?y > 3)",
    "SELECT ?s ?z { ?s :p ?x } HAVING(?z = 3) VALUES ?z { 3 4 }",
    "SELECT ?s ?z { ?s :p ?x } HAVING(!BOUND(?z)) VALUES ?z { 3 4 }",
    "SELECT (COUNT(*) AS ?n) { { SELECT ?s { ?s :p ?x } HAVING(?x > 3) } }",
    "SELECT ?s ?y { { SELECT ?s { ?s :p ?x } HAVING(?x > 3) } ?s :q ?y }",
    "SELECT ?s ?y { ?s :p ?x OPTIONAL { ?s :q ?y } } HAVING(BOUND(?y))",
    "SELECT ?s { ?s :p ?x } HAVING(EXISTS { ?s :q 2 })",
)
RANKED = (
    ("SELECT ?s { ?s MATCH 'kettle' AS ?k . ?s :p ?x } HAVING(?x > 3) RANK BY ?k", ["c", "b"]),
    ("SELECT ?s { ?s MATCH 'kettle' AS ?k } HAVING(?k < 0) RANK BY ?k", []),
    ("SELECT ?s { ?s MATCH 'kettle' . ?s :p ?x } HAVING(?x < 100) ORDER BY ?x", ["a", "b"]),
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("having")
    (folder / "data.ttl").write_text(GRAPH)
    with KnowledgeBase.create(folder / "kb") as kb:
        kb.load(folder / "data.ttl", index=True)
        yield kb


@pytest.mark.parametrize("strategy", [None, "reference", "oxigraph"])
@pytest.mark.parametrize("query", PLAIN)
def test_rows_are_those_of_oxigraph(kb, query, strategy):
    store = ox.Store()
    store.load(GRAPH.encode(), format=ox.RdfFormat.TURTLE)
    solutions = store.query(P + query)
    want = sorted([None if cell is None else cell.value for cell in row] for row in solutions)
    found = kb.query(P + query, strategy=strategy)
    assert sorted([None if cell is None else str(cell) for cell in row.values()] for row in found) == want


@pytest.mark.parametrize("strategy", [None, "reference"])
@pytest.mark.parametrize(("query", "want"), RANKED)
def test_scores_and_matches_are_filtered_as_well(kb, query, want, strategy):
    assert [str(row["s"])[-1] for row in kb.query(P + query, strategy=strategy)] == want
