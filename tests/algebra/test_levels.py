"""A plan is as deep as those who read it can go; what is beyond is told so."""

from __future__ import annotations

import pytest
from sampling import examples, sampled

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.levels import MAX_LEVELS, levels
from hybridkg.algebra.nodes import children
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import QueryLimitError
from hybridkg.planner.choose import choose
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query.parser import parse

PARTS = {
    "VALUES": "VALUES ?c { 1 2 } ",
    "FILTER": "FILTER(?c != %d) ",
    "UNION": "{ ?e :p %d } UNION { ?e :p 1 } ",
    "OPTIONAL": "OPTIONAL { ?e :p%d ?o%d } ",
    "MINUS": "MINUS { ?e :p %d } ",
    "BIND": "BIND(?s + %d AS ?b%d) ",
    "MATCH": '?e MATCH "red" AS ?s%d . ',
    "MATCH of a group": '{ ?e MATCH "red" AS ?s%d } ',
    "MATCH of what is bound": "?e MATCH ?c AS ?s%d . ",
    "OPTIONAL with filters": "OPTIONAL { ?e :p ?c FILTER(?c > 1) FILTER(?c > 2) } ",
}


def query(part: str, n: int, around: str = "%s") -> str:
    parts = "".join(part.replace("%d", str(i)) for i in range(n))
    inner = f'?e :p ?c . ?e MATCH "red" AS ?s . {parts}'
    return f"PREFIX : <http://e/> SELECT * {{ {around.replace('%s', inner)} }} RANK BY ?s LIMIT 3"


@pytest.mark.parametrize("part", sampled(PARTS, *list(PARTS)[::3]))
def test_as_many_parts_as_there_may_be_levels_are_planned(part):
    plan = from_ast(parse(query(PARTS[part], MAX_LEVELS - 3)))
    assert MAX_LEVELS - 3 <= levels(plan) <= MAX_LEVELS + 5
    choose(rewrite(plan), PlannerContext())


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize(
    "n", [MAX_LEVELS + 1, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (1_000, 5_000))]
)
def test_more_of_them_are_refused_with_what_to_do(part, n):
    with pytest.raises(QueryLimitError, match=f"more than {MAX_LEVELS} patterns, tables and filters") as caught:
        from_ast(parse(query(part, n)))
    assert "group of their own" in caught.value.hint
    assert caught.value.span is not None


@pytest.mark.parametrize("around", ["{ %s } " + PARTS["VALUES"] * 200, "OPTIONAL { %s } " + PARTS["FILTER"] * 200])
def test_groups_within_groups_count_together(around):
    around = around.replace("%d", "7")
    from_ast(parse(query(PARTS["VALUES"], 50, around)))
    with pytest.raises(QueryLimitError, match="stand next to"):
        from_ast(parse(query(PARTS["VALUES"], 200, around)))


@pytest.mark.parametrize("name", ["VALUES", "FILTER", "UNION", "OPTIONAL", "MINUS"])
def test_the_hint_helps(name):
    """Without MATCH in it a group is one part, however much it holds."""
    parts = "".join(PARTS[name].replace("%d", str(i)) for i in range(examples(2 * MAX_LEVELS, 1_000)))
    text = f'PREFIX : <http://e/> SELECT ?e {{ ?e MATCH "red" AS ?s {{ ?e :p ?c . {parts} }} }} RANK BY ?s LIMIT 3'
    plan = from_ast(parse(text))
    assert levels(plan) < 10
    assert children(plan)
    choose(rewrite(plan), PlannerContext())


def test_triples_between_matches_are_one_part():
    triples = "".join(f"?e :p{i} ?c{i} . " for i in range(1_000))
    choose(rewrite(from_ast(parse(query(triples, 1)))), PlannerContext())
