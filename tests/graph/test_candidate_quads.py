"""The candidates among quads are all that the graph has, and no candidates of those that its projection tells."""

from __future__ import annotations

import pytest
from entity_states import GRAPHS, E, nodes, predicates
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.graph import candidate_quads as module
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.candidate_quads import candidate_quads
from hybridkg.rdf.stored import all_as_stored
from hybridkg.rdf.terms import DefaultGraph, Literal, NamedNode, Quad, Triple

literals = st.sampled_from([Literal("red"), Literal("rot", language="de"), Literal(1999), Literal(True)])
objects = st.one_of(nodes, literals.map(lambda one: all_as_stored([one])[0]))
quads = st.lists(st.builds(Quad, nodes, predicates, objects, st.sampled_from(GRAPHS)), max_size=14, unique=True)


@settings(max_examples=examples(80, 2000), deadline=None)
@given(quads, quads, st.booleans(), st.sampled_from([0.0, 1.0]))
def test_the_candidates_are_those_of_the_graph(graph, asked, union, most):
    projected = [q for q in graph if union or isinstance(q.graph_name, DefaultGraph)]
    columns = columns_of([Triple(q.subject, q.predicate, q.object) for q in projected])
    asked = [*asked, *graph[::2]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_LITERALS", most)
        candidates = candidate_quads(columns, asked, union_default_graph=union)
    assert [quad for quad in candidates if quad in graph] == [quad for quad in asked if quad in graph]
    if most:
        triples = {quad.triple for quad in projected}
        told = [q for q in asked if union or isinstance(q.graph_name, DefaultGraph)]
        assert [quad for quad in candidates if quad in told] == [quad for quad in told if quad.triple in triples]


def test_quads_of_a_predicate_that_the_projection_omits_may_be_in_the_graph():
    a, p = NamedNode(E + "a"), NamedNode(E + "p")
    columns = columns_of([Triple(a, p, Triple(a, p, a))])
    asked = [Quad(a, p, NamedNode(f"{E}{n}")) for n in range(9)]
    assert candidate_quads(columns, asked, union_default_graph=False) == asked


def test_quads_that_the_projection_lacks_are_no_candidates():
    a, p = NamedNode(E + "a"), NamedNode(E + "p")
    asked = [Quad(a, p, NamedNode(f"{E}{n}")) for n in range(9)]
    columns = columns_of([Triple(a, p, a)])
    assert candidate_quads(columns, [*asked, Quad(a, p, a)], union_default_graph=False) == [Quad(a, p, a)]
    assert candidate_quads(columns, asked, union_default_graph=False) == []


def test_a_few_literals_are_looked_up_where_that_is_asked_for():
    a, p = NamedNode(E + "a"), NamedNode(E + "p")
    columns = columns_of([Triple(a, p, Literal("red"))])
    asked = [Quad(a, p, Literal("red")), Quad(a, p, Literal("blue"))]
    assert candidate_quads(columns, asked, union_default_graph=False) == asked
    assert candidate_quads(columns, asked, union_default_graph=False, literals=1) == asked
    assert candidate_quads(columns, asked, union_default_graph=False, literals=2) == asked[:1]
