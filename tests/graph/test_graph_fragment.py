"""GraphFragment gives the rows of SparqlFragment, whoever answers."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pyoxigraph as ox
import pytest
from generated_fragments import cases
from hypothesis import given, settings
from sampling import examples
from slow_patterns import holds
from test_fragments_equal_oxigraph import parsed

from hybridkg.algebra.certain import certain
from hybridkg.algebra.to_pattern import pattern_of
from hybridkg.errors import QueryLimitError
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.planner.cost_model import CostModel
from hybridkg.query.scope import in_scope
from hybridkg.store.oxigraph import OxigraphStore

GRAPH = [
    ox.Triple(ox.NamedNode(f"http://e/{s}"), ox.NamedNode(f"http://e/{p}"), o)
    for s, p, o in [
        ("a", "p", ox.NamedNode("http://e/b")),
        ("a", "p", ox.BlankNode("x")),
        ("c", "p", ox.NamedNode("http://e/b")),
        ("a", "v", ox.Literal(7)),
        ("c", "v", ox.Literal("seven")),
    ]
]


def fragment(text: str) -> GraphFragment:
    group = parsed(text)
    assert group is not None
    return GraphFragment(group, tuple(sorted(in_scope(group))), (), pattern_of(group))


def context(triples: list[ox.Triple], *, projected: bool = True, **limits: int) -> ExecutionContext:
    store = OxigraphStore.memory(triples)
    stored = [quad.triple for quad in store.quads()]
    nodes = sorted({t.subject for t in stored}, key=str)
    graph = Projection(columns_of(stored, nodes), lambda text, values: [holds(text, v) for v in values])
    names = SimpleNamespace(nodes=lambda ids: [nodes[i] for i in ids])
    return ExecutionContext(
        store,
        None,
        names,
        lambda *_: [],
        OxigraphStore.memory,
        graph=graph if projected else None,
        price=CostModel().price,
        **limits,
    )


@pytest.mark.parametrize("projected", [True, False])
@settings(max_examples=examples(5, 100), deadline=None)
@given(drawn=cases())
def test_the_rows_are_those_of_the_store(projected, drawn):
    graph, text = drawn
    if parsed(text) is None:
        return
    asked = fragment(text)
    run = context(graph, projected=projected)
    got, want = asked.run(run), SparqlFragment(asked.group, asked.columns).run(run)
    assert got.variables == want.variables
    assert Counter(got.rows) == Counter(want.rows)


@pytest.mark.parametrize("projected", [True, False])
@settings(max_examples=examples(5, 100), deadline=None)
@given(drawn=cases())
def test_rows_for_some_values_are_the_rows_that_have_them(projected, drawn):
    graph, text = drawn
    if parsed(text) is None or not graph or "a" not in certain(parsed(text)):
        return
    asked = fragment(text)
    run = context(graph, projected=projected)
    ids = np.arange(0, run.graph.n_entities if run.graph else 1, 2, dtype=np.uint32)
    wanted = set(run.nodes.nodes(ids))
    got, at = asked.rows_for(run, "a", ids), asked.columns.index("a")
    assert got.variables == asked.columns
    assert Counter(got.rows) == Counter(row for row in asked.run(run).rows if row[at] in wanted)


def test_explain_says_who_is_asked():
    assert fragment("?a :p/:p ?b FILTER(?a != :x)").describe() == "GraphFragment ?a ?b"
    asked = fragment("?a :p/:p ?b FILTER(?a != :x)")
    shown = "?a <http://e/p> _:1 . _:1 <http://e/p> ?b FILTER(?a != <http://e/x>)"
    known = EstimationContext(graph=context(GRAPH).graph)
    assert asked.details(known) == f"columns: {shown}"
    assert asked.shown == f"{{ {shown} }}"
    assert asked.asks(known) == ""
    assert asked.details(EstimationContext()) == "Oxigraph: the graph has no projection"
    assert asked.asks(EstimationContext()) == SparqlFragment(asked.group, asked.columns).sparql
    other = fragment("?a !:p ?b")
    assert other.details(known) == "Oxigraph: a negated property set"
    assert other.asks(known) == SparqlFragment(other.group, other.columns).sparql


def test_terms_of_a_table_are_rows_in_the_order_asked_for():
    run = context(GRAPH)
    solutions = fragment("?a :p ?b OPTIONAL { ?b :v ?c }").run(run)
    assert solutions.variables == ("a", "b", "c")
    assert Counter(str(a) for a, _, _ in solutions.rows) == {"<http://e/a>": 2, "<http://e/c>": 1}
    assert {c for _, _, c in solutions.rows} == {None}
    assert fragment(":a :p :b").run(run).rows == [()]
    assert fragment("").run(run).rows == [()]


def test_too_many_rows_are_refused():
    with pytest.raises(QueryLimitError, match="more than 2 rows"):
        fragment("?a :p ?b").run(context(GRAPH, max_rows=2))


def test_work_of_the_store_is_counted():
    run = context(GRAPH, projected=False)
    fragment("?a :p ?b").run(run)
    assert run.meter.counts == {"store questions": 1, "store rows": 3}
