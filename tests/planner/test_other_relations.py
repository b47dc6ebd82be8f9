"""Rankings joined with sub-selects and UNIONs: how many rows are left of them, and what finding them costs."""

from __future__ import annotations

import pytest

from hybridkg import KnowledgeBase
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.planner.other_relations import other_relations
from hybridkg.planner.ranking_costs import costs_of

PAPERS = 400
PREFIX = "PREFIX : <http://e/> "
RANKED = '?p MATCH "common" AS ?s . ?p :year ?y .'
FEW = '{ SELECT ?p ?q { ?p :cites ?q . ?q MATCH "rare" AS ?t . } ORDER BY ?t LIMIT 5 }'
ALL = '{ ?p :year ?z } UNION { ?p :cites :p0 . ?p MATCH "common" AS ?u }'


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    path = tmp_path_factory.mktemp("papers") / "papers.ttl"
    lines = ["@prefix : <http://e/> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    for n in range(PAPERS):
        words = "common rare" if n % 100 == 0 else "common"
        lines.append(f':p{n} :year {1950 + n % 70} ; rdfs:label "{words} {n}" ; :cites :p{n * 7 % PAPERS} .')
    path.write_text("\n".join(lines))
    with KnowledgeBase.temporary(path) as kb:
        yield kb


def ranking_of(kb, text):
    plan = kb.explain(PREFIX + text).plan.logical
    planning = kb._snapshot.planning()
    return plan, planning, planning.ranking(plan)


def test_a_ranking_without_other_relations_has_no_figures(kb):
    _, planning, ranking = ranking_of(kb, f"SELECT * {{ {RANKED} FILTER(?s > 0.1) }} RANK BY ?s LIMIT 10")
    assert other_relations(ranking, planning) is None
    costs = costs_of(ranking, planning)
    assert (costs.kept, costs.others_us, costs.wanted) == (1.0, 0.0, 10.0)


@pytest.mark.parametrize("others", [FEW, ALL])
def test_the_rows_expected_are_those_of_the_operators_that_read_everything(kb, others):
    text = f"SELECT * {{ {RANKED} {others} }} RANK BY ?s LIMIT 10"
    plan, planning, ranking = ranking_of(kb, text)
    found = other_relations(ranking, planning)
    (root,) = STRATEGIES.get("bind_join").plan(plan, planning).children  # below LIMIT
    assert found.rows == pytest.approx(planning.estimates.rows(root))
    assert found.us > 0


def test_a_join_that_leaves_fewer_rows_than_wanted_is_not_read_prefix_by_prefix(kb):
    text = f"SELECT * {{ {RANKED} {FEW} }} RANK BY ?s LIMIT 10"
    _, planning, ranking = ranking_of(kb, text)
    assert costs_of(ranking, planning).wanted > PAPERS
    assert kb.query(PREFIX + text).strategy == "bind_join"
    _, planning, ranking = ranking_of(kb, f"SELECT * {{ {RANKED} {ALL} }} RANK BY ?s LIMIT 10")
    assert costs_of(ranking, planning).wanted < 2 * 10


def test_the_rows_are_those_of_the_reference(kb):
    for others in (FEW, ALL):
        text = f"{PREFIX}SELECT * {{ {RANKED} {others} }} RANK BY ?s LIMIT 10"
        assert [*kb.query(text).rows()] == [*kb.query(text, strategy="reference").rows()]


def test_a_fragment_that_operators_over_columns_evaluate_has_their_price_not_that_of_the_store(kb):
    counted = "{ SELECT ?p (COUNT(?q) AS ?n) { ?q :cites ?p } GROUP BY ?p }"
    _, planning, ranking = ranking_of(kb, f"SELECT * {{ {RANKED} {counted} }} RANK BY ?s LIMIT 10")
    costs = costs_of(ranking, planning)
    assert not costs.in_store
    ((pattern, values, _),) = costs.graphs["p"].patterns
    assert values == pytest.approx(PAPERS, rel=0.5)
    assert pattern.work("p") * planning.cost.us_per_adjacency_entry < PAPERS * planning.cost.us_per_store_row
