"""What needs a value, and has none when the parameters are bound: the text of a MATCH, RANK BY, a part of an update."""

from __future__ import annotations

import pytest
from rdflib import URIRef

from hybridkg.errors import ParameterError, QueryCheckError
from hybridkg.query.checks.check_values import check_update_values, check_values
from hybridkg.query.parameters.bind import bind, bind_update
from hybridkg.query.parser import parse, parse_update

HINT = "give it: --param t='...'; in Python: params={'t': ...}"
SPACE = "?x MATCH 'space' AS ?s"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?x MATCH $t }",
        "ASK { { ?x MATCH QUERY $t AS ?s } UNION { } }",
        "SELECT * { ?x NEAR $t }",
        f"SELECT * {{ {SPACE} }} RANK BY ?s * $t",
        f"SELECT * {{ {{ SELECT * {{ {SPACE} }} RANK BY ?s + $t LIMIT 3 }} }}",
    ],
)
def test_a_forgotten_parameter_is_named_as_one(text):
    with pytest.raises(ParameterError) as e:
        check_values(parse(text))
    assert (e.value.message, e.value.hint) == ("the parameter $t has no value", HINT)
    assert text[e.value.span.start : e.value.span.end] == "$t"
    check_values(bind(parse(text), {"t": "2"}))


@pytest.mark.parametrize(
    ("tail", "hint"),
    [
        ("RANK BY ?score", "the scores are: ?s"),
        ("RANK BY ?filn", "did you mean '?film'?"),
        ("RANK BY tmm(?s) + ?t", "the scores are: ?s"),
        ("RANK BY COALESCE(?t, 0)", "the scores are: ?s"),
    ],
)
def test_an_unbound_variable_in_rank_by_is_an_error(tail, hint):
    with pytest.raises(QueryCheckError) as e:
        check_values(parse(f"SELECT ?film ?s {{ ?film MATCH 'x' AS ?s }} {tail}"))
    assert e.value.message.startswith("nothing binds ?")
    assert e.value.hint == hint


def test_a_ranking_without_a_match_names_what_is_bound():
    with pytest.raises(QueryCheckError) as e:
        check_values(parse("SELECT * { ?x <e:p> ?y } RANK BY ?ear"))
    assert e.value.hint == "bound are: ?x, ?y"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT * {{ {SPACE} }} RANK BY ?s",
        f"SELECT * {{ OPTIONAL {{ {SPACE} }} }} RANK BY COALESCE(?s, 0)",
        "SELECT * { ?x <e:p> ?y } RANK BY ?w VALUES ?w { 1 }",
        "SELECT ?x (?y + 1 AS ?z) { ?x <e:p> ?y } RANK BY ?z",
        "SELECT (SUM(?y) AS ?n) { ?x <e:p> ?y } GROUP BY (STR(?x) AS ?k) RANK BY ?k + SUM(?y)",
        f"SELECT * {{ {SPACE} }} RANK BY ?s + IF(EXISTS {{ ?x <e:p> ?q }}, 1, 0)",
        f"SELECT * {{ {SPACE} }} RANK BY COALESCE($boost, ?s)",
        f"SELECT * {{ {SPACE} }} RANK BY IF(BOUND($boost), ?s * $boost, ?s)",
        "SELECT * { ?x <e:p> $t . ?x MATCH $t }",
        f"SELECT * {{ {{ SELECT ?x ?r {{ {SPACE} }} RANK BY ?s AS ?r }} }} RANK BY ?r",
    ],
)
def test_what_is_bound_is_no_error(text):
    check_values(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "DELETE { ?x <e:p> $t } WHERE { ?x a <e:C> }",
        "INSERT { GRAPH $t { ?x a <e:D> } } WHERE { ?x a <e:C> }",
        "DELETE { ?x <e:p> ?y } WHERE { ?x <e:p> ?y FILTER(?y > $t) }",
        "INSERT { ?x a <e:D> } WHERE { ?x MATCH $t }",
        "CLEAR ALL ; DELETE { ?x a ?c } WHERE { ?x a ?c FILTER NOT EXISTS { ?x <e:p> ?z FILTER(?z = $t) } }",
        f"INSERT {{ ?x a <e:D> }} WHERE {{ {SPACE} }} RANK BY ?s * $t LIMIT 1",
    ],
)
def test_a_forgotten_parameter_stops_an_update(text):
    with pytest.raises(ParameterError) as e:
        check_update_values(bind_update(parse_update(text), {}))
    assert (e.value.message, e.value.hint) == ("the parameter $t has no value", HINT)
    check_update_values(bind_update(parse_update(text), {"t": URIRef("http://e/g") if "GRAPH" in text else "1"}))


@pytest.mark.parametrize(
    "text",
    [
        "DELETE WHERE { $t ?p ?o }",
        "DELETE WHERE { $t $p $o }",
        "DELETE { ?x <e:p> ?y } INSERT { ?x <e:q> ?y } WHERE { ?x <e:p> ?y ; a $t }",
        "INSERT { $t <e:p> 1 } WHERE { $t a <e:C> }",
        "WITH <e:g> DELETE { ?x ?p ?o } WHERE { ?x ?p ?o OPTIONAL { SELECT $t { $t a <e:C> } } }",
        "DELETE { GRAPH $t { ?s ?p ?o } } WHERE { GRAPH $t { ?s ?p ?o } }",
        "DELETE { ?s <e:p> $t } WHERE { ?s <e:p> ?t }",
        "DELETE { ?s <e:p> ?t } WHERE { ?s <e:p> $t }",
    ],
)
def test_a_forgotten_parameter_that_a_pattern_would_bind_stops_an_update(text):
    with pytest.raises(ParameterError) as e:
        check_update_values(bind_update(parse_update(text), {}))
    assert (e.value.message, e.value.hint) == ("the parameter $t has no value", f"{HINT}\nor, for a variable: ?t")
    values = {name: URIRef(f"http://e/{name}") for name in ("t", "p", "o") if f"${name}" in text}
    check_update_values(bind_update(parse_update(text), values))
    check_update_values(bind_update(parse_update(text), {name: [value] for name, value in values.items()}))
    check_update_values(parse_update(text.replace("$", "?")))


@pytest.mark.parametrize(
    "text",
    [
        "DELETE { ?x <e:p> ?y } INSERT { ?x <e:p> $new } WHERE { ?x <e:p> ?y BIND(?y + 1 AS $new) }",
        "INSERT { ?x <e:p> $y } WHERE { ?x a <e:C> VALUES $y { 1 2 } }",
        "INSERT { ?x <e:n> $n } WHERE { SELECT ?x (COUNT(?y) AS $n) { ?x <e:p> ?y } GROUP BY ?x }",
        'INSERT { ?x <e:fit> $s } WHERE { ?x MATCH "space" AS $s } RANK BY $s LIMIT 1',
        f"INSERT {{ ?x <e:fit> $r }} WHERE {{ {SPACE} }} RANK BY ?s AS $r LIMIT 1",
    ],
)
def test_a_variable_that_the_update_assigns_is_no_parameter(text):
    check_update_values(bind_update(parse_update(text), {}))
