"""A LIMIT without an order takes the rows of a few matches, if these are enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.interfaces.meter import COLUMN_CELLS
from hybridkg.operators import first_values

PREFIX = "PREFIX : <http://e/> "
HUB = "?p MATCH 'paper' AS ?s . ?p :cites ?h . ?q :cites ?h ."
MANY = "{ SELECT ?p (COUNT(?x) AS ?n) { ?x :cites ?p } GROUP BY ?p }"

MANY_ROWS = [
    HUB,
    f"{HUB} {MANY}",
    f"{HUB} FILTER(?s > 0.001) BIND(?s * 2 AS ?t)",
    "?p MATCH 'paper' AS ?s . ?p :cites ?h . OPTIONAL { ?q :cites ?h . ?q MATCH 'fish' AS ?t }",
    f"{HUB} MINUS {{ ?p :cites :hub0 . ?q :cites :hub1 . ?p MATCH 'fish' }}",
    f"{HUB} FILTER NOT EXISTS {{ ?p MATCH 'zebra' }}",
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """200 papers, each of which cites two of three hubs and its successor; half of them are about fish."""
    path: Path = tmp_path_factory.mktemp("limited") / "papers.ttl"
    lines = ["@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    for n in range(200):
        words = "fish " * (n % 2) + "paper " * (1 + n % 3)
        lines += [f":p{n} rdfs:label '{words}{n}' ; :cites :hub{n % 3}, :hub{(n + 1) % 3}, :p{(n + 1) % 200} ."]
    path.write_text("\n".join(lines))
    with KnowledgeBase.temporary(path) as kb:
        yield kb


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_values, "MIN_ROWS", 100)


@pytest.mark.parametrize("group", MANY_ROWS)
@pytest.mark.parametrize("cut", ["LIMIT 5", "LIMIT 20 OFFSET 30", "LIMIT 4000"])
def test_the_rows_are_some_of_all(kb, group, cut):
    text = f"{PREFIX}SELECT ?p ?h ?q ?s {{ {group} }}"
    every = Counter(tuple(map(str, row)) for row in kb.query(text, strategy="bind_join").rows())
    some = Counter(tuple(map(str, row)) for row in kb.query(f"{text} {cut}", strategy="bind_join").rows())
    offset = 30 if "OFFSET" in cut else 0
    assert not some - every
    assert some.total() == min(int(cut.split()[1]), max(0, every.total() - offset))


@pytest.mark.parametrize("group", MANY_ROWS)
def test_few_rows_are_made_for_a_small_limit(kb, group):
    def passed(cut: str) -> int:
        work = kb.explain(f"{PREFIX}SELECT ?p ?h ?q ?s {{ {group} }} {cut}", strategy="bind_join", analyze=True)
        return int(work.to_json()["work"][COLUMN_CELLS])

    assert passed("LIMIT 5") < passed("") / 4
