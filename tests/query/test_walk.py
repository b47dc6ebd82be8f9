"""A walk lists a node and its descendants in preorder, whatever was walked before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.kb.data_warnings import predicates_and_classes
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.query.walk import MAX_LISTED, children, has, rebuild, walk

pytestmark = pytest.mark.quick


def reference(node: ast.Syntax) -> Iterator[ast.Syntax]:
    yield node
    for child in children(node):
        yield from reference(child)


def ids(nodes: Iterator[ast.Syntax]) -> list[int]:
    return [id(node) for node in nodes]


def tree(depth: int, width: int) -> ast.Syntax:
    if not depth:
        return ast.Var("x")
    return ast.Call("COALESCE", tuple(tree(depth - 1, width) for _ in range(width)))


@settings(max_examples=examples(40, 2000), deadline=None)
@given(st.integers(0, 5), st.integers(1, 4), st.data())
def test_a_walk_is_in_preorder_whatever_was_walked_before(depth, width, data):
    node = tree(depth, width)
    every = list(reference(node))
    for part in data.draw(st.lists(st.sampled_from(every), max_size=6)):
        assert ids(walk(part)) == ids(reference(part))
    assert ids(walk(node)) == ids(walk(node)) == ids(iter(every))
    changed = rebuild(node, lambda child: child if child.descendants == () else ast.Var("y"))
    assert ids(walk(changed)) == ids(reference(changed))


def test_the_nodes_of_a_large_tree_are_not_listed():
    node = tree(4, 4)
    assert len(list(walk(node))) > MAX_LISTED
    assert node.descendants is None
    small = tree(2, 4)
    assert len(list(walk(small))) == 21
    assert small.descendants is not None
    assert len(small.descendants) == 20


@settings(max_examples=examples(30, 500), deadline=None)
@given(st.lists(st.sampled_from(["BOUND(?x)", "?x = 1", "EXISTS { ?x ?p ?o }", "RAND() > ?x", "!(?x)"]), min_size=1))
def test_has_finds_the_class_of_a_node(conditions):
    query = parse(f"SELECT * {{ ?x ?p ?o FILTER({' || '.join(conditions)}) }}")
    for kind in (ast.Exists, ast.Call, ast.Unary, ast.Match, ast.Binary):
        assert has(query.form, kind) == any(isinstance(node, kind) for node in reference(query.form))
        assert has(query.form, ast.Near, kind) == has(query.form, kind)


def test_the_names_of_a_query_are_those_that_its_own_graph_has():
    text = """PREFIX : <e:>
    CONSTRUCT { ?x :made ?y } WHERE {
      ?x a :C ; :p/^:q ?y . OPTIONAL { ?x a ?c FILTER EXISTS { ?x !:r ?z } }
      SERVICE <e:elsewhere> { ?x :s ?y OPTIONAL { ?x a :D } }
    }"""
    found = [(kind, iri.value) for kind, iri in predicates_and_classes(parse(text).form)]
    assert found == [
        ("class", "e:C"), ("predicate", "e:p"), ("predicate", "e:q"),
        ("predicate", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), ("predicate", "e:r"),
    ]  # fmt: skip
