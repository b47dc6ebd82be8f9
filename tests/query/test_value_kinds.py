"""Warnings about kinds of values: a warned comparison never holds in Oxigraph, and each message reads as it should."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.literal_order import SEGMENTS, literal_key
from hybridkg.graph.projection import Projection
from hybridkg.query.parser import parse
from hybridkg.query.value_kinds import kind_warnings
from hybridkg.query.write import write
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Triple
from hybridkg.store.oxigraph import OxigraphStore

VALUES = [
    NamedNode("x:a"),
    BlankNode("b"),
    Literal("1979"),
    Literal("1979", language="en"),
    Literal("1979", datatype=NamedNode(XSD + "integer")),
    Literal("19.5", datatype=NamedNode(XSD + "decimal")),
    Literal("true", datatype=NamedNode(XSD + "boolean")),
    Literal("1979-01-01", datatype=NamedNode(XSD + "date")),
    Literal("1979-01-01T00:00:00Z", datatype=NamedNode(XSD + "dateTime")),
    Literal("1979-01-01T00:00:00", datatype=NamedNode(XSD + "dateTime")),
    Literal("1979", datatype=NamedNode(XSD + "gYear")),
]
PREDICATES = ("x:p", "x:q")
triples = st.lists(
    st.builds(
        lambda s, p, o: Triple(NamedNode(s), NamedNode(p), o),
        st.sampled_from(["x:a", "x:c"]), st.sampled_from(PREDICATES), st.sampled_from(VALUES),
    ),
    min_size=1, max_size=5,
)  # fmt: skip
CONSTANTS = ['"1979"', '"1979"@en', "1979", "19.5", "true", "<x:a>", f'"1979-01-01"^^<{XSD}date>',
             f'"1979-01-01T00:00:00"^^<{XSD}dateTime>', "?z", "?s"]  # fmt: skip
CONDITIONS = [f"?o {op} {constant}" for op in ("=", "<", ">=", "IN (") for constant in CONSTANTS]
CONDITIONS = [text + ")" * text.count("(") for text in CONDITIONS]
CONDITIONS += ["?s = 1979", '?s IN ("a")', "<x:a> = ?o", "YEAR(?o) > 0", "MONTH(?o) = 1", 'CONTAINS(?o, "9")']
CONDITIONS += [
    '?o = "1979" || ?o IN ("1979"@en, 1979)',
    "IF(?o = 1979, true, ?o = 3)",
    "STRLEN(?o) > 0",
    'REGEX(?s, "a")',
    'UCASE(?o) = "A"',
]


def projection(data):
    return Projection(columns_of(data), lambda expression, values: [])


def warnings_of(text, kinds):
    return [(w.code, w.message, w.hint) for w in kind_warnings(parse(text), kinds)]


@given(triples)
def test_the_kinds_of_a_predicate_are_those_of_its_objects(data):
    index = projection(data)
    for predicate in PREDICATES:
        objects = [t.object for t in data if t.predicate.value == predicate]
        want = {SEGMENTS[literal_key(o)[0]] if isinstance(o, Literal) else "node" for o in objects}
        assert index.object_kinds(predicate) == want


@settings(max_examples=examples(90, 1000))
@given(triples, st.sampled_from(CONDITIONS))
def test_what_a_warning_is_about_never_holds(data, condition):
    query = parse(f"SELECT * {{ ?s <x:p> ?o . ?s <x:q> ?z FILTER({condition}) }}")
    if [*kind_warnings(query, projection(data).object_kinds)]:
        assert list(OxigraphStore.memory(data).select(write(query)).rows) == []


KINDS = {
    "x:name": {"string"},
    "x:title": {"language"},
    "x:year": {"number"},
    "x:born": {"date"},
    "x:at": {"datetime"},
    "x:utc": {"datetime zoned"},
    "x:by": {"node"},
    "x:any": {"node", "string", "number"},
    "x:odd": {"other"},
    "x:is": {"boolean"},
}
SPOKEN = [
    ('?x <x:name> ?n . ?n MATCH "worm"', "W104",
     "?n can only be a literal (every object of x:name is one), and MATCH "
     "finds entities", "search the entity that has it: ?x MATCH ..."),
    ('<x:a> <x:year> ?n OPTIONAL { ?n NEAR "worm" }', "W104",
     "?n can only be a literal (every object of x:year is one), "
     "and NEAR finds entities", "search the entity that has it: ?entity NEAR ..."),
    ('?x MATCH "worm" FILTER(?x = "APT1")', "W113",
     "?x is an IRI or a blank node, and this compares it with a text: they "
     "are never equal", "search its texts by MATCH, compare a property of it, or compare its IRI: STR(?x)"),
    ("?x <x:by> ?n FILTER(1979 > ?n)", "W113",
     "?n is an IRI or a blank node (as every object of x:by), and this compares "
     "it with a number: they cannot be compared", "compare a property of ?n"),
    ('?x <x:year> ?n FILTER(?n = "1979")', "W113",
     "?n is a number (as every object of x:year), and this compares it with "
     "a text: they are never equal", "write the number without quotes"),
    ('?x <x:is> ?n FILTER(?n = "true")', "W113",
     "?n is true or false (as every object of x:is), and this compares it with "
     "a text: they are never equal", "write true without quotes"),
    ('?x <x:title> ?n FILTER(?n IN ("Alien"))', "W113",
     "?n is a text with a language tag (as every object of x:title), "
     "and this compares it with a text without a language tag: they are never equal",
     'add the language of the text, as in "..."@en, or compare STR(?n)'),
    ('?x <x:name> ?n FILTER(?n = "Alien"@en)', "W113",
     "?n is a text without a language tag (as every object of x:name), "
     "and this compares it with a text with a language tag: they are never equal", "leave the language tag out"),
    ('?x <x:born> ?n FILTER(?n > "1979-01-01")', "W113",
     "?n is a date (as every object of x:born), and this compares it "
     "with a text: they cannot be compared",
     'write the date with its type: "2020-01-31"^^xsd:date, "2020-01-31T12:00:00"^^xsd:dateTime'),
    ("?x <x:name> ?n FILTER(50 > ?n)", "W113",
     "?n is a text (as every object of x:name), and this compares it with a number: they cannot be compared",
     "convert it: xsd:decimal(?n) < 50 leaves out what is not a number"),
    (f'?x <x:title> ?n FILTER(?n >= "2020-01-31"^^<{XSD}date>)', "W113",
     "?n is a text (as every object of x:title), and this compares it with a date: they cannot be compared",
     'convert it: xsd:date(STR(?n)) >= "2020-01-31"^^xsd:date leaves out what is not a date'),
    ("?x <x:born> ?n FILTER(?n < 1980)", "W113",
     "?n is a date (as every object of x:born), and this compares it with a number: they cannot be compared",
     "compare a part of the date, as in YEAR(?n)"),
    (f'?x <x:at> ?n FILTER(?n > "2020-01-31"^^<{XSD}date>)', "W113",
     "?n is a date with a time (as every object of x:at), and this compares it with a date without a time: "
     "they cannot be compared",
     'compare it with a constant of its datatype: ?n > "2020-01-31T00:00:00"^^xsd:dateTime'),
    (f'?x <x:utc> ?n FILTER("2020-01-31"^^<{XSD}date> > ?n)', "W113",
     "?n is a date with a time (as every object of x:utc), and this compares it with a date without a time: "
     "they cannot be compared",
     'compare it with a constant of its datatype: ?n < "2020-01-31T00:00:00Z"^^xsd:dateTime'),
    (f'?x <x:at> ?n FILTER(?n IN ("2020-01-31"^^<{XSD}date>))', "W113",
     "?n is a date with a time (as every object of x:at), and this compares it with a date without a time: "
     "they are never equal", 'compare the day as a text: STRSTARTS(STR(?n), "2020-01-31")'),
    (f'?x <x:born> ?n FILTER(?n = "2020-01-31T12:00:00Z"^^<{XSD}dateTime>)', "W113",
     "?n is a date without a time (as every object of x:born), and this compares it with a date with a time: "
     "they are never equal",
     'compare it with a constant of its datatype: ?n = "2020-01-31"^^xsd:date'),
    ("?x <x:born> ?n ; <x:at> ?m FILTER(?n <= ?m)", "W113",
     "?n is a date without a time (as every object of x:born), and this compares it with a date with a time: "
     "they cannot be compared", "compare the days as texts: SUBSTR(STR(?n), 1, 10) <= SUBSTR(STR(?m), 1, 10)"),
    ("?x <x:by> ?n . ?x <x:name> ?m FILTER(?n != ?m)", "W113",
     "?n is an IRI or a blank node (as every object of x:by), "
     "and this compares it with a text: they always differ",
     "search its texts by MATCH, compare a property of it, or compare its IRI: STR(?n)"),
    ("?x <x:year> ?n BIND(YEAR(?n) AS ?z)", "W113",
     "YEAR takes a date, and ?n is a number (as every object of x:year): it "
     "never has a value", "compare the number itself, as in ?n = 1979"),
    ('?x <x:by> ?n FILTER EXISTS { ?y <x:name> "a" FILTER(REGEX(?n, "x")) }', "W113",
     "REGEX takes a text, and ?n is an "
     "IRI or a blank node (as every object of x:by): it never has a value", "write REGEX(STR(?n) ...)"),
]  # fmt: skip
SILENT = [
    '?x <x:any> ?n . ?n MATCH "worm"',
    '?x <x:absent> ?n . ?n MATCH "worm" FILTER(YEAR(?m) = 1)',
    '?n <x:name> ?x . ?n MATCH "worm"',
    '?x <x:name> ?n { ?n <x:name> ?y . ?n MATCH "worm" }',
    "?x <x:year> ?n FILTER(?n = 1979.5 && ?n != 1980 && ?x = <x:a>)",
    "?x <x:odd> ?n FILTER(YEAR(?n) = 1979 && ?n = 1979)",
    '?x <x:born> ?n FILTER(YEAR(?n) = 1979 && STR(?n) > "1979")',
    f'?x <x:at> ?n FILTER(?n > "2020-01-31T12:00:00"^^<{XSD}dateTime> && ?n != "2020-01-31"^^<{XSD}date>)',
    '?x <x:name> ?n FILTER(?n != "Alien"@en && ?n < "B")',
    '?x <x:name> ?n { ?n <x:by> ?y FILTER(?n = <x:a>) }',
    'GRAPH ?g { ?x <x:name> ?n . ?n <x:name> ?z . ?n MATCH "worm" }',
    '?x <x:by>/<x:name> ?n FILTER(?n = "a" || ?n = <x:a>)',
    '?x <x:title> ?n FILTER(?n = "Alien" || ?n = "Alien"@en)',
    '?x <x:title> ?n FILTER(?n IN ("Alien", "Alien"@en) && ?n NOT IN ("Aliens", "Aliens"@en))',
    '?x <x:by> ?n BIND(IF(isLiteral(?n), STRLEN(?n), 0) AS ?z) BIND(COALESCE(LCASE(?n), STR(?n)) AS ?name)',
]  # fmt: skip


def kinds(predicate):
    return frozenset(KINDS[predicate]) if predicate in KINDS else None


@pytest.mark.parametrize("condition", ["?n < 50", '?n < "2020-01-31"^^xsd:date', "?n = 7"])
def test_the_hint_about_a_text_is_a_comparison_of_its_value(condition):
    texts = ["7", "49.5", "50", "500", "n/a", "2019-12-31", "2021-01-01"]
    subject, predicate = NamedNode("x:a"), NamedNode("x:name")
    for values, outside in (
        ([Literal(t) for t in texts], "?n"),
        ([Literal(t, language="en") for t in texts], "STR(?n)"),
    ):
        store = OxigraphStore.memory([Triple(subject, predicate, value) for value in values])
        query = f"PREFIX xsd: <{XSD}> SELECT ?n {{ ?s <x:name> ?n FILTER(%s) }}"
        known = frozenset(("string" if outside == "?n" else "language",))
        ((_, _, hint),) = warnings_of(query % condition, lambda _, known=known: known)
        written = hint.removeprefix("convert it: ").partition(" leaves out")[0]
        rows = {row[0].value for row in store.select(query % written).rows}
        expected = {"?n < 50": {"7", "49.5"}, "?n = 7": {"7"}}.get(condition, {"2019-12-31"})
        assert rows == expected


@pytest.mark.parametrize("zone", ["", "Z"])
@pytest.mark.parametrize(("constant", "op"), [("date", "="), ("date", ">"), ("dateTime", "="), ("dateTime", "<=")])
def test_the_hint_about_a_date_is_a_comparison_that_has_a_value(constant, op, zone):
    days, moments = ("2019-12-30", "2020-01-31", "2021-01-01"), ("2019-12-30T23:59:59", "2020-01-31T12:00:00")
    values, kind = (moments, "dateTime") if constant == "date" else (days, "date")
    found = [Literal(value + zone, datatype=NamedNode(XSD + kind)) for value in values]
    store = OxigraphStore.memory([Triple(NamedNode("x:a"), NamedNode("x:on"), value) for value in found])
    text = "2020-01-31" if constant == "date" else "2020-01-31T08:00:00Z"
    query = f"PREFIX xsd: <{XSD}> SELECT ?n {{ ?s <x:on> ?n FILTER(%s) }}"
    asked = query % f'?n {op} "{text}"^^xsd:{constant}'
    known = frozenset((kind.lower() + (" zoned" if zone else ""),))
    ((_, _, hint),) = warnings_of(asked, lambda _: known)
    assert list(store.select(asked).rows) == []
    rows = sorted(row[0].value[:10] for row in store.select(query % hint.partition(": ")[2]).rows)
    assert rows == {"=": ["2020-01-31"], ">": ["2020-01-31"], "<=": ["2019-12-30", "2020-01-31"]}[op]


@pytest.mark.parametrize(("pattern", "code", "message", "hint"), SPOKEN)
def test_a_warning_says_what_was_probably_not_meant(pattern, code, message, hint):
    assert warnings_of(f"SELECT * {{ {pattern} }}", kinds) == [(code, message, hint)]


@pytest.mark.parametrize("pattern", SILENT)
def test_what_may_have_an_answer_has_no_warning(pattern):
    assert warnings_of(f"SELECT * {{ {pattern} }}", kinds) == []


def test_alternatives_are_warned_of_where_all_of_them_fail():
    found = warnings_of('SELECT * { ?x <x:by> ?n FILTER(?n = "a" || CONTAINS(?n, "b")) }', kinds)
    assert [message[:8] for _, message, _ in found] == ["?n is an", "CONTAINS"]


def test_another_dataset_says_nothing_about_this_one():
    assert warnings_of('SELECT * FROM <x:g> { ?x <x:name> ?n . ?n MATCH "a" }', kinds) == []
