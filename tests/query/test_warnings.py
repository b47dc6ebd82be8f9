"""Warnings: each rule speaks where it should, and is silent about queries that are as they should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridkg.query.parser import parse
from hybridkg.query.warnings import advise

SPOKEN = [
    ('SELECT * { ?f MATCH "x" . ?g <e:p> ?h }', "W101", "nothing joins ?f with ?g and ?h"),
    ("SELECT * { ?a <e:p> ?b { ?c <e:p> ?d } }", "W101", "nothing joins ?a and ?b with ?c and ?d"),
    ("SELECT * { VALUES ?x { 1 2 } ?a <e:p> ?b }", "W101", "nothing joins ?x with ?a and ?b"),
    ("SELECT * { ?p <e:year> 2001 . ?q <e:year> 2001 }", "W101", "nothing joins ?p with ?q"),
    ("SELECT * { ?p a <e:Film> . ?q a <e:Film> }", "W101", "nothing joins ?p with ?q"),
    ("SELECT * { ?x <e:p> ?y FILTER EXISTS { ?a <e:p> ?b . ?c <e:p> ?d } }", "W101", "nothing joins ?a and ?b with"),
    ('SELECT ?scoer { ?f MATCH "x" AS ?score } RANK BY ?score', "W102", "nothing binds ?scoer"),
    ("SELECT ?x { ?x <e:p> ?y FILTER(?z > 3) }", "W102", "nothing binds ?z"),
    ("SELECT ?x { ?x <e:p> ?y } ORDER BY ?yy", "W102", "nothing binds ?yy"),
    ("SELECT ?x { ?x <e:p> ?y } GROUP BY ?x ORDER BY ?y", "W102", "no group has a value of ?y, which is neither"),
    ("SELECT ?x (SUM(?y) AS ?n) { ?x <e:p> ?y } GROUP BY ?x HAVING (?y > 1)", "W102", "no group has a value of ?y"),
    ("SELECT * { { SELECT ?x { ?x <e:p> ?y } GROUP BY ?x ORDER BY ?y } }", "W102", "no group has a value of ?y"),
    ("SELECT ?x (COUNT(?y) AS ?n) { ?x <e:p> ?y } GROUP BY ?x HAVING (?n > 1)", "W102", "?n is computed after HAVING"),
    ('SELECT ?f { ?f MATCH "x" AS ?s } ORDER BY ?s', "W119", "ORDER BY ?s puts the lowest score first"),
    ('SELECT ?f { ?f MATCH "x" AS ?s } ORDER BY ASC(?s) ?f LIMIT 3', "W119", "ORDER BY ?s puts the lowest score first"),
    ('SELECT * { { SELECT ?f { ?f MATCH "x" } LIMIT 2 } ?f <e:p> ?o }', "W118", "LIMIT takes any 2 of the rows"),
    ('SELECT ?f { ?f MATCH "x" AS ?s }', "W103", "nothing uses the score ?s"),
    ('SELECT ?f { ?f NEAR "x" AS ?s }', "W103", "nothing uses the score ?s"),
    ('SELECT * { BIND(STR(1) AS ?x) ?x MATCH "a" }', "W104", "?x can only be a literal (BIND makes it one)"),
    ('SELECT * { VALUES ?x { "a" "b" } ?x MATCH "a" }', "W104", "?x can only be a literal (its VALUES are)"),
    (
        'SELECT * { ?x MATCH "a" AS ?s ; NEAR "a" AS ?v }'.replace(" ;", " . ?x") + " RANK BY ?s + ?v",
        "W105",
        "?s (bm25f)",
    ),
]
SILENT = [
    'SELECT ?f ?s { ?f MATCH "x" AS ?s . ?f <e:p> ?g } RANK BY ?s',
    "SELECT * { ?a <e:p> ?b . ?c <e:p> ?d FILTER(?b = ?d) }",
    "SELECT * { ?a <e:p> <e:x> . <e:x> <e:q> ?b }",
    "SELECT ?l ?n { <e:a> <e:label> ?l . <e:c> <e:year> ?n }",
    "SELECT ?n ?m { { SELECT (COUNT(*) AS ?n) { ?a <e:p> ?b } } { SELECT (COUNT(*) AS ?m) { ?c <e:q> ?d } } }",
    "SELECT * { ?a <e:p> ?b { SELECT (MAX(?y) AS ?m) { ?c <e:year> ?y } } }",
    "SELECT * { ?a <e:p> ?b { SELECT ?c { ?c <e:year> ?y } LIMIT 1 } }",
    "SELECT * { ?a <e:p> _:b . _:b <e:q> ?c }",
    'DESCRIBE * { ?p MATCH "x" AS ?s }',
    "SELECT * { VALUES ?x { 1 } ?a <e:p> ?b }",
    "SELECT ?n { { SELECT (COUNT(*) AS ?n) { ?a <e:p> ?b } } }",
    "SELECT * { { ?a <e:p> ?b } UNION { ?c <e:p> ?d } }",
    "SELECT * { ?a <e:p> ?b MINUS { ?c <e:p> ?d } }",
    "SELECT ?x (COUNT(?y) AS ?n) { ?x <e:p> ?y } GROUP BY ?x HAVING (COUNT(?y) > 1) ORDER BY DESC(?n) MAX(?y) ?x",
    "SELECT ?x (COUNT(?y) AS ?n) { ?x <e:p> ?y } GROUP BY ?x HAVING (EXISTS { ?x <e:q> ?z }) ORDER BY ?x",
    'SELECT * { ?f MATCH "x" AS ?s }',
    'SELECT * { ?f MATCH "x" AS ?s } ORDER BY DESC(?s)',
    'SELECT * { ?f MATCH "x" AS ?s ; <e:p> ?o } ORDER BY ?o ?s'.replace(" ;", " . ?f"),
    'SELECT * { { SELECT ?f { ?f MATCH "x" } } ?f <e:p> ?o }',
    'SELECT * { { SELECT ?f { ?f MATCH "x" TOP 5 } LIMIT 2 } ?f <e:p> ?o }',
    'SELECT * { { SELECT (COUNT(*) AS ?n) { ?f MATCH "x" } LIMIT 2 } }',
    'SELECT * { ?f <e:p> ?o FILTER EXISTS { SELECT ?f { ?f MATCH "x" } LIMIT 1 } }',
    "SELECT ?f { ?f MATCH ?words . ?f <e:p> ?words }",
    'SELECT * { ?x MATCH "a" AS ?s . ?x NEAR "a" AS ?v } RANK BY minmax(?s) + minmax(?v)',
    'SELECT * { ?x MATCH "a" AS ?s . ?x MATCH "b" AS ?t } RANK BY ?s + ?t',
    "ASK { }",
    "DESCRIBE <e:x>",
    "CONSTRUCT { ?a <e:q> ?b } WHERE { ?a <e:p> ?b }",
]


@pytest.mark.parametrize(("text", "code", "message"), SPOKEN)
def test_a_rule_speaks_once(text, code, message):
    (warning,) = advise(parse(text))
    assert warning.code == code
    assert warning.message.startswith(message)
    assert warning.hint
    assert text[warning.span.start : warning.span.end]


@pytest.mark.parametrize("text", SILENT)
def test_a_query_that_is_as_it_should_be_has_no_warning(text):
    assert advise(parse(text)) == []


@pytest.mark.parametrize("path", sorted(Path("examples").rglob("*.hq")), ids=str)
def test_no_example_has_a_product_or_an_unbound_variable(path):
    text = path.read_text()
    known = {"author", "words", "year", "name", "topic", "person", "venue", "place", "text"}
    codes = [w.code for w in advise(parse(text)) if not (w.code == "W102" and w.message.split("?")[1] in known)]
    meant = {"W101"} if path.name == "07-two-sentences-joined.hq" else set()  # QLever's query is a product, too
    assert set(codes) <= {"W103", *meant}


def test_a_parameter_is_no_variable_that_nothing_binds():
    text = "SELECT ?x { ?x <e:p> ?y FILTER(?y > $least) ?x <e:by> $who . ?z <e:by> $who . ?z <e:p> ?y }"
    least, who = advise(parse(text))
    assert (least.code, least.message) == ("W102", "the parameter $least has no value")
    assert least.hint == "give it: --param least='...'; in Python: params={'least': ...}"
    assert (who.code, who.message) == (
        "W114",
        "the parameter $who has no value, so it is a variable and takes any value",
    )
    assert advise(parse(text), {"least", "who"}) == []


def test_a_query_that_writes_every_variable_with_a_dollar_has_no_parameter():
    assert advise(parse("SELECT * { $x <e:p> $y }")) == []
    assert advise(parse("SELECT $x { $x <e:p> ?y FILTER(?x > 1) }")) == []


@pytest.mark.parametrize(
    ("having", "hint"),
    [
        ("?n > 1", "write HAVING(COUNT(?y) > 1)"),
        ("?n > 1 && ?m < MAX(?y) + 1", "write HAVING(COUNT(?y) > 1 && (SUM(?y) + 1) * 2 < MAX(?y) + 1)"),
    ],
)
def test_the_hint_about_an_alias_in_having_is_the_condition_that_works(having, hint):
    columns = "?x (COUNT(?y) AS ?n) ((SUM(?y) + 1) * 2 AS ?m)"
    found = advise(parse(f"SELECT {columns} {{ ?x <e:p> ?y }} GROUP BY ?x HAVING ({having})"))
    assert {(warning.code, warning.hint) for warning in found} == {("W102", hint)}


def test_a_misspelled_variable_in_having_is_not_led_to_an_alias():
    (found,) = advise(parse("SELECT ?x (COUNT(?y) AS ?num) { ?x <e:p> ?y } GROUP BY ?x HAVING (?numm > 1)"))
    assert "?num" not in found.hint
