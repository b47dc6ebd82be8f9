"""A fragment is left out of the rows exactly where the candidate set has said all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.operators.bind_join import BindJoin

ROOT = Path(__file__).resolve().parents[2]
HEAD = "PREFIX : <http://example.org/films/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> SELECT "
TEXT = '{ ?film MATCH "space mars crew" AS ?s . '
TAIL = " } RANK BY ?s LIMIT 3"
SETTLED = (
    HEAD + "?film ?s " + TEXT + "?film :genre :ScienceFiction" + TAIL,
    HEAD + "?film ?s " + TEXT + "?film :genre :ScienceFiction ; a :Film" + TAIL,
    HEAD + "?film ?s " + TEXT + "?film :genre :ScienceFiction . FILTER(?film != :alien)" + TAIL,
    HEAD + "?film ?s " + TEXT + "{ SELECT DISTINCT ?film { ?film :director ?d } }" + TAIL,
    HEAD + "DISTINCT ?film ?s " + TEXT + "?film :director ?d" + TAIL,
    HEAD + "DISTINCT ?film ?s " + TEXT + "{ ?film :genre :ScienceFiction } UNION { ?film :year 1979 }" + TAIL,
)
ASKED = (
    HEAD + "?film ?s " + TEXT + "?film :director ?d" + TAIL,
    HEAD + "?film ?s " + TEXT + "?film :director []" + TAIL,
    HEAD + "?film ?s " + TEXT + "{ SELECT ?film { ?film :director ?d } }" + TAIL,
    HEAD + "?film ?s " + TEXT + "{ ?film :genre :ScienceFiction } UNION { ?film :year 1979 }" + TAIL,
    HEAD + "DISTINCT ?film ?d ?s " + TEXT + "?film :director ?d" + TAIL,
)
ONE_VARIABLE = ("filter_first", "filtered_topk", "rank_first")


@pytest.fixture(scope="module")
def films():
    with KnowledgeBase.temporary(ROOT / "examples" / "films.ttl") as kb:
        yield kb


@pytest.mark.parametrize("query", SETTLED + ASKED)
def test_a_fragment_is_joined_only_where_it_says_more_than_who_is_a_candidate(films, query):
    reference = films.query(query, strategy="reference")
    assert len(reference)
    for strategy in ONE_VARIABLE:
        plan = films.explain(query, strategy=strategy).plan
        assert any(isinstance(operator, BindJoin) for operator in plan.root.walk()) == (query in ASKED), strategy
        assert films.query(query, strategy=strategy).cells == reference.cells, strategy


@pytest.mark.parametrize("query", SETTLED)
def test_what_the_store_has_to_be_asked_is_joined(films, query):
    planning = films._snapshot.planning()
    planning.graph = None
    logical = films.explain(query).plan.logical
    for strategy in ONE_VARIABLE:
        root = STRATEGIES.get(strategy).plan(logical, planning)
        assert any(isinstance(operator, BindJoin) for operator in root.walk()), strategy
