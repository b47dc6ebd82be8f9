"""Rules of queries without ranked predicates."""

from __future__ import annotations

import pytest

from hybridkg import KnowledgeBase
from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import Extend, Join, OrderBy, Plan, Project, SparqlQuery, children
from hybridkg.algebra.render import render
from hybridkg.algebra.rules import rewrite
from hybridkg.algebra.rules.delay_binds import delay_binds
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


SUB_SELECT = "{ SELECT DISTINCT ?s { ?s :t ?t } }"


@pytest.mark.parametrize(
    ("group", "is_delayed"),
    [
        (f"?s :v ?v BIND(?v + 1 AS ?w) {SUB_SELECT}", True),
        (f"{SUB_SELECT} {{ ?s :v ?v BIND(?v + 1 AS ?w) }}", True),
        ("?s :v ?v BIND(?v + 1 AS ?w) OPTIONAL { ?s :t ?t FILTER(?t > ?v) }", True),
        ("?s :v ?v BIND(?v + 1 AS ?w) MINUS { ?s :t ?t FILTER(STRLEN(?t) > 3) }", True),
        (f"?s :v ?v BIND(?v + 1 AS ?w) BIND(?v + 2 AS ?x) {SUB_SELECT}", True),
        ("?s :v ?v BIND(?v + 1 AS ?w) FILTER(?v > 1)", True),
        ("?s :v ?v BIND(?v + 1 AS ?w) FILTER NOT EXISTS { ?s :t ?t }", True),
        ("?s :v ?v BIND(?v + 1 AS ?w) FILTER(?w > 1)", False),
        # What is behind it binds a variable of the expression, or its own.
        ("?s :t ?t OPTIONAL { ?s :v ?v } BIND(?v + 1 AS ?w) { SELECT ?v { ?o :v ?v } }", False),
        ("?s :v ?v BIND(?v + 1 AS ?w) { SELECT DISTINCT ?w { ?o :v ?w } }", False),
        ("?s :v ?v BIND(?v + 1 AS ?w) OPTIONAL { ?s :t ?t FILTER(?t > ?w) }", False),
        # More would be bound where EXISTS is evaluated.
        (f"?s :v ?v BIND(EXISTS {{ ?s :t ?v }} AS ?w) {SUB_SELECT}", False),
    ],
)
def test_a_bind_is_evaluated_after_the_joins_that_do_not_depend_on_it(group, is_delayed):
    query = from_ast(parse(f"PREFIX : <e:> SELECT * {{ {group} }}"))
    assert isinstance(query, SparqlQuery)
    assert query.relational is not None
    before, after = query.relational, delay_binds(query.relational)
    assert isinstance(before, Project)
    assert isinstance(after, Project)
    assert not isinstance(before.child, Extend)
    assert isinstance(after.child, Extend) == is_delayed
    if is_delayed:
        assert not any(
            isinstance(below, Extend) for part in children(_below_extends(after.child)) for below in nodes(part)
        )
    else:
        assert after == before


@pytest.mark.parametrize(
    ("text", "is_delayed"),
    [
        ("SELECT * { ?s :v ?v BIND(?v + 1 AS ?w) } ORDER BY ?v LIMIT 3", True),
        ("SELECT (STR(?v) AS ?w) { ?s :v ?v } ORDER BY ?s LIMIT 3", True),
        ("SELECT * { ?s :v ?v BIND(?v + 1 AS ?w) } ORDER BY ?v ?w LIMIT 3", False),
        ("SELECT * { ?s :v ?v . ?s MATCH 'x' BIND(RAND() AS ?w) } ORDER BY ?v", False),
        ("SELECT ?s ?v ?w { ?s :v ?v . ?s MATCH 'x' BIND(?v + 1 AS ?w) } ORDER BY ?s", True),
        # The variable breaks ties before what it is computed from; or the order is that of a ranked relation.
        ("SELECT ?s ?w ?v { ?s :v ?v . ?s MATCH 'x' BIND(?v + 1 AS ?w) } ORDER BY ?s", False),
        ("SELECT ?s ?v ?w { ?s :v ?v . ?s MATCH 'x' AS ?m BIND(?v + 1 AS ?w) } ORDER BY DESC(?m)", False),
    ],
)
def test_a_bind_is_evaluated_after_an_order_that_is_the_same_without_it(text, is_delayed):
    query = from_ast(parse(f"PREFIX : <e:> {text}"))
    plan = query.relational if isinstance(query, SparqlQuery) else query
    assert plan is not None
    (order,) = [node for node in nodes(delay_binds(plan)) if isinstance(node, OrderBy)]
    assert any(isinstance(below, Extend) for below in nodes(order)) != is_delayed


@pytest.mark.parametrize(("expression", "is_delayed"), [("?m * 2", True), ("?m * RAND()", False)])
def test_a_bind_over_a_score_is_delayed_unless_each_call_has_another_value(expression, is_delayed):
    plan = from_ast(parse(f"SELECT * {{ ?s MATCH 'x' AS ?m BIND({expression} AS ?w) ?s <e:t> ?t }} RANK BY ?m"))
    joins = [node for node in nodes(delay_binds(plan)) if isinstance(node, Join)]
    assert len(joins) == 1
    assert any(isinstance(side, Extend) for side in children(joins[0])) != is_delayed


def _below_extends(plan: Plan) -> Plan:
    return _below_extends(plan.child) if isinstance(plan, Extend) else plan


def nodes(plan: Plan) -> list[Plan]:
    return [plan, *(below for child in children(plan) for below in nodes(child))]


ROWS = """PREFIX : <http://e/> INSERT DATA {
  :a :v 1 ; :t "one", "uno" . :b :v 2, 3 ; :t "two" . :c :v 4 . :d :t "five" . :e :v "x" ; :t "ex"
}"""


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with KnowledgeBase.create(tmp_path_factory.mktemp("binds") / "kb") as made:
        made.update(ROWS)
        made.index()
        yield made


@pytest.mark.parametrize(
    "group",
    [
        "?s :v ?v BIND(?v + 1 AS ?w) { SELECT ?s { ?s :t ?t } }",
        "?s :v ?v BIND(?v + 1 AS ?w) OPTIONAL { ?s :t ?t FILTER(STRLEN(?t) > 2) }",
        "?s :v ?v BIND(?v + 1 AS ?w) MINUS { { SELECT DISTINCT ?s { ?s :t 'uno' } } }",
        "?s :t ?t OPTIONAL { ?s :v ?v } BIND(?v + 1 AS ?w) { SELECT ?v { ?o :v ?v } }",
        "?s :t ?t OPTIONAL { ?s :v ?v } BIND(?v + 1 AS ?w) FILTER(?t != 'two')",
    ],
)
def test_delayed_binds_have_the_rows_of_oxigraph(kb, group):
    text = f"PREFIX : <http://e/> SELECT * {{ {group} }}"
    rows = [sorted(map(str, kb.query(text, strategy=name).rows())) for name in ("columns", "oxigraph")]
    assert rows[0] == rows[1]
    assert rows[0]
