"""What the operators of a plan read, beside a slow reference that looks at every value of every field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from hybridkg.algebra import nodes
from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import Fragment, Match, OrderBy, Plan, Rank, children, walk
from hybridkg.algebra.rules import rewrite
from hybridkg.algebra.rules.narrow_distinct import read_by
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.query.walk import variables

pytestmark = pytest.mark.quick

CASES = sorted((Path(__file__).resolve().parents[1] / "cases").glob("*.hq"))

PREFIX = "PREFIX : <http://e/> "
MATCHED = '?x MATCH "fish" AS ?s .'
QUERIES = [
    f"SELECT ?x (SUM(?v) AS ?t) {{ {MATCHED} ?x :p ?v }} GROUP BY ?x HAVING(MAX(?w) > 2) ORDER BY DESC(?t)",
    f"SELECT ?x {{ {MATCHED} OPTIONAL {{ ?x :p ?v FILTER(?v > ?s) }} MINUS {{ ?x :q ?y }} }} RANK BY ?s + ?v",
    "SELECT ?x { ?x :title ?t . ?x MATCH ?t AS ?s } RANK BY ?s",
    f"SELECT ?x ?e {{ {MATCHED} BIND(?s * ?k AS ?e) }} RANK BY ?s RERANK TOP 20 USING features AS ?r LIMIT 9",
    'SELECT ?x ?w { ?x MATCH "fish" AS ?s SNIPPET ?w } RANK BY ?s LIMIT 2',
    f"SELECT ?g ?x {{ GRAPH ?g {{ {MATCHED} OPTIONAL {{ ?x :p ?v }} }} }}",
    f"CONSTRUCT {{ ?x :made ?z }} {{ {MATCHED} ?x :p ?z }}",
    f"DESCRIBE ?x ?y {{ {MATCHED} ?x :p ?y }}",
    f"SELECT ?x {{ {{ {MATCHED} }} UNION {{ ?x :p ?y }} }} ORDER BY ?y ?x LIMIT 3 OFFSET 1",
    "SELECT ?x { ?x :p ?y FILTER(?y > ?z) }",
]


def reference(plan: Plan) -> frozenset[str]:
    names: frozenset[str] = frozenset()
    if isinstance(plan, Rank | OrderBy):
        names |= frozenset(plan.tie_breakers or ())
    if isinstance(plan, OrderBy):
        names |= {name for name, _ in plan.keys}
    below = children(plan)
    if not isinstance(plan, Fragment | Match):
        for field in fields(plan):
            for node in syntax(getattr(plan, field.name), below):
                names |= variables(node)
    return names.union(*map(reference, below))


def syntax(value: Any, below: tuple[Plan, ...]) -> Iterator[ast.Syntax]:
    if any(value is child for child in below):
        return
    if isinstance(value, ast.Syntax):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from syntax(item, below)
    elif isinstance(value, Match):
        yield value.match


def plans() -> Iterator[Plan]:
    texts = [PREFIX + query for query in QUERIES]
    texts += [re.split(r"^=> ", case.read_text(), maxsplit=1, flags=re.MULTILINE)[0] for case in CASES]
    for text in texts:
        plan = from_ast(parse(text))
        for whole in (plan, rewrite(plan)):
            yield from walk(whole)
            if isinstance(whole, nodes.SparqlQuery) and whole.relational is not None:
                yield from walk(whole.relational)


def test_what_operators_read_is_what_their_fields_hold():
    seen = set()
    for plan in plans():
        assert read_by(plan) == reference(plan)
        seen.add(type(plan))
    assert seen == set(get_args(Plan))
