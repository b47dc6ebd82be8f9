"""Warnings about constants that are no value of their datatype."""

from __future__ import annotations

import pytest

from hybridkg.query.invalid_constants import CHECKED, invalid_constants
from hybridkg.query.parser import parse
from hybridkg.rdf.stored import is_value
from hybridkg.rdf.terms import XSD, Literal, NamedNode, Triple
from hybridkg.store.oxigraph import OxigraphStore

HEAD = f"PREFIX xsd: <{XSD}> SELECT * "


def warned(condition):
    return [w.message for w in invalid_constants(parse(f"{HEAD} {{ ?x <x:on> ?d FILTER({condition}) }}"))]


@pytest.mark.parametrize(
    ("condition", "text", "what"),
    [
        ('?d > xsd:date("2025-13-01")', "2025-13-01", "a date"),
        ('?d > "2025-02-29"^^xsd:date', "2025-02-29", "a date"),
        ('?d IN ("today"^^xsd:dateTime)', "today", "a date with a time"),
        ('?d = "yes"^^xsd:boolean', "yes", "true or false"),
        ('xsd:integer("1.5") < ?d', "1.5", "a whole number"),
    ],
)
def test_a_constant_that_is_no_value_of_its_datatype_is_named(condition, text, what):
    assert warned(condition) == [f"{text!r} is not {what}, so what is computed with it never has a value"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("integr", "integer"), ("Date", "date"), ("datetime", "dateTime"), ("strng", "string"), ("zzz", "")],
)
def test_a_misspelt_datatype_is_named_with_the_nearest(written, meant):
    query = parse(f'{HEAD} {{ ?x <x:on> ?d FILTER(?d IN (1, "5"^^xsd:{written})) }}')
    (warning,) = invalid_constants(query)
    assert warning.message == f"XML Schema has no datatype xsd:{written}, so this constant equals only the same literal"
    assert warning.hint == (f"did you mean xsd:{meant}?" if meant else "")


@pytest.mark.parametrize(
    ("condition", "about", "message"),
    [
        ('REGEX(?d, "(")', '"("', "is not a regular expression, so REGEX never"),
        (
            'REGEX(?d, "a{2,1}", "i")',
            '"a{2,1}"',
            "is not a regular expression",
        ),
        ('REPLACE(?d, "[", "x") = "x"', '"["', "is not a regular expression, so REPLACE"),
        ('REGEX(?d, "([[a]")', '"([[a]"', "is not a regular expression"),
        ('REGEX(?d, "(?=a)")', '"(?=a)"', "is not a regular expression, so REGEX never has a value"),
        ("REGEX(?d, 5)", "5", "is not a regular expression (it takes a text without a language tag), so REGEX never"),
        ('REGEX(?d, "a"@en)', '"a"@en', "is not a regular expression (it takes a text without a language tag), so"),
        ('REGEX(?d, "a", "ki")', '"ki"', "are not flags of REGEX, which never has a value with them"),
    ],
)
def test_a_pattern_that_is_no_regular_expression_has_a_caret(condition, about, message):
    text = f"{HEAD} {{ ?x <x:on> ?d FILTER({condition}) }}"
    (warning,) = invalid_constants(parse(text))
    assert message in warning.message
    assert text[warning.span.start : warning.span.end] == about
    assert list(invalid_constants(parse(text), is_oxigraph=False)) == []
    data = [Triple(NamedNode("x:a"), NamedNode("x:on"), Literal("abc"))]
    assert list(OxigraphStore.memory(data).select(text).rows) == []


def test_the_hint_about_a_pattern_is_one():
    text = f'{HEAD.replace("*", "?d")} {{ ?x <x:on> ?d FILTER(REGEX(?d, "(")) }}'
    (warning,) = invalid_constants(parse(text))
    written = warning.hint.partition(": ")[2].partition(" for ")[0]
    data = [Triple(NamedNode("x:a"), NamedNode("x:on"), Literal(value)) for value in ("f(x)", "x")]
    (row,) = OxigraphStore.memory(data).select(text.replace('"("', written)).rows
    assert row[0].value == "f(x)"


@pytest.mark.parametrize(
    "condition",
    [
        'REGEX(?d, "a+", "i") && REGEX(?d, "(", "q") && REGEX(?d, "a", ?f) && REGEX(?d, ?p)',
        'REPLACE(?d, "a(b)", "$1") = "b"',
        '?d > xsd:date("2024-02-29")',
        "?d > 5 && ?d < 1.5e3",
        "xsd:date(?d) = ?x",
        '?d = "x"^^<x:own> && ?d != "5"^^xsd:short',
        '<x:f>("x") = 1',
    ],
)
def test_other_constants_have_no_warning(condition):
    assert warned(condition) == []


def test_a_constant_of_a_triple_may_be_as_it_is_in_the_data():
    query = parse(f'{HEAD} {{ ?x <x:on> "2025-13-01"^^xsd:date VALUES ?y {{ "z"^^xsd:date }} }}')
    assert list(invalid_constants(query)) == []


@pytest.mark.parametrize("datatype", CHECKED)
@pytest.mark.parametrize(
    "text", ["", "x", "1", "-1.5", "true", "2024-02-29", "2025-02-29", "12:00:00", "2024-02-29T12:00:00Z"]
)
def test_a_value_is_what_the_store_compares(datatype, text):
    _, valid = CHECKED[datatype]
    compared = f'PREFIX xsd: <{XSD}> SELECT (("{text}"^^<{datatype}> <= {valid}) AS ?c) {{ }}'
    (row,) = OxigraphStore.memory([]).select(compared).rows
    assert is_value(text, datatype) == (row[0] is not None)
