"""Prices of joins, OPTIONAL, MINUS and UNION of sub-plans: operators, header and choice agree."""

from __future__ import annotations

from collections import Counter

import pytest
from generated_fragments import PROLOGUE
from generated_queries import query
from slow_patterns import holds

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import HybridkgError
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.strategy import strategy_of
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import BindJoin
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.filter import Filter
from hybridkg.operators.join import HashJoin, Union
from hybridkg.operators.left_join import BindLeftJoin, LeftJoin
from hybridkg.operators.minus import BindMinus, Minus
from hybridkg.planner.choose import PhysicalPlan, choose
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.explain import Explanation
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse
from hybridkg.rdf.order import term_key
from hybridkg.rdf.terms import Literal, NamedNode, Triple
from hybridkg.store.oxigraph import OxigraphStore

pytestmark = pytest.mark.quick

QUERIES = 150

PAPERS = 1_000


def node(name: object) -> NamedNode:
    return NamedNode(f"e:{name}")


def triples() -> list[Triple]:
    """1,000 papers with 3 of 300 authors each, in 20 venues; 260 have an award, one of 10."""
    found = []
    for n in range(PAPERS):
        found += [Triple(node(n), node("author"), node(f"a{(n * 7 + step) % 300}")) for step in (0, 101, 203)]
        found += [Triple(node(n), node("venue"), node(f"v{n % 20}")), Triple(node(n), node("no"), Literal(n))]
        found += [Triple(node(n), node("award"), Literal(f"award {n % 10}"))] if n // 20 % 4 == 0 else []
    return found


@pytest.fixture(scope="module")
def graph() -> Projection:
    return Projection(columns_of(triples(), sorted({t.subject for t in triples()}, key=str)), lambda *_: [])


def planned(graph: Projection, text: str, strategy: str | None = None) -> PhysicalPlan:
    return choose(rewrite(from_ast(parse(f"PREFIX : <e:> {text}"))), PlannerContext(graph), strategy)


def cumulative(plan: PhysicalPlan, graph: Projection) -> float:
    """Microseconds of all lines of EXPLAIN together."""
    explanation = Explanation(plan, EstimationContext(graph=graph), CostModel())
    assert explanation.own_times.keys() == {id(operator) for operator in plan.root.walk()}
    return sum(explanation.own_times.values())


AWARDED = "SELECT ?p (SAMPLE(?w) AS ?k) { ?p :award ?w } GROUP BY ?p"
BY_AUTHOR = "SELECT ?a (COUNT(*) AS ?n) { ?p :author ?a } GROUP BY ?a"
PAIRS = 740 * 260 + 260 * 26
JOINS = {
    f"{{ {BY_AUTHOR} }} {{ SELECT ?a {{ ?q :author ?a }} }}": (BindJoin, 3_000),
    f"{{ {BY_AUTHOR} }} {{ SELECT ?a (COUNT(?q) AS ?m) {{ ?q :author ?a }} GROUP BY ?a }}": (HashJoin, 300),
    f"?p :venue ?v OPTIONAL {{ {AWARDED} }}": (LeftJoin, 1_000),
    f"?p :venue :v3 OPTIONAL {{ {AWARDED} }}": (LeftJoin, 50),
    f"?p :venue :v3 MINUS {{ {AWARDED} }}": (Minus, 37),
    f"{{ {AWARDED} }} MINUS {{ ?p :venue :v4 }}": (BindMinus, 247),
    f"{{ {AWARDED} }} OPTIONAL {{ ?p :author ?a }}": (BindLeftJoin, 780),
    f"{{ {BY_AUTHOR} }} UNION {{ {AWARDED} }}": (Union, 560),
    f"?p :venue ?v OPTIONAL {{ {AWARDED} }} OPTIONAL {{ {AWARDED.replace('?p', '?q')} }}": (
        LeftJoin,
        740 * 260 + 260 * 26,
    ),
}


@pytest.mark.parametrize("where", JOINS)
def test_the_rows_of_a_join_are_expected_within_a_third_and_its_lines_add_up_to_the_header(graph, where):
    plan = planned(graph, f"SELECT * {{ {where} }}", "columns")
    kind, rows = JOINS[where]
    known = EstimationContext(graph=graph)
    assert any(isinstance(operator, kind) for operator in plan.root.walk())
    context = ExecutionContext(
        OxigraphStore.memory(triples()), None, None, lambda *_: [], OxigraphStore.memory, price=CostModel().price,
        graph=graph,
    )  # fmt: skip
    assert context.run(plan.root).size == pytest.approx(rows, rel=0.01)
    assert not context.reasons
    assert known.rows(plan.root) == pytest.approx(rows, rel=1 / 3)
    assert plan.cost.estimate == pytest.approx(cumulative(plan, graph))


@pytest.mark.parametrize("strategy", ["columns", "oxigraph"])
def test_the_header_is_the_sum_of_the_lines(strategy):
    seen = Counter[str]()
    for seed in range(QUERIES):
        data, text = query(seed)
        try:
            parsed = parse(PROLOGUE + text)
            check(parsed)
        except HybridkgError:
            continue
        terms = {term for t in data for term in (t.subject, t.object) if not isinstance(term, Literal)}
        graph = Projection(
            columns_of(data, sorted(terms, key=term_key)), lambda expression, own: [holds(expression, v) for v in own]
        )
        logical = rewrite(from_ast(parsed))
        plan = choose(logical, PlannerContext(graph))
        if strategy not in (plan.strategy, *(other.strategy for other in plan.rejected)):
            continue
        cost = next(cost.estimate for name, cost in plan.costs() if name == strategy)
        if cost == float("inf"):
            seen["unknown"] += 1
            continue
        seen["priced"] += 1
        assert strategy_of(strategy).least_cost(logical, PlannerContext(graph)) <= cost, text
        forced = choose(logical, PlannerContext(graph), strategy)
        assert cumulative(forced, graph) == pytest.approx(cost), text
    assert seen["priced"] > QUERIES / 3, seen


def test_no_operator_of_a_plain_query_lacks_an_estimate(graph):
    def operators(where: str) -> list[PhysicalOperator]:
        plan = planned(graph, f"SELECT ?p {{ {where} }} ORDER BY ?p LIMIT 3", "columns")
        return list(plan.root.walk())

    known = EstimationContext(graph=graph)
    for where in JOINS:
        for operator in operators(f"{{ {where} }} FILTER(STRLEN(STR(?p)) > 3)"):
            assert known.rows(operator) is not None, operator.describe()
            assert operator.work(known) is not None, operator.describe()
            assert not isinstance(operator, Filter) or known.rows(operator) > 0


@pytest.mark.parametrize(
    ("where", "strategy"),
    [
        (f"?p :venue ?v OPTIONAL {{ {AWARDED} }}", "columns"),
        (f"{{ {BY_AUTHOR} }} ?p :author ?a ; :venue :v3", "columns"),
        ("?p :venue ?v OPTIONAL { ?p :award ?w } OPTIONAL { ?q :award ?w }", "oxigraph"),
        (f"?p :venue ?v OPTIONAL {{ {AWARDED} }} OPTIONAL {{ ?q :award ?k }}", "oxigraph"),
    ],
)
def test_pairs_of_unbound_variables_leave_a_limit_to_the_store(graph, where, strategy):
    plan = planned(graph, f"SELECT * {{ {where} }} LIMIT 10")
    assert plan.strategy == strategy, [(name, cost.estimate) for name, cost in plan.costs()]
