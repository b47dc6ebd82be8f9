"""Scope (SPARQL 1.1 section 18.2.1), and visiting trees."""

from __future__ import annotations

import pytest

from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.query.scope import in_scope, is_hybrid, ranked_items
from hybridkg.query.walk import rebuild, variables, walk


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("?a ?b ?c", "a b c"),
        ("?a <e:p>/<e:q>* _:x", "a"),
        ("{ ?a ?b ?c }", "a b c"),
        ("{ ?a <e:p> 1 } UNION { ?b <e:p> 1 }", "a b"),
        ("OPTIONAL { ?a <e:p> 1 }", "a"),
        ("?a <e:p> 1 MINUS { ?b <e:p> 1 }", "a"),
        ("FILTER(?a) FILTER EXISTS { ?b <e:p> 1 }", ""),
        ("GRAPH ?g { ?a <e:p> 1 } SERVICE ?s { ?b <e:p> 1 }", "a b g s"),
        ("BIND(?a AS ?b)", "b"),
        ("VALUES (?a ?b) { }", "a b"),
        ("{ SELECT ?a (1 AS ?b) { ?c <e:p> ?a } }", "a b"),
        ("{ SELECT * { ?c <e:p> ?a } VALUES ?v { 1 } }", "a c v"),
        ("?e MATCH ?text AS ?s SNIPPET ?t", "e s t"),
        ('{ SELECT * { ?e MATCH "x" AS ?s } RANK BY ?s AS ?r }', "e r s"),
    ],
)
def test_a_variable_is_in_scope_where_a_solution_can_bind_it(pattern, expected):
    assert in_scope(parse(f"SELECT * {{ {pattern} }}").form.where) == set(expected.split())


def test_a_query_is_hybrid_where_it_ranks_anywhere():
    assert not is_hybrid(parse("SELECT ?match { ?match ?p 'MATCH' } ORDER BY ?match"))
    assert is_hybrid(parse("SELECT * { ?x ?p ?o } RANK BY ?o"))
    text = "SELECT * { ?x MATCH '1' FILTER NOT EXISTS { { SELECT * { ?y MATCH '2' } } } ?z MATCH '3' }"
    assert [match.text.lexical for match in ranked_items(parse(text))] == ["1", "2", "3"]


def test_a_tree_is_walked_in_the_order_of_the_text_and_rebuilt_only_where_it_changes():
    query = parse("SELECT ?a { ?b ?c ?d FILTER(?e + ?f IN (?g)) VALUES (?h ?i) { (1 UNDEF) } } LIMIT 1")
    assert "".join(node.name for node in walk(query) if isinstance(node, ast.Var)) == "abcdefghi"
    assert variables(query) == set("abcdefghi")

    def upper(node: ast.Syntax) -> ast.Syntax:
        return ast.Var(node.name.upper()) if isinstance(node, ast.Var) else rebuild(node, upper)

    assert variables(upper(query)) == set("ABCDEFGHI")
    assert rebuild(query, lambda node: node) is query
