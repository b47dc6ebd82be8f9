"""EXISTS about what matches, or beside it: as joins and MINUS where that is the same, else as a test of each row."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import Filter, Fragment, Join, LeftJoin, Match, Plan, walk
from hybridkg.algebra.rules import RULES
from hybridkg.algebra.rules.join_exists import join_exists
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.query import ast
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse
from hybridkg.results.build import projected

pytestmark = pytest.mark.quick

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
PREFIX = "PREFIX : <http://example.org/films/> "
OUTSIDE = (
    '?f MATCH "science fiction" AS ?s .',
    '?f :director ?d . ?f MATCH "science fiction" AS ?s .',
    '?f MATCH "film" AS ?s . OPTIONAL { ?f :year ?y . FILTER(?y > 1975) }',
    '{ ?f MATCH "crew" AS ?s . } UNION { ?f :director ?d . ?f MATCH "film" AS ?s . }',
    '{ SELECT ?f ?s { ?f MATCH "film" AS ?s } ORDER BY DESC(?s) LIMIT 4 }',
)

JOINED = (
    '?f MATCH "crew"',
    '?f MATCH "crew artificial" AS ?t',
    '?f MATCH "crew artificial" TOP 2',
    '?f MATCH "crew artificial" AS ?t . ?f :director ?other',
    '?f MATCH "crew" . ?f MATCH "film" . ?f :director ?other . ?more :director ?other',
    "?f :director ?other",
)
"""Positive, each becomes a join; negated, those of one part become MINUS."""
STAYING = (
    '?f MATCH "crew" AS ?s',
    '?f MATCH "film" AS ?t . FILTER(?t > 0.3)',
    '?g MATCH "crew" . ?g :director ?e . ?f :director ?e',
    '?f MATCH "crew" SNIPPET ?n',
)


def plan_of(text: str) -> Plan:
    query = parse(text)
    check(query)
    return from_ast(query)


def applied(rules, plan: Plan) -> Plan:
    for rule in rules:
        plan = rule(plan)
    return plan


@pytest.fixture(scope="module")
def films():
    with KnowledgeBase.temporary(FILMS) as kb:
        yield kb


def rows(kb: KnowledgeBase, plan: Plan) -> list[tuple[str, ...]]:
    """The rows of the reference strategy over a plan."""
    snapshot = kb._snapshot
    root = STRATEGIES.get("reference").plan(plan, snapshot.planning())
    found = snapshot.context().run(root)
    at = [found.variables.index(name) for name in projected(plan)]
    return [tuple(str(row[i]) for i in at) for row in found.rows]


@pytest.mark.parametrize(
    "head", ["SELECT *", "SELECT (COUNT(DISTINCT *) AS ?n) (SUM(?s) AS ?sum)", "SELECT DISTINCT ?d"]
)
@pytest.mark.parametrize("word", ["EXISTS", "NOT EXISTS"])
def test_a_query_has_the_same_rows_with_the_rule_and_without(films, head, word):
    some = 0
    for outside in OUTSIDE:
        for inside in JOINED + STAYING:
            plan = plan_of(f"{PREFIX}{head} {{ {outside} FILTER {word} {{ {inside} }} }} ORDER BY ?f ?s ?d ?y")
            with_it = applied(RULES, plan)
            without = applied([rule for rule in RULES if rule is not join_exists], plan)
            found = rows(films, with_it)
            assert found == rows(films, without), (outside, inside)
            some += bool(found)
    assert some


@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("inside", JOINED)
def test_an_exists_of_a_bound_entity_is_a_join(outside, inside):
    plan = applied(RULES, plan_of(f"{PREFIX}SELECT * {{ {outside} FILTER EXISTS {{ {inside} }} }}"))
    assert not row_tests(plan)
    plan = applied(RULES, plan_of(f"{PREFIX}SELECT * {{ {outside} FILTER NOT EXISTS {{ {inside} }} }}"))
    has_one_part = " . " not in inside
    assert bool(row_tests(plan)) != has_one_part


@pytest.mark.parametrize("word", ["EXISTS", "NOT EXISTS"])
@pytest.mark.parametrize("inside", STAYING)
def test_an_exists_that_depends_on_more_than_the_entity_stays(word, inside):
    plan = applied(RULES, plan_of(f"{PREFIX}SELECT * {{ {OUTSIDE[0]} FILTER {word} {{ {inside} }} }}"))
    assert len(row_tests(plan)) == 1


@pytest.mark.parametrize("word", ["EXISTS", "NOT EXISTS"])
def test_an_exists_of_an_optional_is_a_join_of_its_right_side(films, word):
    left = '?f :director ?d . ?d MATCH "director" AS ?s .'
    for inside, is_joined in (
        ('?f MATCH "crew"', True),
        ('?f MATCH "crew" . ?f :director ?d', False),
        ('?d MATCH "man"', False),
    ):
        optional = f'OPTIONAL {{ ?f MATCH "science fiction" AS ?y . FILTER {word} {{ {inside} }} }}'
        plan = plan_of(f"{PREFIX}SELECT * {{ {left} {optional} }} ORDER BY ?f ?d ?y")
        without = applied([rule for rule in RULES if rule is not join_exists], plan)
        with_it = applied(RULES, plan)
        conditions = [part.conditions for part in walk(with_it) if isinstance(part, LeftJoin)]
        assert not row_tests(with_it)
        assert (conditions == [()]) == is_joined, inside
        assert rows(films, with_it) == rows(films, without)


def test_an_entity_that_a_row_may_lack_stays():
    optional = '?d :director ?x . ?d MATCH "film" AS ?s . OPTIONAL { ?f :director ?d }'
    plan = join_exists(plan_of(f'{PREFIX}SELECT * {{ {optional} FILTER EXISTS {{ ?f MATCH "crew" }} }}'))
    assert len(row_tests(plan)) == 1


def test_a_plan_without_exists_is_the_same_object():
    plan = plan_of(f"{PREFIX}SELECT * {{ {OUTSIDE[1]} FILTER(?s > 0.1) }}")
    assert join_exists(plan) is plan


def row_tests(plan: Plan) -> list[ast.Expression]:
    """The conditions that are still tested row by row."""
    return [
        part.condition for part in walk(plan) if isinstance(part, Filter) and isinstance(part.condition, ast.Exists)
    ]


TESTS = (
    'FILTER NOT EXISTS { ?f :director ?other . ?f MATCH "artificial" } FILTER EXISTS { ?f MATCH "film" }',
    'OPTIONAL { ?g :director ?d } FILTER NOT EXISTS { ?f :year 1 . ?f MATCH "crew" } FILTER EXISTS { ?f MATCH "film" }',
    'MINUS { ?f :year ?y . ?f MATCH "crew" } BIND(1 AS ?n) FILTER EXISTS { ?f MATCH "film" }',
)


@pytest.mark.parametrize("tests", TESTS)
def test_a_match_restricts_the_rows_before_they_are_tested(films, tests):
    text = f"{PREFIX}SELECT ?f ?d {{ ?f :director ?d . {tests} }}"
    plan = applied(RULES, plan_of(text))
    joined = [part for part in walk(plan) if isinstance(part, Join) and isinstance(part.right, Match)]
    assert [type(join.left) for join in joined if join.right.match.text.lexical == "film"] == [Fragment]
    rows = {name: sorted(films.query(text, strategy=name).rows()) for name in ("reference", "bind_join")}
    assert rows["bind_join"] == rows["reference"] != []
