"""A row without any ranked score has the value of the expression of RANK BY, by every strategy."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridkg import KnowledgeBase, UnsupportedQueryError
from hybridkg.interfaces.strategy import STRATEGIES

DATA = """
@prefix e: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
e:a a e:T ; rdfs:label "alpha" ; e:g 3 .
e:b a e:T ; rdfs:label "beta" ; e:g 1 .
e:c a e:T ; rdfs:label "gamma" ; e:g 2 .
e:d a e:T ; rdfs:label "alpha alpha delta" .
"""
PREFIX = "PREFIX e: <http://e/> "


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("absent")
    (Path(folder) / "d.ttl").write_text(DATA)
    kb = KnowledgeBase.create(folder / "kb")
    kb.load(folder / "d.ttl", index=True)
    return kb


def ranked(kb: KnowledgeBase, text: str, strategy: str | None) -> list[tuple[str, float | None]]:
    rows = kb.query(PREFIX + text, strategy=strategy)
    return [(str(row["x"])[-1], None if row["r"] is None else round(float(row["r"]), 6)) for row in rows]


OPTIONAL = '{ ?x a e:T OPTIONAL { ?x MATCH "beta" AS ?s } OPTIONAL { ?x e:g ?g } }'
CASES = {
    "COALESCE(?s, 0.25)": [("b", None), ("a", 0.25), ("c", 0.25), ("d", 0.25)],
    "COALESCE(?s, 100)": [("a", 100.0), ("c", 100.0), ("d", 100.0), ("b", None)],
    "IF(BOUND(?s), ?s, 0.25)": [("b", None), ("a", 0.25), ("c", 0.25), ("d", 0.25)],
    "10 * ?g + COALESCE(tmm(?s), 0)": [("a", 30.0), ("c", 20.0), ("b", 11.0), ("d", None)],
    "?s": [("b", None), ("a", None), ("c", None), ("d", None)],
    "?s + ?g": [("b", None), ("a", None), ("c", None), ("d", None)],
}
"""Rows by expression; None for a score that depends on the ranking model."""


@pytest.mark.parametrize("expression", CASES)
@pytest.mark.parametrize("strategy", [None, *STRATEGIES.names()])
@pytest.mark.parametrize("limit", ["", "LIMIT 3"])
def test_the_value_of_the_expression_ranks(small, expression, strategy, limit):
    text = f"SELECT ?x ?r {OPTIONAL} RANK BY {expression} AS ?r {limit}"
    try:
        found = ranked(small, text, strategy)
    except UnsupportedQueryError:
        return  # the strategy does not apply
    wanted = CASES[expression][: 3 if limit else 4]
    assert [x for x, _ in found] == [x for x, _ in wanted]
    for (_, value), (x, number) in zip(found, wanted, strict=True):
        if number is not None:
            assert value == number
        elif x != "b":
            assert value is None


@pytest.mark.parametrize("strategy", [None, "reference"])
def test_an_empty_match_leaves_the_value(small, strategy):
    text = 'SELECT ?r { VALUES ?x { e:a } OPTIONAL { ?w MATCH "nothing" AS ?s } } RANK BY COALESCE(?s, 0.25) AS ?r'
    (row,) = small.query(PREFIX + text, strategy=strategy)
    assert float(row["r"]) == 0.25
    assert row.rank_score == 0.25
