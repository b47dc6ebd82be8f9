"""Errors of the query text: the whole rendered text, because that is what people read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import HybridkgError, QueryCheckError, SourceName
from hybridkg.query.checks.check import check
from hybridkg.query.diagnostics import HELP
from hybridkg.query.parser import parse, parse_update


def error(text: str, kind: type[HybridkgError] = HybridkgError) -> HybridkgError:
    with pytest.raises(kind) as caught:
        check(parse(text))
    return caught.value.at(SourceName("query", text))


@pytest.mark.parametrize("entry", HELP, ids=lambda entry: entry.message)
def test_every_example_of_the_help_table_gets_its_message(entry):
    for example in entry.examples:
        assert error(example).message == entry.message, example


def test_a_declaration_before_the_same_mistake_changes_nothing():
    short, long = error("SELECT *\n{ ?f a }"), error("PREFIX x: <e:>\nSELECT * { ?s x:p ?o OPTIONAL {\n ?f a } }")
    assert (short.message, short.hint) == (long.message, long.hint)


@pytest.mark.parametrize(
    ("pattern", "word", "hint"),
    [
        ("?x <e:p> ?n AND ?x a <e:C>", "AND", "write ' . ' between two triples: every pattern of a group has to hold"),
        ("?x a <e:C> . AND ?x <e:p> 1", "AND", "write ' . ' between two triples: every pattern of a group has to hold"),
        ("?x MATCH 'a' AS ?s AND ?x <e:p> 'b'", "AND", "write ' . ' between two triples"),
        ("FILTER(?x) AND ?x <e:p> 'b'", "AND", "write ' . ' between two triples"),
        ("?x <e:p> 1 or ?x <e:p> 2", "or", "write alternatives as { ... } UNION { ... }"),
        ("{ ?x <e:p> 1 } OR { ?x <e:p> 2 }", "OR", "write alternatives as { ... } UNION { ... }"),
    ],
)
def test_and_and_or_do_not_join_triples(pattern, word, hint):
    found = error(f"SELECT * {{ {pattern} }}")
    assert found.message == f"{word!r} does not join triples"
    assert found.hint.startswith(hint)


RENDERED = {
    "SELECT *\n{ ?f a }": """\
error[Q101]: a triple needs a subject, a predicate and an object
 --> query:2:8
  |
