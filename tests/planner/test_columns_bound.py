"""A plan over columns that is taken without a price is the one with the lowest price."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from generated_fragments import PROLOGUE
from generated_queries import form, query
from sampling import examples

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import Plan
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import HybridkgError
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.strategy import strategy_of
from hybridkg.operators.bind_join import BindJoin
from hybridkg.planner.choose import PhysicalPlan, choose
from hybridkg.planner.columns_bound import PRICING_US
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse
from hybridkg.rdf.order import term_key
from hybridkg.rdf.terms import NamedNode, Triple

pytestmark = pytest.mark.quick

OTHERS = frozenset({"oxigraph", "reference"})

CHEAP = CostModel(us_per_graph_question=30.0)
"""Unit costs at which a bound can hold: a request to the projection costs less than one to the store."""


def some_costs(rng: Random) -> CostModel:
    """Unit costs at random, in the neighbourhood of which bounds begin to hold."""
    us = lambda low, high: low * (high / low) ** rng.random()
    return CostModel(
        us_per_adjacency_entry=us(0.005, 3.0),
        us_per_graph_question=us(20.0, 150.0),
        us_per_store_question=us(30.0, 200.0),
        us_per_store_row=us(0.05, 12.0),
        us_per_row_of_terms=us(0.01, 6.0),
        us_per_row_passed=us(0.1, 2.0),
        us_per_column_cell=us(0.01, 3.0),
    )


def plan_of(text: str) -> Plan | None:
    """The logical plan of a query; None for what is not one."""
    try:
        parsed = parse(text)
        check(parsed)
    except HybridkgError:
        return None
    return rewrite(from_ast(parsed))


def is_cheapest(logical: Plan, planning: PlannerContext) -> bool:
    columns = strategy_of("columns")
    return columns.applies(logical, planning) and columns.is_cheapest(OTHERS, logical, planning)


def test_the_store_never_costs_less_than_columns_that_are_taken_without_a_price():
    proved = 0
    for seed in range(examples(600, 20_000)):
        triples, text = (query, form)[seed % 4 == 0](seed)
        logical = plan_of(PROLOGUE + text)
        if logical is None:
            continue
        terms = {term for t in triples for term in (t.subject, t.object)}
        entities = sorted((term for term in terms if isinstance(term, NamedNode)), key=term_key)
        projection = Projection(columns_of(triples, entities), lambda *_: [])
        rng = Random(seed)
        for costs in (CHEAP, some_costs(rng), some_costs(rng)):
            planning = PlannerContext(projection, cost=costs)
            if not is_cheapest(logical, planning):
                continue
            proved += 1
            plan = choose(logical, planning)
            priced = {name: cost.estimate for name, cost in plan.costs()}
            assert plan.strategy == "columns", text
            assert plan.cost.estimate == priced["columns"] < priced["oxigraph"] + joins_of(plan) * PRICING_US, text
    assert proved > 300


@pytest.fixture(scope="module")
def graph() -> Projection:
    """1,000 papers that cite three others each, in ten venues."""
    node = lambda name: NamedNode(f"e:{name}")
    triples = []
    for n in range(1_000):
        triples += [Triple(node(n), node("cites"), node((n + step) % 1_000)) for step in (1, 7, 11)]
        triples += [Triple(node(n), node("venue"), node(f"v{n % 10}"))]
    return Projection(columns_of(triples, sorted({t.subject for t in triples}, key=str)), lambda *_: [])


INNER = ["?a :cites :{}", "?a :cites ?b . ?b :venue :v{}", "?a :venue :v{} ; :cites ?c", "?a :none :{}"]
OUTER = [
    "?a :venue ?v",
    "?a :cites ?v",
    "?v :cites ?a",
    "?a :cites ?v . ?v :venue :v{}",
    "?a :cites ?v OPTIONAL {{ ?v :none ?n }}",
]


def test_a_bind_join_costs_at_most_its_own_pricing_more_than_the_store(graph: Projection):
    proved = 0
    for seed in range(examples(300, 10_000)):
        rng = Random(seed)
        inner, outer = (rng.choice(one).format(rng.randrange(20)) for one in (INNER, OUTER))
        limit = rng.choice(["LIMIT 3", "ORDER BY ?a LIMIT 30", "GROUP BY ?a"])
        head = rng.choice(
            ["SELECT ?a ?v", "SELECT DISTINCT ?v", "SELECT (COUNT(?v) AS ?n)", "CONSTRUCT {{ ?v :of ?a }}"]
        )
        end = rng.choice(["", "", "ORDER BY ?v" if "COUNT" not in head else ""])
        logical = plan_of(
            f"PREFIX : <e:> {head.replace('{{', '{').replace('}}', '}')} "
            f"{{ {{ SELECT ?a {{ {inner} }} {limit} }} {outer} }} {end}"
        )
        assert logical is not None
        planning = PlannerContext(graph, cost=rng.choice([CHEAP, some_costs(rng), some_costs(rng)]))
        if not is_cheapest(logical, planning):
            continue
        plan = choose(logical, planning)
        priced = {name: cost.estimate for name, cost in plan.costs()}
        proved += joins_of(plan) > 0
        assert priced["columns"] < priced["oxigraph"] + joins_of(plan) * PRICING_US, (inner, outer, limit, head)
    assert proved > 20


def joins_of(plan: PhysicalPlan) -> int:
    return sum(isinstance(operator, BindJoin) for operator in plan.root.walk())


@pytest.mark.parametrize(
    ("text", "is_proved"),
    [
        ("SELECT ?a { ?a :venue :v5 }", True),
        ("SELECT DISTINCT ?v { ?a :cites :5 ; :venue ?v }", True),
        ("SELECT ?a { ?a :venue :v5 OPTIONAL { ?a :cites ?b } }", True),
        ("SELECT ?a { ?a :venue :v5 } ORDER BY ?a LIMIT 3", True),
        ("SELECT ?v (COUNT(?a) AS ?n) { ?a :venue ?v } GROUP BY ?v", True),
        ("SELECT (STR(?a) AS ?t) { ?a :venue :v5 }", True),
        ("CONSTRUCT { ?a :at :v5 . :v5 :of ?a } { ?a :venue :v5 }", True),
        ("ASK { ?a :venue :v5 ; :cites :7 }", True),
        # The store may stop early.
        ("SELECT ?a { ?a :venue :v5 } LIMIT 3", False),
        ("SELECT DISTINCT ?v { ?a :cites ?b ; :venue ?v } LIMIT 3", False),
        ("CONSTRUCT { ?a :at :v5 } { ?a :venue :v5 } LIMIT 3", False),
        ("ASK { ?a :cites ?b . ?b :cites ?c . ?c :venue ?v }", False),
        # More than one pattern.
        ("SELECT ?a ?v { { SELECT ?a { ?a :cites :5 } ORDER BY ?a LIMIT 3 } ?a :venue ?v }", True),
        ("SELECT ?a ?v { { SELECT ?a { ?a :cites :5 } ORDER BY ?a LIMIT 3 } ?a :venue ?v } LIMIT 2", False),
        ("SELECT ?a { { SELECT ?a { ?a :cites :5 } LIMIT 3 } UNION { SELECT ?a { ?a :cites :6 } LIMIT 3 } }", False),
        ("DESCRIBE ?a { ?a :venue :v5 }", False),
    ],
)
def test_a_bound_holds_for_one_pattern_that_is_read_whole(graph: Projection, text: str, is_proved: bool):
    logical = plan_of(f"PREFIX : <e:> {text}")
    assert logical is not None
    assert is_cheapest(logical, PlannerContext(graph, cost=CHEAP)) == is_proved
    # Nothing is proved where a request to the projection, or a row of an operator, costs more than one of the store.
    assert not is_cheapest(logical, PlannerContext(graph))
    assert not is_cheapest(logical, PlannerContext(graph, cost=replace(CHEAP, us_per_row_of_terms=99.0)))


def test_another_strategy_that_applies_is_priced(graph: Projection):
    logical = plan_of("PREFIX : <e:> SELECT ?a { ?a :venue :v5 }")
    assert logical is not None
    assert not strategy_of("columns").is_cheapest(OTHERS | {"toy"}, logical, PlannerContext(graph, cost=CHEAP))
