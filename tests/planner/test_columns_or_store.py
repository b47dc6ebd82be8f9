"""The choice between columns and the store for plain queries: what each has to read before it may stop."""

from __future__ import annotations

import pytest

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.rules import rewrite
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.planner.choose import choose
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query.parser import parse
from hybridkg.rdf.terms import NamedNode, Triple

pytestmark = pytest.mark.quick


def node(name: object) -> NamedNode:
    return NamedNode(f"e:{name}")


@pytest.fixture(scope="module")
def graph() -> Projection:
    """10,000 papers that cite three others each, in 100 venues and 50 years."""
    triples = []
    for n in range(10_000):
        triples += [Triple(node(n), node("cites"), node((n + step) % 10_000)) for step in (1, 7, 11)]
        triples += [Triple(node(n), node("venue"), node(f"v{n % 100}"))]
        triples += [Triple(node(n), node("year"), node(f"y{n * 7919 % 50}"))]
    return Projection(columns_of(triples, sorted({t.subject for t in triples}, key=str)), lambda *_: [])


@pytest.mark.parametrize(
    ("query", "strategy"),
    [
        ("ASK { ?a :cites ?b }", "oxigraph"),
        ("ASK { ?a :cites ?b . ?b :cites ?c . ?c :venue ?v }", "oxigraph"),
        ("ASK { ?a :venue :v5 ; :year :y7 }", "columns"),
        ("SELECT ?a { ?a :cites ?b } LIMIT 1", "oxigraph"),
        ("SELECT ?a { ?a :venue :v5 ; :year :y7 } LIMIT 1", "columns"),
        ("SELECT ?a { ?a :venue :v5 ; :cites ?b . ?b :venue ?v } LIMIT 200", "columns"),
        ("SELECT ?a { ?a :cites ?b MINUS { ?a :venue :v5 ; :year :y7 } } LIMIT 1", "oxigraph"),
        ("SELECT ?a { ?a :cites ?b MINUS { ?a :year :y7 . ?a :cites ?c . ?c :venue ?v } } LIMIT 1", "columns"),
        ("SELECT ?a { ?a :cites ?b { SELECT DISTINCT ?a { ?a :cites ?c . ?c :venue ?v } } } LIMIT 1", "columns"),
        ("SELECT ?a { ?a :cites ?b OPTIONAL { ?b :cites ?c } } LIMIT 1", "oxigraph"),
        ("SELECT ?a { ?a :cites ?b OPTIONAL { ?b :cites ?c . ?c :venue ?v } } LIMIT 1", "oxigraph"),
        ("SELECT ?a { ?a :cites ?b OPTIONAL { ?b :cites ?c ; :venue ?v } } LIMIT 1", "columns"),
        ("SELECT ?a { ?a :cites ?b ; :venue :v5 } LIMIT 1 OFFSET 9000", "columns"),
        ("CONSTRUCT { ?b :cited_by ?a } { ?a :cites ?b ; :venue :v5 }", "columns"),
        ("CONSTRUCT { ?b :cited_by ?a } { ?a :cites ?b } LIMIT 1", "oxigraph"),
        ("DESCRIBE ?a { ?a :venue :v5 }", "columns"),
    ],
)
def test_the_store_is_chosen_where_it_stops_before_it_has_read_much(
    graph: Projection, query: str, strategy: str
) -> None:
    logical = rewrite(from_ast(parse(f"PREFIX : <e:> {query}")))
    plan = choose(logical, PlannerContext(graph))
    assert plan.strategy == strategy, [(name, cost.estimate) for name, cost in plan.costs()]


def test_a_group_has_the_price_of_the_minus_that_the_store_reads_whole(graph: Projection) -> None:
    query = "SELECT ?y (COUNT(?a) AS ?n) { ?a :cites :5 ; :year ?y MINUS { ?a :venue ?v } } GROUP BY ?y"
    plan = choose(rewrite(from_ast(parse(f"PREFIX : <e:> {query}"))), PlannerContext(graph))
    costs = {name: cost.estimate for name, cost in plan.costs()}
    assert costs["oxigraph"] >= 10_000 * CostModel().us_per_store_row
