"""What a plan asks a text index that is far away, it asks together."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from far_index import GRAPH, NODES, E, asked, built, rows

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import UnknownNameError
from hybridkg.operators import context as context_module
from hybridkg.operators import predicate_pushdown, score_rows
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.planner.choose import choose
from hybridkg.planner.explain import Explanation
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query.parser import parse
from hybridkg.vector.index.text_and_vectors import Ranked

LEGS = '{ ?a MATCH "red" AS ?s } UNION { ?a MATCH "blue" AS ?s } UNION { ?a MATCH "red" AS ?t }'


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory):
    return built(tmp_path_factory.mktemp("kb"))


def test_the_legs_of_a_plan_are_asked_together_and_each_once(text):
    index, nodes = text
    calls = asked(index.start(0), nodes, LEGS, "reference")
    assert [kind for kind, _ in calls] == ["batch"]
    assert [question.query.text for question in calls[0][1]] == ["red", "blue"]
    assert [kind for kind, _ in asked(index.start(None), nodes, LEGS, "reference")] == ["score_all"] * 3


def test_small_legs_that_join_a_fragment_are_asked_together(text):
    index, nodes = text
    pattern = '{ ?a :q ?b . ?a MATCH "red" AS ?s } UNION { ?a :p ?b . ?a MATCH "blue" AS ?s }'
    calls = asked(index.start(5), nodes, pattern)
    assert [kind for kind, _ in calls] == ["prefetch_counts", "batch"]
    assert [question.query.text for question in calls[1][1]] == ["red", "blue"]
    calls = asked(index.start(0), nodes, pattern)
    assert next(kind for kind, _ in calls) == "prefetch_counts"
    assert "batch" not in [kind for kind, _ in calls]


def test_the_sizes_that_planning_wants_are_asked_for_together(text):
    index, _ = text
    query = 'SELECT * { ?a MATCH "red" AS ?s . ?a MATCH "blue" AS ?t } RANK BY ?s + ?t LIMIT 2'
    choose(rewrite(from_ast(parse(query))), PlannerContext(None, Ranked(index.start(0))))
    assert index.kinds() == ["prefetch_counts"]


def test_one_leg_is_asked_alone(text):
    index, nodes = text
    assert [kind for kind, _ in asked(index.start(0), nodes, '?a MATCH "red" AS ?s', "reference")] == ["score_all"]
    top = '?a MATCH "red" TOP 2 AS ?s'
    assert [kind for kind, _ in asked(index.start(0), nodes, top, "reference")] == ["topk"]


def test_a_leg_about_each_graph_is_asked_once(text):
    index, nodes = text
    graph = [*GRAPH, *(ox.Quad(NODES[1], ox.NamedNode(E + "p"), NODES[1], ox.NamedNode(f"{E}g{i}")) for i in range(5))]
    pattern = '?a MATCH "boat" AS ?t . GRAPH ?g { ?b MATCH "red" AS ?s OPTIONAL { ?a :p ?b } }'
    assert [kind for kind, _ in asked(index.start(0), nodes, pattern, "reference", graph=graph)] == ["batch"]


def test_texts_of_a_variable_are_asked_in_batches(text, monkeypatch):
    index, nodes = text
    values = " ".join(f'"red w{i}"' for i in range(130))
    calls = asked(index.start(0), nodes, f"VALUES ?l {{ {values} }} ?a MATCH ?l AS ?s", "reference")
    assert [(kind, len(question)) for kind, question in calls] == [("batch", 64), ("batch", 64), ("batch", 2)]
    monkeypatch.setattr(context_module, "MAX_ANSWERED", 6 * len(NODES))
    calls = asked(index.start(0), nodes, 'VALUES ?l { "red" "blue" "boat" } ?a MATCH ?l AS ?s', "reference")
    assert [len(question) for _, question in calls] == [3]
    monkeypatch.setattr(context_module, "MAX_ANSWERED", 0)
    calls = asked(index.start(0), nodes, 'VALUES ?l { "red" "blue" "boat" } ?a MATCH ?l AS ?s', "reference")
    assert [kind for kind, _ in calls] == ["score_all"] * 3


def test_a_leg_that_is_wrong_is_an_error_at_its_place_and_the_others_are_not_blamed(text):
    index, nodes = text
    query = 'SELECT * { { ?a MATCH "red" } UNION { ?a MATCH "blue" } UNION { ?a MATCH "red" ON (nosuch) } }'
    with pytest.raises(UnknownNameError, match="no field 'nosuch'") as caught:
        rows(query, GRAPH, index.start(0), nodes, "reference")
    assert caught.value.span is not None
    assert query[caught.value.span.start :].startswith("nosuch")


@pytest.mark.parametrize("strategy", ["reference", "bind_join"])
def test_explain_says_the_same_wherever_the_index_is(text, strategy):
    index, _ = text
    query = parse('SELECT * { ?a MATCH "red" TOP 3 AS ?s . ?b <http://e/p> ?a . ?b MATCH "blue" }')
    plan = choose(rewrite(from_ast(query)), PlannerContext(), strategy)
    near, far = (str(Explanation(plan, EstimationContext(index.start(limit)))) for limit in (None, 0))
    assert near == far


def test_explain_shows_the_conditions_that_go_along(text):
    index, nodes = text
    query = parse(f'PREFIX : <{E}> SELECT * {{ ?a :q :b ; :year ?y . ?a MATCH "red" FILTER(?y >= 2018 && ?y < 2022) }}')
    plan = choose(rewrite(from_ast(query)), PlannerContext(), "bind_join")
    shown = str(Explanation(plan, EstimationContext(index.start(9, ("q", "year"), GRAPH, nodes)), prefixes=(("", E),)))
    assert "where :q = :b and 2018 <= :year <= 2022" in shown


@pytest.mark.parametrize("strategy", ["bind_join", "rank_first"])
def test_what_the_graph_says_is_not_found_out_for_an_index_at_hand(text, strategy, monkeypatch):
    index, _ = text
    monkeypatch.setattr(predicate_pushdown, "conditions", lambda *_: pytest.fail("read the fragment"))
    query = parse(f'PREFIX : <{E}> SELECT * {{ ?a :q :b . ?a MATCH "red" AS ?s }} RANK BY ?s LIMIT 1')
    plan = choose(rewrite(from_ast(query)), PlannerContext(None, Ranked(index.start(None))), strategy)
    assert "where" not in str(Explanation(plan, EstimationContext(Ranked(index))))


def test_few_matches_of_another_text_come_along_with_the_first(text, monkeypatch):
    index, nodes = text
    pattern = '?a :p ?b . ?a MATCH "boat" AS ?s . ?a MATCH "red" AS ?t'
    calls = asked(index.start(9), nodes, pattern)
    assert [kind for kind, _ in calls] == ["prefetch_counts", "batch"]
    assert sorted(question.query.text for question in calls[1][1]) == ["boat", "red"]
    monkeypatch.setattr(score_rows, "FEW_MATCHES", 2)
    assert "batch" not in [kind for kind, _ in asked(index.start(9), nodes, pattern)]