2 | { ?f a }
  |        ^
  hint: write the object before "}\"""",
    "SELECT ?x { ?x a foaf:Person }": """\
error[Q101]: the prefix 'foaf:' is not declared
 --> query:1:18
  |
1 | SELECT ?x { ?x a foaf:Person }
  |                  ^^^^^
  hint: put this line first:
        PREFIX foaf: <http://xmlns.com/foaf/0.1/>""",
    "PREFIX ex: <http://e/>\nSELECT ?x { ?x a exx:C }": """\
error[Q101]: the prefix 'exx:' is not declared
 --> query:2:18
  |
2 | SELECT ?x { ?x a exx:C }
  |                  ^^^^
  hint: did you mean 'ex'?
        declared: ex:""",
    'SELECT ?x { ?x MTCH "a" }': """\
error[Q101]: 'MTCH' is not a keyword
 --> query:1:16
  |
1 | SELECT ?x { ?x MTCH "a" }
  |                ^^^^
  hint: did you mean MATCH?""",
    "SELECT ?x { ?x <name> 1 }": """\
error[Q101]: the relative IRI <name> needs a base
 --> query:1:16
  |
1 | SELECT ?x { ?x <name> 1 }
  |                ^^^^^^
  hint: write the IRI in full, or begin with BASE <http://...>""",
    "SELECT ?x { ?x ?p ?v FILTER(?v<3&&?v>1) }": """\
error[Q101]: "<3&&?v>" reads as an IRI, because it contains no space
 --> query:1:31
  |
1 | SELECT ?x { ?x ?p ?v FILTER(?v<3&&?v>1) }
  |                               ^^^^^^^
  hint: write a space after '<'""",
    'SELECT ?x { ?x ?p "a\\qb" }': """\
error[Q101]: '\\q' is not an escape in a string
 --> query:1:21
  |
1 | SELECT ?x { ?x ?p "a\\qb" }
  |                     ^^
  hint: escapes are \\t \\n \\r \\b \\f \\" \\' \\\\ \\uXXXX and \\UXXXXXXXX; write \\\\ for a backslash""",
    "'\\": """\
error[Q101]: '\\' is not an escape in a string
 --> query:1:2
  |
1 | '\\
  |  ^
  hint: escapes are \\t \\n \\r \\b \\f \\" \\' \\\\ \\uXXXX and \\UXXXXXXXX; write \\\\ for a backslash""",
    "DESCRIBE": """\
error[Q101]: the text ends too early; expected a variable, an IRI or "*"
 --> query:1:9
  |
1 | DESCRIBE
  |         ^""",
    "SELECT * { ?x <http://bad iri> ?y }": """\
error[Q101]: an IRI cannot have a space in it
 --> query:1:15
  |
1 | SELECT * { ?x <http://bad iri> ?y }
  |               ^^^^^^^^^^^^^^^^
  hint: write it percent-encoded: %20""",
    "SELECT * { ?x a c:Cheese }": """\
error[Q101]: the prefix 'c:' is not declared
 --> query:1:17
  |
1 | SELECT * { ?x a c:Cheese }
  |                 ^^
  hint: begin with PREFIX c: <http://...>""",
    'SELECT ?x { FACT (?x ?p ?o) ABOUT "a" }': """\
error[Q202]: 'FACT' arrives in a later version
 --> query:1:13
  |
1 | SELECT ?x { FACT (?x ?p ?o) ABOUT "a" }
  |             ^^^^""",
    'SELECT * { ?x MATCH "a" USING bm26f }': """\
error[R201]: no ranking model 'bm26f'; known: bm25, bm25f, combined_fields, elr, fsdm, lm, mlm, prms, sdm
 --> query:1:31
  |
1 | SELECT * { ?x MATCH "a" USING bm26f }
  |                               ^^^^^
  hint: did you mean 'bm25f'?""",
    "SELECT ?o (COUNT(*) AS ?n) { ?x ?p ?o } GROUP BY ?x": """\
error[Q201]: ?o is neither a key of GROUP BY nor inside an aggregate
 --> query:1:8
  |
1 | SELECT ?o (COUNT(*) AS ?n) { ?x ?p ?o } GROUP BY ?x
  |        ^^
  hint: add ?o to GROUP BY, or write SAMPLE(?o), MAX(?o), ...""",
}


