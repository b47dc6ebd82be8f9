"""An aggregate without a value says which variable is unbound or no number, how often, and with an example."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.kb import blank_aggregates, second_look

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
LABEL = "?f :year ?y ; rdfs:label ?t"


@pytest.fixture(scope="module")
def films(tmp_path_factory, copy_films):
    with KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("blank") / "films.kb")) as kb:
        yield kb


@pytest.fixture(autouse=True)
def _idle_machine(monkeypatch):
    """A busy machine, or a query that another test has stopped, changes nothing."""
    monkeypatch.setattr(second_look, "LOOK_S", 100.0)
    monkeypatch.setattr(second_look, "MAX_RUN_S", 100.0)
    monkeypatch.setattr(second_look, "count_orphans", lambda: 0)


def warned(kb, text, params=None):
    return [(w.message, w.hint) for w in kb.query(text, params).warnings if w.code == "W117"]


NUMBER = "one is enough; FILTER(isNumeric(?t)) leaves them out"
BOUND = "one is enough; FILTER(BOUND(?n)) leaves them out"
EXAMPLE = 'such as "2001: A Space Odyssey"'


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            f"SELECT (SUM(?t) AS ?x) {{ {LABEL} }}",
            f"SUM has no value: ?t is no number in 15 of the 15 solutions, {EXAMPLE}",
            NUMBER,
        ),
        (
            f"SELECT ?y (AVG(?t) AS ?x) {{ {LABEL} FILTER(?y < 1980) }} GROUP BY ?y",
            f"AVG has no value in 6 of 6 rows: ?t is no number in 8 of the 8 solutions, {EXAMPLE}",
            NUMBER,
        ),
        (
            "SELECT (MAX(?n) AS ?x) { ?f rdfs:label ?t OPTIONAL { ?f :year ?n FILTER(?n > 1990) } }",
            "MAX has no value: ?n is unbound in 26 of the 30 solutions",
            BOUND,
        ),
        (
            "SELECT (MIN(?n) AS ?x) { ?f :year ?y . ?f MATCH 'space' AS ?s OPTIONAL { ?f :shelf ?n } } RANK BY ?x",
            "MIN has no value: ?n is unbound in 4 of the 4 solutions",
            BOUND,
        ),
        (
            "SELECT ?f (AVG(?t) AS ?x) { ?f MATCH 'mars' AS ?s . ?f rdfs:label ?t } GROUP BY ?f RANK BY ?x LIMIT 1",
            'AVG has no value: ?t is no number in 1 of the 1 solutions, such as "The Martian"',
            NUMBER,
        ),
        (
            f"SELECT (AVG(?t + 1) AS ?x) {{ {LABEL} }}",
            "AVG has no value: ?t + 1 is an error in 15 of the 15 solutions",
            "one is enough",
        ),
        (
            f"SELECT (SUM(?t) AS ?x) {{ {{ SELECT ?t {{ {LABEL} }} }} }}",
            f"SUM has no value: ?t is no number in 15 of the 15 solutions, {EXAMPLE}",
            NUMBER,
        ),
        (
            "SELECT (SUM(?t) AS ?x) { VALUES ?t { 1 'a' UNDEF } }",
            'SUM has no value: ?t is no number in 1 of the 3 solutions, such as "a", '
            "and ?t is unbound in 1 of the 3 solutions",
            NUMBER,
        ),
    ],
)  # fmt: skip
def test_a_blank_aggregate_names_the_variable_how_often_and_an_example(films, text, message, hint):
    assert warned(films, text) == [(message, hint)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (SUM(?y) AS ?x) (AVG(?y) AS ?a) (MIN(?t) AS ?m) (MAX(?t) AS ?n) { ?f :year ?y ; rdfs:label ?t }",
        "SELECT (COUNT(?n) AS ?x) { ?f :year ?y OPTIONAL { ?f :shelf ?n } }",
        "SELECT (SUM(?n) AS ?x) { ?f :shelf ?n }",
        "SELECT (MAX(?n) AS ?x) { ?f :shelf ?n }",
        "SELECT (SUM(?n) AS ?x) { ?f :year ?y }",  # W102 is about it
        "SELECT ?f ?n { ?f :year ?y OPTIONAL { ?f :shelf ?n } }",
    ],
)
def test_a_value_a_count_and_an_empty_group_need_no_warning(films, text):
    assert warned(films, text) == []


def test_the_names_are_those_of_the_text_and_of_its_parameters(films):
    for name in ("t", "label"):
        text = f"SELECT (SUM(?{name}) AS ?x) {{ ?f :year ?y ; rdfs:label ?{name} }}"
        found = [w for w in films.query(text).warnings if w.code == "W117"]
        assert f"?{name} is no number in 15" in found[0].message
        assert text[found[0].span.start : found[0].span.end] == f"SUM(?{name})"
    text = "SELECT (SUM(?t) AS ?x) { ?f :year $year ; rdfs:label ?t }"
    assert warned(films, text, {"year": 1979})[0][0].startswith("SUM has no value: ?t is no number in 2 of the 2 sol")


def test_only_the_first_solutions_are_looked_at(films, monkeypatch):
    monkeypatch.setattr(blank_aggregates, "MAX_SOLUTIONS", 4)
    message, _ = warned(films, f"SELECT (SUM(?t) AS ?x) {{ {LABEL} }}")[0]
    assert "?t is no number in 4 of the first 4 solutions" in message
    # Every one of the first solutions has a number: the blank cell has no warning rather than a wrong one.
    text = "SELECT (SUM(?t) AS ?x) { VALUES ?t { 1 2 3 4 'a' } }"
    assert warned(films, text) == []


def test_a_query_without_a_blank_aggregate_runs_once(films, monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(blank_aggregates.AggregateColumn, "sampled", refuse)
    assert films.query("SELECT (SUM(?y) AS ?x) { ?f :year ?y }").rows
    with pytest.raises(AssertionError):
        films.query(f"SELECT (SUM(?t) AS ?x) {{ {LABEL} }}")


def test_a_limit_that_the_second_look_exceeds_leaves_the_answer(films):
    text = f"SELECT (SUM(?t) AS ?x) {{ {LABEL} . ?f MATCH 'space crew' }}"
    result = films.query(text, max_rows=5)
    assert result.returned == 1
