"""Rules of queries without ranked predicates."""

from __future__ import annotations

import pytest

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import SparqlQuery
from hybridkg.algebra.render import render
from hybridkg.algebra.rules import rewrite
from hybridkg.query.parser import parse

pytestmark = pytest.mark.quick


def relational(text: str) -> str:
    plan = rewrite(from_ast(parse(text)))
    assert isinstance(plan, SparqlQuery)
    assert plan.relational is not None
    return render(plan.relational, {})


def test_a_distinct_query_asks_for_distinct_values_of_what_it_returns():
    assert "SELECT DISTINCT ?p" in relational("SELECT DISTINCT ?p { ?s ?p ?o }")


def test_a_query_that_counts_rows_is_not_narrowed():
    assert "SELECT DISTINCT" not in relational("SELECT DISTINCT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p")
    assert "SELECT DISTINCT" not in relational("SELECT ?p { ?s ?p ?o }")