@pytest.mark.parametrize("text", RENDERED)
def test_the_rendered_error(text):
    assert error(text).render() == RENDERED[text]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("SELECT * { ?s ?p ?o BIND(1 AS ?o) }", "?o"),
        ("SELECT * { VALUES (?x ?y) { (1 2) (1) } }", "(1)"),
        ("SELECT * { VALUES (?x ?x) { } }", "?x"),
        ("SELECT (1 AS ?x) (2 AS ?x) { }", "?x"),
        ("SELECT (1 AS ?x) { ?x ?p ?o }", "?x"),
        ("SELECT * { ?x ?p ?o } GROUP BY ?x", "SELECT * { ?x ?p ?o } GROUP BY ?x"),
        ("SELECT ?x { ?x ?p ?o } GROUP BY (1 AS ?x)", "?x"),
        ("SELECT * { ?x ?p _:a OPTIONAL { ?x ?q _:a } }", "_:a"),
        ("SELECT * { ?x ?p _:a FILTER EXISTS { ?x ?q 1 } ?x ?r _:a }", "_:a"),
        ("SELECT * { ?x ?p ?o FILTER(COUNT(?x) > 1) }", "COUNT(?x)"),
        ("SELECT * { ?x ?p ?o BIND(COUNT(?x) AS ?n) }", "COUNT(?x)"),
        ("SELECT (SUM(COUNT(?x)) AS ?n) { }", "COUNT(?x)"),
        ("SELECT (1 AS ?n) { } GROUP BY (COUNT(?x))", "COUNT(?x)"),
        ("SELECT ?x { ?x MATCH 'a' AS ?s } GROUP BY ?x RANK BY ?s", "?s"),
        ("SELECT ?x { ?x ?p ?r } RANK BY ?r AS ?r", "?r"),
        ("SELECT * { ?x MATCH 'a' AS ?s . ?y MATCH 'b' AS ?s }", "?y MATCH 'b' AS ?s"),
        ("SELECT * { ?x MATCH 'a' AS ?s OPTIONAL { ?y MATCH 'b' AS ?s } }", "OPTIONAL { ?y MATCH 'b' AS ?s }"),
        ("SELECT * { { SELECT ?s { ?x MATCH 'a' AS ?s } } ?y MATCH 'b' AS ?s }", "?y MATCH 'b' AS ?s"),
        ("SELECT * { ?x MATCH 'a' AS ?s . ?x ?p ?s }", "?x ?p ?s"),
        ("SELECT * { ?x ?p ?t . ?x MATCH 'a' SNIPPET ?t }", "?x MATCH 'a' SNIPPET ?t"),
        ("SELECT * { ?x MATCH 'a' AS ?x }", "?x"),
        ("SELECT * { ?x MATCH 'a' ON (t^-1) }", "t^-1"),
        ("SELECT * { ?x MATCH 'a' ON (t, t) }", "t"),
        ("SELECT * { ?x MATCH 'a' ON (t@en, t@EN) }", "t@EN"),
        ("SELECT * { ?x MATCH 'a' USING bm25f(b=1, b=2) }", "b=2"),
        ("SELECT * { ?x MATCH 'a' TOP 0 }", "?x MATCH 'a' TOP 0"),
    ],
)
def test_a_broken_rule_points_at_the_words_that_break_it(text, quoted):
    found = error(text, QueryCheckError)
    assert text[found.span.start : found.span.end] == quoted


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { { ?x MATCH 'a' AS ?s } UNION { ?x MATCH 'b' AS ?s } }",
        "SELECT * { ?x MATCH 'a' AS ?s MINUS { ?y MATCH 'b' AS ?s } }",
        "SELECT * { ?x MATCH 'a' AS ?s { SELECT ?y { ?y MATCH 'b' AS ?s } } }",
        "SELECT ?x (MAX(?s) AS ?m) { ?x MATCH 'a' AS ?s } GROUP BY ?x RANK BY ?m + 1",
        "SELECT ?x ?r { ?x MATCH 'a' AS ?s } RANK BY ?s AS ?r",
        "SELECT (COUNT(*) AS ?n) ?v { ?x ?p ?o } GROUP BY ?x VALUES ?v { 1 }",
        "SELECT * { ?x ?p _:a FILTER(?x) ?x ?q _:a }",
        "SELECT * { { ?s ?p ?o } BIND(1 AS ?z) OPTIONAL { BIND(2 AS ?w) } }",
        "SELECT ?x { ?x ?p ?o } HAVING (?o > 1)",
        "SELECT ?x { ?x MATCH ?text AS ?s . ?x ?p ?text }",
        "SELECT ?x { ?x MATCH 'a' ON (t@en^2, t@de b=0.3, t) }",
    ],
)
def test_what_no_rule_forbids_passes(text):
    check(parse(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT * { SERVICE <e:s> { ?x MATCH 'a' } }", "inside SERVICE"),
        ("SELECT * { ?s !() ?o }", "excludes no property"),
        ("SELECT ?k { ?x ?p ?o } GROUP BY (?x AS ?k)", "GROUP BY"),
        ("ASK { ?x ?p ?o } GROUP BY ?x HAVING (COUNT(*) > 1)", "SELECT only"),
    ],
)
def test_what_this_version_cannot_answer_says_so(text, words):
    found = error(text)
    assert found.code == "Q202"
    assert words in found.message


