"""Solutions that differ in nothing that is read are counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import Fragment, Plan, SparqlQuery, walk
from hybridkg.algebra.rules import rewrite
from hybridkg.interfaces.meter import COLUMN_CELLS
from hybridkg.operators import column_groups, graph_fragment
from hybridkg.query.parser import parse

PREFIX = "PREFIX : <http://e/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
HUB = "?p :cites ?h . ?q :cites ?h ."
MANY = "{ SELECT ?h (COUNT(?x) AS ?n) { ?x :cites ?h } GROUP BY ?h }"
MATCHED = "?p MATCH 'fish' AS ?s ."

GROUPED = [
    f"SELECT (COUNT(*) AS ?c) {{ {HUB} {MANY} }}",
    f"SELECT ?p (COUNT(DISTINCT ?h) AS ?c) {{ {HUB} {MANY} }} GROUP BY ?p HAVING(COUNT(*) > 2)",
    f"SELECT ?h (SUM(?n) AS ?c) (AVG(?n) AS ?d) (MIN(?p) AS ?e) {{ {HUB} {MANY} }} GROUP BY ?h",
    f"SELECT ?p (SUM(?s) AS ?c) (AVG(?s) AS ?d) (COUNT(?h) AS ?e) {{ {HUB} {MATCHED} }} GROUP BY ?p",
    f"SELECT ?h (SUM(?s) AS ?c) (MAX(?s) AS ?d) (COUNT(*) AS ?e) {{ {HUB} {MATCHED} }} GROUP BY ?h",
    f"SELECT (SUM(?s) AS ?c) (MIN(?s) AS ?d) {{ {HUB} {MATCHED} }}",
    f"SELECT (COUNT(*) AS ?c) (SUM(?s) AS ?d) {{ {HUB} {MANY} {MATCHED} }}",
    f"SELECT ?p (COUNT(?y) AS ?c) (SUM(?y) AS ?d) {{ {MATCHED} OPTIONAL {{ {HUB} ?h :year ?y }} }} GROUP BY ?p",
    f"SELECT ?p (COUNT(*) AS ?c) {{ {MATCHED} {{ {HUB} }} UNION {{ ?h :cites ?p . ?p MATCH 'paper' }} }} GROUP BY ?p",
    f"SELECT ?p (COUNT(*) AS ?c) {{ {HUB} {MATCHED} MINUS {{ ?h :year 2 }} FILTER(?s > 0.01) }} GROUP BY ?p",
    f"SELECT ?p (COUNT(*) AS ?c) {{ {HUB} ?h :year ?y BIND(?y + 1 AS ?z) {MATCHED} FILTER(?z > 2) }} GROUP BY ?p",
    f"SELECT ?t (COUNT(*) AS ?c) {{ {MATCHED} OPTIONAL {{ {HUB} ?h :year ?t }} OPTIONAL {{ ?q :cites ?p }} }} "
    "GROUP BY ?t",
]

LISTED = [
    f"SELECT ?p ?n {{ {HUB} {MANY} }}",
    f"SELECT ?p ?n {{ {HUB} {MANY} }} ORDER BY DESC(?n) ?p LIMIT 50",
    f"SELECT ?p ?t {{ {MANY} OPTIONAL {{ {HUB} ?h :year ?t }} }} ORDER BY ?p ?t",
    f"SELECT ?p ?m {{ {HUB} {MANY} MINUS {{ ?h :year 2 }} BIND(?n * 2 AS ?m) FILTER(?m > 3) }}",
    f"SELECT ?p ?h {{ {MATCHED} {{ SELECT ?p ?h {{ {HUB} OPTIONAL {{ ?h :year ?y }} ?p MATCH 'paper' }} }} }}",
    f"SELECT ?p ?n {{ {MANY} {{ {HUB} ?h :year ?t }} UNION {{ ?h :cites ?p . ?p rdfs:label ?t }} }}",
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """60 papers, each of which cites two of three hubs and its successor; half of them are about fish."""
    path: Path = tmp_path_factory.mktemp("hubs") / "papers.ttl"
    lines = ["@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    for n in range(60):
        words = "fish " * (n % 2) + "paper " * (1 + n % 3)
        lines += [f":p{n} rdfs:label '{words}{n}' ; :cites :hub{n % 3}, :hub{(n + 1) % 3}, :p{(n + 1) % 60} ."]
    lines += [f":hub{n} :year {n} ; rdfs:label 'hub {n}' ." for n in range(3)]
    path.write_text("\n".join(lines))
    with KnowledgeBase.temporary(path) as kb:
        yield kb


def rows(kb: KnowledgeBase, text: str, strategy: str | None = None) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row)) for row in kb.query(PREFIX + text, strategy=strategy).rows())


@pytest.fixture(autouse=True, params=[0, graph_fragment.FEW_COUNTED], ids=["counted", "as-expected"])
def few(request, monkeypatch):
    """With and without listing few solutions where counting is planned."""
    monkeypatch.setattr(graph_fragment, "FEW_COUNTED", request.param)
    if not request.param:
        monkeypatch.setattr(graph_fragment, "COUNTING_SHARE", float("inf"))


@pytest.mark.parametrize("text", [*GROUPED, *LISTED])
def test_rows_are_those_of_listed_solutions(kb, text):
    listed = rows(kb, text, "reference")
    assert listed
    assert rows(kb, text) == listed
    for name in ("columns", "bind_join" if "MATCH" in text else "oxigraph"):
        assert rows(kb, text, name) == listed, name


@pytest.mark.parametrize("text", GROUPED)
def test_doubles_that_would_be_added_too_often_are_summed_over_listed_rows(kb, monkeypatch, text):
    monkeypatch.setattr(column_groups, "MAX_REPEATED", 0)
    listed = rows(kb, text, "reference")
    assert rows(kb, text) == listed
    assert rows(kb, text, "columns") == listed


@pytest.mark.parametrize("text", GROUPED[:7])
def test_the_work_grows_with_the_links_of_a_hub_not_with_their_pairs(kb, monkeypatch, text):
    monkeypatch.setattr(graph_fragment, "FEW_COUNTED", 0)
    pairs = 4_800  # the squares of the degrees of the hubs, at least
    passed = kb.explain(PREFIX + text, analyze=True).to_json()["work"][COLUMN_CELLS]
    assert passed < pairs / 2


def counted(text: str) -> list[Fragment]:
    plan: Plan | None = rewrite(from_ast(parse(PREFIX + text)))
    if isinstance(plan, SparqlQuery):
        plan = plan.relational
    assert plan is not None
    return [part for part in walk(plan) if isinstance(part, Fragment) and part.counted]


@pytest.mark.parametrize("text", [*GROUPED, *LISTED])
def test_a_pattern_is_counted_by_what_is_read(text):
    assert counted(text)


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT (COUNT(DISTINCT *) AS ?c) {{ {HUB} {MANY} }}",
        f"SELECT (SAMPLE(?q) AS ?c) {{ {HUB} {MANY} }}",
        f"SELECT (GROUP_CONCAT(?s) AS ?c) {{ {HUB} {MATCHED} }}",
        f"SELECT ?p ?r {{ {{ SELECT ?p ?r {{ {HUB} {MATCHED} BIND(RAND() AS ?r) }} }} }}",
        f"SELECT (COUNT(DISTINCT STRUUID()) AS ?c) (SUM(?s) AS ?t) {{ {HUB} {MATCHED} }}",
        f"SELECT (COUNT(*) AS ?c) {{ {HUB} {MATCHED} }} HAVING(SUM(RAND()) > 1)",
        f"SELECT ?p {{ {{ SELECT ?p {{ {HUB} {MATCHED} }} ORDER BY RAND() LIMIT 9 }} }}",
        f"SELECT ?p ?s {{ {HUB} {MATCHED} }}",  # a row of the answer has all variables
        f"SELECT ?p {{ {HUB} {MATCHED} OPTIONAL {{ ?p MATCH 'paper' AS ?t }} }} RANK BY rrf(?s, ?t)",
        "SELECT ?p { ?p :cites ?h . ?q :cites ?h }",  # is listed in parts
        "SELECT ?p (COUNT(*) AS ?c) { ?p :cites ?h . ?q :cites ?h } GROUP BY ?p",  # is counted as a whole
    ],
)
def test_a_pattern_whose_solutions_are_told_apart_is_listed(text):
    assert not counted(text)
