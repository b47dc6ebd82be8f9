"""EXISTS with a MATCH over columns: entities are tested by their ids, and none becomes a term."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.entities.node_table import NodeTable
from hybridkg.errors import UnsupportedQueryError

PREFIX = "PREFIX : <http://e/> "


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """90 papers that cite the next two; every third one is about fish, and one cites what is no paper."""
    path: Path = tmp_path_factory.mktemp("exists") / "papers.ttl"
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = [
        f":p{n} {label} '{'fish' if n % 3 == 0 else 'birds'} {n}' ; :cites :p{n + 1}, :p{n + 2} ." for n in range(90)
    ]
    path.write_text(f"@prefix : <http://e/> . {' '.join(lines)} :p1 :cites :unknown .")
    with KnowledgeBase.temporary(path) as kb:
        yield kb


QUERIES = [
    ("SELECT ?p ?q { ?p :cites ?q FILTER EXISTS { ?q MATCH 'fish' ON (label) } }", 58),
    ("SELECT ?p ?q { ?p :cites ?q FILTER NOT EXISTS { ?q MATCH 'fish' ON (label) } }", 123),
    ("SELECT ?p ?q { ?p :cites ?q FILTER NOT EXISTS { ?q MATCH 'whales' } }", 181),
    ("SELECT ?p ?q { ?p :cites ?q FILTER EXISTS { ?q MATCH 'whales' } }", 0),
    ("SELECT ?p ?q { ?p :cites ?q FILTER(EXISTS { ?q MATCH 'fish' ON (label) } || ?q = :unknown) }", 59),
]


@pytest.mark.parametrize(("query", "rows"), QUERIES)
def test_exists_over_ids_has_the_rows_of_the_reference(kb, monkeypatch, query, rows):
    want = kb.query(PREFIX + query, strategy="reference")
    monkeypatch.setattr(NodeTable, "find_many", lambda self, nodes: pytest.fail("an id was looked up by its term"))
    found = kb.query(PREFIX + query, strategy="columns")
    assert sorted(map(str, found.rows())) == sorted(map(str, want.rows()))
    assert len(found) == rows


def test_a_limit_on_rows_does_not_limit_the_pattern_of_an_exists(kb):
    query = "SELECT ?p ?b { ?p :cites ?q BIND(EXISTS { ?p MATCH 'birds' AS ?s . ?x MATCH '3' AS ?t } AS ?b) }"
    rows = set(map(str, kb.query(PREFIX + query, strategy="reference").rows()))
    for limit in (2, 40):
        found = kb.query(f"{PREFIX}{query} LIMIT {limit}", strategy="columns")
        assert set(map(str, found.rows())) <= rows


def test_an_exists_that_depends_on_its_row_is_refused_for_what_the_query_has(kb):
    inside = "{ SELECT (COUNT(?p) AS ?n) { ?p MATCH 'fish' } } FILTER(?n > 3)"
    with pytest.raises(UnsupportedQueryError, match="which a query with MATCH or NEAR cannot have"):
        kb.query(f"{PREFIX}SELECT ?p {{ ?p :cites ?q FILTER EXISTS {{ {inside} }} }}")  # no MATCH ranks its rows