PIECES = """SELECT ASK * ?x ?y { } ( ) [ ] . ; , <e:p> 'x' 5 -1 a MATCH ON USING AS TOP RANK BY ORDER LIMIT FILTER
&& || = < NOT IN EXISTS UNION OPTIONAL VALUES BIND COUNT label ^ | / + - ! @en ^^ _:b DISTINCT GROUP EXPLAIN PREFIX
e: \\u0041"""
fragments = st.sampled_from(PIECES.split())


@settings(deadline=None, max_examples=examples(90, 1000))
@given(
    st.one_of(
        st.text(max_size=40),
        st.binary(max_size=60).map(lambda b: b.decode("latin-1")),
        st.lists(fragments, max_size=25).map(" ".join),
    )
)
def test_no_text_leads_to_anything_but_our_own_errors(text):
    found = None
    try:
        check(parse(text))
    except HybridkgError as e:
        found = e.at(SourceName("query", text))
    assert found is None or found.render()
    assert found is None or found.span is None or 0 <= found.span.start <= found.span.end <= len(text)


@pytest.mark.parametrize(
    "text", ["MATCH (p:Product) RETURN p", "kettle red", "PREFIX e: <e:> LIMIT 5", "EXPLAIN LIMIT 5", "5"]
)
def test_any_other_word_at_the_start_is_told_how_a_query_starts(text):
    assert error(text).message == "a query starts with SELECT, ASK, CONSTRUCT or DESCRIBE"


@pytest.mark.parametrize("text", ["UPDATE { ?s ?p ?o }", "PREFIX e: <e:> words", "INSERT DATA { } ; { }", "LIMIT"])
def test_any_other_word_at_the_start_is_told_how_an_update_starts(text):
    with pytest.raises(HybridkgError) as caught:
        parse_update(text)
    assert caught.value.message.startswith("an update starts with INSERT, DELETE, ")


@pytest.mark.parametrize("pattern", ["?x <e:p> EUR", "?x <e:p> 1 , EUR", "FILTER(?x = EUR)"])
def test_a_bare_word_where_a_text_may_stand_is_shown_in_quotes(pattern):
    assert error(f"SELECT * {{ {pattern} }}").hint.startswith('a text is in quotes: "EUR"\n')


def test_a_bare_word_where_a_class_stands_is_not_shown_as_a_text():
    assert "a text is in quotes" not in error("SELECT * { ?x a Product }").hint


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("?x <e:n> 'O'Neil'", r"put the text into double quotes, or write \' for the apostrophe"),
        ("?x MATCH 'O'Neil' AS ?s", r"put the text into double quotes, or write \' for the apostrophe"),
        ('?x MATCH "5"TV" AS ?s', r"put the text into single quotes, or write \" for the quotation mark"),
    ],
)
def test_a_quote_inside_a_text_is_told_to_have_ended_it(pattern, hint):
    found = error(f"SELECT * {{ {pattern} }}")
    assert (found.message[:18], found.hint) == ("the text ended at ", hint)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('SELECT * { ?g label "x" }', "label"),
        ("SELECT * { ?g isA <e:Film> }", "isA"),
        ("SELECT * { ?g rrf ?x }", "rrf"),
        ("SELECT * { ?s ?p ?o } ORDER BY label", "label"),
        ("SELECT * { ?s ?p ?o } GROUP BY label", "label"),
    ],
)
def test_a_name_without_its_prefix_is_told_how_iris_look(text, word):
    found = error(text)
    assert found.message == f"{word!r} is neither a keyword, a variable nor an IRI"
    assert "IRIs look like <http://...> or prefix:name" in found.hint
