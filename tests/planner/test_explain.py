"""EXPLAIN: estimates that never fail, the same facts as text and as JSON, nothing that varies without ANALYZE."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import rdflib

from hybridkg import KnowledgeBase
from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import UnknownNameError
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.planner.calibration.calibrated_costs import FIXED
from hybridkg.planner.choose import PhysicalPlan
from hybridkg.planner.cost_model import PRICES
from hybridkg.planner.explain import Explanation, Ran
from hybridkg.planner.strategies.rank_first import best_first_of
from hybridkg.query.parser import parse

ROOT = Path(__file__).resolve().parents[2]
PREFIXES = "PREFIX : <http://example.org/films/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
CASES = {
    path.stem: path.read_text(encoding="utf-8").split("=> logical\n")[0]
    for path in sorted((ROOT / "tests" / "cases").glob("*.hq"))
}
SPACE = (
    PREFIXES + 'SELECT ?film { ?film MATCH "space crew" AS ?s . ?film :year ?y . FILTER(?y > 1970) } RANK BY ?s LIMIT 2'
)
PAIRS = (
    PREFIXES + 'SELECT ?film ?d { ?film :director ?d . ?film MATCH "space" AS ?s . ?d MATCH "ridley" AS ?t } '
    "RANK BY ?s + ?t LIMIT 1"
)


@pytest.fixture(scope="module")
def films():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FIXED, "default")
        with KnowledgeBase.temporary(ROOT / "examples" / "films.ttl") as kb:
            yield kb


def nodes(node):
    return [node, *(below for child in node["children"] for below in nodes(child))]


def with_known(explanation: Explanation) -> list[tuple[PhysicalOperator, EstimationContext]]:
    found, waiting = [], [(explanation.plan.root, explanation.estimates)]
    while waiting:
        operator, known = waiting.pop()
        found.append((operator, known))
        waiting += [(child, operator.below(known)) for child in operator.children]
    return found


@pytest.mark.parametrize("name", CASES)
def test_estimates_never_fail_whatever_is_known_and_are_no_less_than_0(films, name):
    nothing = EstimationContext()
    for operator, known in with_known(films.explain(CASES[name])):
        for one in (known, nothing, EstimationContext(text=known.text), EstimationContext(graph=known.graph)):
            rows = operator.estimate(one)
            assert rows is None or rows >= 0
            work = operator.work(one)
            assert work is None or (work.keys() <= PRICES.keys() and min(work.values(), default=0) >= 0)
            assert isinstance(operator.details(one), str)
            assert isinstance(operator.asks(one), str)


@pytest.mark.parametrize("name", CASES)
def test_nothing_varies_between_runs_and_the_text_has_the_facts_of_the_json(films, name):
    once, again = (films.explain(CASES[name]) for _ in range(2))
    assert str(once) == str(again)
    assert once.to_json() == again.to_json()
    assert str(once) == once.text()
    assert "work:" not in str(once)
    assert not {"work", "rows", "own_us"} & set(re.findall(r"'(\w+)'", str(once.to_json())))
    for node in nodes(once.to_json()["operator"]):
        assert node["description"].split()[0] in str(once)
        for line in [*node.get("details", []), " ".join(node.get("sparql", "").split())]:
            assert once.shortened(line) in str(once)
        for one in node.get("candidates", []):
            assert f"candidates of ?{one['variable']}: " in str(once)


@pytest.mark.parametrize("name", CASES)
def test_what_ran_is_what_was_explained(films, name):
    plain, ran = films.explain(CASES[name]), films.explain(CASES[name], analyze=True)
    assert ran.plan.strategy == plain.plan.strategy
    assert ran.to_json()["operator"]["rows"] >= 1
    first, second, *_ = str(ran).splitlines()
    assert first == str(plain).splitlines()[0]
    assert second.startswith("work: ")
    again = films.explain(CASES[name], analyze=True)
    assert again.to_json()["work"] == ran.to_json()["work"]


def test_own_times_add_up_to_the_cost_of_the_strategy(films):
    for strategy in ("filter_first", "filtered_topk", "rank_first"):
        explanation = films.explain(SPACE, strategy=strategy)
        assert sum(explanation.own_times.values()) == pytest.approx(explanation.plan.cost.estimate)


def test_the_first_line_says_what_won_against_what_or_that_it_was_asked_for(films):
    first = str(films.explain(SPACE)).splitlines()[0]
    number = r"[0-9.,]+ ms"
    assert re.fullmatch(rf"strategy: \w+, est\. {number}   \(rejected: (\w+ {number}, )+reference\)", first)
    assert films.explain(SPACE).strategy(times=False).count("ms") == 0
    for strategy in ("reference", "bind_join", "filter_first", "filtered_topk", "rank_first"):
        if strategy in STRATEGIES.names():
            asked = str(films.explain(SPACE, strategy=strategy)).splitlines()[0]
            assert asked.startswith(f"strategy: {strategy}")
            assert asked.endswith("   (forced)")


def test_candidate_sets_have_their_real_size_once_they_ran(films):
    for strategy in ("filter_first", "filtered_topk"):
        text = str(films.explain(SPACE, strategy=strategy, analyze=True))
        assert "candidates of ?film: est. 10, found 10, in { ?film :year ?y FILTER(?y > 1970) }" in text
    assert "read: 3 of the candidates match" in str(films.explain(SPACE, strategy="filter_first", analyze=True))


def test_lists_say_how_deep_they_were_read(films):
    run = films.explain(SPACE, strategy="rank_first", analyze=True)
    assert "read: 1 look, the best 4 of the list; 4 entities tried, 3 passed" in str(run)
    facts = [node for node in nodes(run.to_json()["operator"]) if "run" in node]
    assert [sorted(node["run"]) for node in facts] == [["looks", "passed_entities", "read_entities", "seen_entities"]]
    pairs = films.explain(PAIRS, strategy="rank_join", analyze=True)
    assert "read: 1 look, the best 4 of each list" in str(pairs)


@pytest.fixture(scope="module")
def many():
    graph = rdflib.Graph()
    for i in range(300):
        graph.add((rdflib.URIRef(f"http://e/{i}"), rdflib.RDFS.label, rdflib.Literal("word " * (1 + i % 7))))
    graph.add((rdflib.URIRef("http://e/0"), rdflib.URIRef("http://e/p"), rdflib.URIRef("http://e/1")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FIXED, "default")
        with KnowledgeBase.temporary(graph) as kb:
            yield kb


def test_a_strategy_that_gave_up_says_for_which(many):
    logical = rewrite(from_ast(parse('SELECT ?x { ?x MATCH "word" AS ?s . ?x <http://e/p> ?y } RANK BY ?s LIMIT 1')))
    planning = many._snapshot.planning()
    ranking = planning.ranking(logical)
    assert ranking is not None
    operator = replace(best_first_of(ranking, planning), budgets=(0.0, -1.0))
    context = many._snapshot.context()
    assert len(context.run_plan(operator).rows) == 1
    plan = PhysicalPlan(operator, "rank_first", lambda: logical)
    explanation = Explanation(plan, EstimationContext(many._snapshot.text, many._snapshot.graph), ran=Ran.of(context))
    assert "candidates of ?x: est. 1, found 1, in { ?x <http://e/p> ?y }" in str(explanation)
    assert "tried, 0 passed; then filtered_topk" in str(explanation)
    assert explanation.to_json()["operator"]["run"]["switched_to"] == "filtered_topk"


def test_where_the_store_is_asked_its_text_is_shown(films):
    query = PREFIXES + 'SELECT ?film { ?film MATCH "space" AS ?s . ?film !:p :Kubrick } RANK BY ?s LIMIT 1'
    for strategy in ("bind_join", "filter_first", "rank_first", "filtered_topk", "reference"):
        text = str(films.explain(query, strategy=strategy))
        assert "WHERE { ?film !:p :Kubrick . }" in text
        assert ("Oxigraph: a negated property set" in text) == (strategy != "reference")


def test_text_fits_a_narrow_terminal_and_numbers_stay_in_their_columns(films):
    for width in (60, 80, 100, 200):
        for analyze in (False, True):
            lines = films.explain(SPACE, strategy="filter_first", analyze=analyze).operators(width).splitlines()
            if analyze and width == 60:  # no room for four columns
                assert lines[0] == "operator, est.rows, est.ms, rows, ms"
                assert max(map(len, lines)) <= width
                continue
            numbers = [line for line in lines if re.search(r"  +(-|<?[0-9,]+)  +(-|[0-9,.]+)$", line)]
            assert {len(line) for line in numbers} == {len(lines[0])}
            assert max(map(len, lines)) <= max(width, len(lines[0]))


def test_numbers_in_patterns_are_short(films):
    assert "FILTER(?y > 1970)" in str(films.explain(SPACE, strategy="bind_join"))


class Counted:
    """An index; the calls of its methods are counted by their names."""

    def __init__(self, index):
        self.index, self.calls = index, Counter()

    def __getattr__(self, name):
        value = getattr(self.index, name)
        if not callable(value):
            return value
        return lambda *args, **kwargs: self.calls.update([name]) or value(*args, **kwargs)


def test_estimates_look_up_each_match_and_each_pattern_once(films):
    explanation = films.explain(SPACE, strategy="filter_first")
    text, graph = Counted(explanation.estimates.text), Counted(explanation.estimates.graph)
    operators = with_known(explanation)
    for n in (1, 2):
        known = EstimationContext(text, graph)
        for _ in range(3):
            for operator, _ in operators:
                known.rows(operator)
        assert text.calls == {"match_count_bound": n}  # no list is read, nothing is scored
        assert graph.calls == {"compile": n}


def test_a_field_that_does_not_exist_is_shown_where_it_stands(films):
    text = 'SELECT ?film { ?film MATCH "space" ON (lable) AS ?s } RANK BY ?s'
    with pytest.raises(UnknownNameError, match="no field 'lable'") as caught:
        films.explain(text)
    assert text[caught.value.span.start : caught.value.span.end] == "lable"


def test_a_plan_of_fifty_columns_has_no_longer_line_and_says_the_same(films):
    explanation = films.explain(SPACE, analyze=True)
    narrow, wide = explanation.text(50, times=False), explanation.text(times=False)
    assert max(map(len, narrow.splitlines())) <= 50
    words = set(re.findall(r"[?\w]{2,}", wide)) - {"operator"}
    assert words <= set(re.findall(r"[?\w]{2,}", narrow))
