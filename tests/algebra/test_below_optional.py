"""MINUS and filters that no fragment takes remove rows before an OPTIONAL multiplies them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import Filter, LeftJoin, Minus, walk
from hybridkg.algebra.rules import rewrite
from hybridkg.query.parser import parse

pytestmark = pytest.mark.quick

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
PREFIX = "PREFIX : <http://example.org/films/> "
MATCHED = '?f MATCH "film" AS ?s . OPTIONAL { ?f :director ?d } OPTIONAL { ?f :year ?y }'
SUNK = ("MINUS { ?f :year 1968 }", "FILTER(?s > 0.2)", "FILTER NOT EXISTS { ?f :year 1968 }", "FILTER(!BOUND(?t))")
STAYING = ("MINUS { ?f :year 1968 . ?x :director ?d }", "FILTER(?s > 0.2 || ?y > 1970)", "FILTER(!BOUND(?d))")


@pytest.fixture(scope="module")
def films():
    with KnowledgeBase.temporary(FILMS) as kb:
        yield kb


@pytest.mark.parametrize("removing", [*SUNK, *STAYING])
def test_what_removes_rows_by_what_is_bound_before_an_optional_is_below_it(films, removing):
    text = f"{PREFIX}SELECT ?f ?d ?y ?s {{ {MATCHED} {removing} }}"
    plan = rewrite(from_ast(parse(text)))
    removed = [part for part in walk(plan) if isinstance(part, Filter | Minus)]
    assert len(removed) == 1
    assert any(isinstance(part, LeftJoin) for part in walk(removed[0])) == (removing in STAYING)
    found = [sorted(map(str, films.query(text, strategy=name).rows())) for name in ("reference", "bind_join")]
    assert found[0] == found[1] != []
