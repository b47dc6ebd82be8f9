"""An answer with fewer rows than were asked for says why, and the reason is true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.results.shortfall import _count

ROOT = Path(__file__).resolve().parents[2]
FILMS = ROOT / "examples" / "films.ttl"
PREFIX = "PREFIX f: <http://example.org/films/> "


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory, copy_films) -> KnowledgeBase:
    return KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("kb") / "films.kb"))


WHY = {
    "?f MATCH 'space' AS ?s": "only 4 entities match the text of ?f",
    "?f MATCH 'samurai' AS ?s": "only 1 entity matches the text of ?f",
    "?f MATCH 'zebra' AS ?s": "no entity matches the text of ?f",
    "?f MATCH 'space' TOP 2 AS ?s": "TOP 2 of ?f was reached",
    "?f MATCH 'space' TOP 4 AS ?s": "TOP 4 of ?f was reached",
    "?f MATCH 'space' TOP 5 AS ?s": "only 4 entities match the text of ?f",
}


@pytest.mark.parametrize("pattern", WHY)
def test_a_ranking_that_is_short_says_how_many_entities_match(films, pattern):
    result = films.query(f"SELECT ?f {{ {pattern} }} RANK BY ?s LIMIT 10")
    assert result.shortfall == WHY[pattern]
    assert (result.requested, result.exact) == (10, True)
    assert result.returned < 10


def test_what_the_rest_of_the_pattern_takes_away_is_told_apart(films):
    result = films.query(
        PREFIX + "SELECT ?f { ?f MATCH 'space' AS ?s . ?f f:director f:Scott } RANK BY ?s LIMIT 10",
        strategy="bind_join",
    )
    assert result.shortfall == "only 4 entities match the text of ?f, and 1 of them satisfies the rest of the pattern"


@pytest.mark.parametrize(
    "part",
    [
        "OPTIONAL { ?f MATCH 'zebra' AS ?s }",
        "OPTIONAL { ?f MATCH 'space' AS ?s }",
        "MINUS { ?f MATCH 'zebra' }",
        "FILTER NOT EXISTS { ?f f:director ?d . ?d MATCH 'zebra' }",
        "{ SELECT (COUNT(?x) AS ?n) { ?x MATCH 'zebra' } }",
    ],
)
def test_a_match_that_takes_no_row_away_is_no_reason(films, part):
    result = films.query(f"{PREFIX}SELECT ?f {{ ?f a f:Film {part} }} LIMIT 1000")
    assert result.returned > 9
    assert result.shortfall == "no more rows satisfy the query"
    ranked = films.query(f"{PREFIX}SELECT ?f {{ ?f MATCH 'samurai' AS ?r {part} }} RANK BY ?r LIMIT 9")
    assert ranked.shortfall == "only 1 entity matches the text of ?f"


@pytest.mark.parametrize(
    "part",
    [
        "{ SELECT ?f (COUNT(?x) AS ?n) { ?f MATCH 'zebra' . ?f ?x ?y } GROUP BY ?f }",
        "{ { SELECT (COUNT(*) AS ?n) { ?x a f:Film } } ?f MATCH 'zebra' }",
    ],
)
def test_a_match_that_every_row_needs_is_a_reason_in_a_sub_select_as_well(films, part):
    assert films.query(f"{PREFIX}SELECT ?f {{ {part} }} LIMIT 9").shortfall == "no entity matches the text of ?f"


def test_rows_that_a_condition_on_groups_takes_away_are_told(films):
    result = films.query(
        PREFIX + "SELECT ?d (SUM(?s) AS ?n) { ?f f:director ?d . ?f MATCH 'space' AS ?s } "
        "GROUP BY ?d HAVING (?n > 2) RANK BY ?n LIMIT 3"
    )
    assert result.shortfall == "only 4 entities match the text of ?f, and no row remains after the rest of the query"


def test_candidates_that_have_no_row_are_told(films):
    result = films.query(
        PREFIX + "SELECT ?f ?s { ?f a f:Film . ?f MATCH 'space' AS ?s FILTER NOT EXISTS { ?f MATCH 'crew' } } "
        "RANK BY ?s LIMIT 5",
        strategy="filter_first",
    )
    assert result.returned == 1
    assert (
        result.shortfall == "only 15 entities satisfy the pattern, and only 1 row remains after the rest of the query"
    )


@pytest.mark.parametrize("excluded", ["MINUS { ?f MATCH 'crew' }", "FILTER NOT EXISTS { ?f MATCH 'crew' }"])
def test_the_entities_of_an_excluded_text_are_no_reason(films, excluded):
    result = films.query(f"SELECT ?f {{ ?f MATCH 'space' AS ?s . {excluded} }} RANK BY ?s LIMIT 5")
    assert result.returned == 1
    assert result.shortfall == "only 4 entities match the text of ?f, and not all of them satisfy the rest of the query"
    result = films.query("SELECT ?f { ?f MATCH 'space' AS ?s . FILTER EXISTS { ?f MATCH 'crew' } } RANK BY ?s LIMIT 5")
    assert "only 3 entities match the text of ?f" in result.shortfall


def test_an_offset_beyond_the_last_row_is_named(films):
    result = films.query("SELECT ?f { ?f MATCH 'space' AS ?s } RANK BY ?s OFFSET 3 LIMIT 5")
    assert result.returned == 1
    assert result.shortfall == "the query has 4 rows in all, and OFFSET leaves out the first 3"
    result = films.query("SELECT ?f { ?f MATCH 'space' AS ?s } RANK BY ?s OFFSET 30 LIMIT 5")
    assert result.shortfall == "the query has 4 rows in all, and OFFSET leaves out the first 4"


def test_a_query_without_text_says_what_it_can(films):
    assert films.query("SELECT ?s { ?s a <http://example.org/films/Film> } LIMIT 1000").shortfall == (
        "no more rows satisfy the query"
    )
    assert films.query("SELECT ?s { ?s a <http://example.org/films/Zebra> } LIMIT 3").shortfall == (
        "nothing satisfies the query"
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?f { ?f MATCH 'space' AS ?s } RANK BY ?s LIMIT 4",
        "SELECT ?f { ?f MATCH 'space' AS ?s } RANK BY ?s",
        "SELECT ?f { ?f MATCH 'space' AS ?s } RANK BY ?s LIMIT 0",
        "ASK { ?f MATCH 'zebra' }",
    ],
)
def test_an_answer_that_is_not_short_says_nothing(films, query):
    assert films.query(query).shortfall == ""


def test_a_limit_beside_the_query_counts_as_well(films):
    assert films.query("SELECT ?f { ?f MATCH 'space' AS ?s } RANK BY ?s", limit=9).shortfall == (
        "only 4 entities match the text of ?f"
    )


def test_a_slice_of_a_sub_select_is_not_that_of_the_query(films):
    result = films.query(
        "SELECT ?f { { SELECT ?f ?s { ?f MATCH 'space' AS ?s } RANK BY ?s OFFSET 1 LIMIT 2 } } RANK BY ?s LIMIT 5"
    )
    assert result.returned == 2
    assert "OFFSET" not in result.shortfall


def test_a_limit_inside_the_query_that_was_reached_is_a_cap(films):
    capped = films.query("SELECT ?f { ?f MATCH 'space' TOP 2 AS ?s } RANK BY ?s")
    assert capped.limits_reached == ("TOP 2 keeps the best 2 of the entities that match the text of ?f",)
    assert films.query("SELECT ?f { ?f MATCH 'space' TOP 5 AS ?s } RANK BY ?s").limits_reached == ()


@settings(max_examples=examples(21, 100), deadline=None)
@given(
    st.sampled_from(["space", "mars", "crew ship", "samurai", "zebra", "the"]),
    st.sampled_from(["", "?f f:director ?d .", "?f f:year ?y . FILTER(?y > 1970)", "OPTIONAL { ?f f:seen ?y }"]),
    st.integers(1, 12),
    st.integers(0, 3),
)
def test_there_is_a_reason_exactly_where_rows_are_missing(films, words, rest, limit, offset):
    text = f"{PREFIX}SELECT ?f {{ ?f MATCH '{words}' AS ?s . {rest} }} RANK BY ?s LIMIT {limit} OFFSET {offset}"
    result, everything = films.query(text), films.query(text.split(" LIMIT")[0])
    assert bool(result.shortfall) == (result.returned < limit)
    assert result.returned == min(limit, max(len(everything) - offset, 0))
    if "only" in result.shortfall and "rest" not in result.shortfall:
        n = len(everything) or "none"
        assert f"only {n} entit" in result.shortfall or f"and {n} of them match" in result.shortfall


def test_the_reason_is_shown_beside_the_rows_and_never_among_them(films):
    query = "SELECT ?f { ?f MATCH 'space' TOP 2 AS ?s } RANK BY ?s LIMIT 5"
    kb = str(films._folder.path)
    table = CliRunner().invoke(cli, ["query", kb, query])
    assert table.stderr.splitlines() == [
        "note: TOP 2 keeps the best 2 of the entities that match the text of ?f",
        "2 rows (of 5 requested: TOP 2 of ?f was reached), exact",
    ]
    about = json.loads(CliRunner().invoke(cli, ["query", kb, query, "--format", "json"]).stdout)["x-hybridkg"]
    assert about["shortfall"] == "TOP 2 of ?f was reached"
    assert len(about["limits_reached"]) == 1
    told = CliRunner().invoke(cli, ["repl", kb], input=query + "\n")
    assert "2 rows (of 5 requested: TOP 2 of ?f was reached), exact" in told.stderr
    assert "reached" not in told.stdout
    assert "TOP 2 of ?f was reached" in films.query(query)._repr_html_()


@pytest.mark.parametrize(
    ("query", "counted"),
    [
        ("SELECT ?f { ?f MATCH 'zebra' }", "0 rows (no entity matches the text of ?f)"),
        ("SELECT ?f { ?f MATCH 'zebra' } LIMIT 2", "0 rows (of 2 requested: no entity matches the text of ?f)"),
        ("SELECT ?f { ?f a <http://example.org/films/Zebra> }", "0 rows"),
        ("SELECT (COUNT(*) AS ?n) { ?f MATCH 'zebra' }", "1 row"),
        ("SELECT ?f { ?f MATCH 'space' }", "4 rows"),
        (
            "SELECT ?f { ?f MATCH 'samurai' . ?f <x:p> ?o }",
            "0 rows (only 1 entity matches the text of ?f, and it does not satisfy the rest of the pattern)",
        ),
    ],
)
def test_no_rows_of_a_match_have_a_reason_where_none_were_requested(films, query, counted):
    assert films.query(query).counted() == counted


def test_where_nothing_is_left_none_of_the_entities_satisfies_the_rest(films):
    result = films.query("SELECT ?f { ?f MATCH 'space' AS ?s FILTER(?f = 'APT1') } RANK BY ?s LIMIT 10")
    assert result.shortfall == (
        "only 4 entities match the text of ?f, and none of them satisfies the rest of the query"
    )


def test_none_and_one_of_several_are_singular():
    assert [_count(n, "of them matches", "of them match") for n in (0, 1, 2)] == [
        "none of them matches",
        "1 of them matches",
        "2 of them match",
    ]
