"""Mistakes before the pattern: prefixes, SELECT, and texts with no query or with two."""

from __future__ import annotations

from hybridkg.query.diagnostics.entry import Help

QUERY_STARTS = Help(
    "a query starts with SELECT, ASK, CONSTRUCT or DESCRIBE",
    "PREFIX, BASE and EXPLAIN may stand before it; an update starts with INSERT, DELETE, WITH, LOAD, CLEAR, ...",
    (
        "{ ?s ?p ?o }",
        "?s ?p ?o",
        "WHERE { }",
        '"words"',
        "<e:s> ?p ?o",
        "words",
        "EXPLAIN { }",
        "EXPLAIN WHERE { }",
        "PREFIX ex: <e:> { }",
    ),
)
"""Also the help for every other word at the start."""

COLUMNS: tuple[Help, ...] = (
    Help(
        "columns of SELECT are separated by spaces, not by commas",
        "such as SELECT ?x ?y",
        ("SELECT ?x, ?y { }", "SELECT (1 AS ?x), ?y { }", "SELECT *, ?y { }"),
    ),
    Help(
        "SELECT needs columns",
        "name variables, such as SELECT ?x ?y, or write SELECT *",
        (
            "SELECT { }",
            "SELECT WHERE { }",
            "SELECT DISTINCT { }",
            "SELECT DISTINCT WHERE { }",
            "SELECT",
            "SELECT FROM <e:g> { }",
        ),
    ),
    Help(
        "a computed column stands in parentheses and has a name",
        "such as SELECT (COUNT(?x) AS ?n)",
        (
            "SELECT COUNT(?x) { }",
            "SELECT ?y COUNT(?x) { }",
            "SELECT ?y STR(?x) { }",
            "SELECT (COUNT(?x)) { }",
            "SELECT (?x) { }",
            "SELECT (?x + 1) { }",
            "SELECT ?x AS ?y { }",
            "SELECT ?y SUM(?x) { }",
            "SELECT SUM(?x) { }",
        ),
    ),
    Help(
        "DISTINCT directly follows SELECT",
        "such as SELECT DISTINCT ?x",
        ("SELECT ?x DISTINCT { }", "SELECT * DISTINCT { }"),
    ),
    Help(
        "the pattern of a query stands in braces",
        "such as WHERE { ?s ?p ?o }",
        (
            "SELECT ?x",
            "SELECT *",
            "SELECT * ?s ?p ?o",
            "SELECT * <e:s> ?p ?o",
            "SELECT * LIMIT 5",
            "SELECT ?x LIMIT 5",
            "SELECT ?x ORDER BY ?x",
            "SELECT * WHERE ?s ?p ?o",
            "SELECT * WHERE (?s ?p ?o)",
            "SELECT * WHERE",
            "SELECT * WHERE LIMIT 5",
            "ASK",
            "ASK ?s ?p ?o",
        ),
    ),
    Help(
        "a prefix ends with a colon",
        "such as PREFIX ex: <http://example.org/>",
        ("PREFIX ex <e:> ASK { }", "PREFIX <e:> ASK { }", "PREFIX ex:a <e:> ASK { }"),
    ),
    Help(
        "an IRI stands in angle brackets here",
        "such as PREFIX ex: <http://example.org/> or BASE <http://example.org/>",
        (
            "PREFIX ex: http://example.org/ ASK { }",
            'PREFIX ex: "http://example.org/" ASK { }',
            "PREFIX ex: e:x ASK { }",
            "PREFIX ex: ASK { }",
            "BASE http://example.org/ ASK { }",
            'BASE "e:" ASK { }',
            "PREFIX ex: = <e:> ASK { }",
        ),
    ),
    Help(
        "declarations are written as in SPARQL: without '@' and without a dot",
        "such as PREFIX ex: <http://example.org/>",
        ("@prefix ex: <e:> . ASK { }", "PREFIX ex: <e:> . ASK { }", "PREFIX ex: <e:> @prefix e: <e:> . ASK { }"),
    ),
    Help(
        "PREFIX and BASE come first",
        "move {found} and what follows it to the start",
        ("SELECT * { } PREFIX ex: <e:>", "SELECT * PREFIX ex: <e:> { }", "SELECT * { PREFIX ex: <e:> }"),
    ),
    Help(
        "patterns stand inside the braces",
        "move {found} and what follows it before the last brace",
        (
            "SELECT * { } FILTER(?x)",
            "SELECT * { } OPTIONAL { }",
            "SELECT * { } MINUS { }",
            "SELECT * { } BIND(1 AS ?x)",
            "SELECT * { } UNION { }",
            "SELECT * { } ?s ?p ?o",
            "SELECT * { } <e:s> ?p ?o",
            "SELECT * { } { }",
            "SELECT * { } LIMIT 5 FILTER(?x)",
        ),
    ),
    Help(
        "one text holds one query",
        "leave {found} and what follows it out",
        (
            "SELECT * { } SELECT * { }",
            "SELECT * { } LIMIT 5 SELECT * { }",
            "ASK { } ASK { }",
            "SELECT * { } ;",
            "SELECT * { } .",
            "SELECT * { } LIMIT 5 ;",
            "ASK { } ;",
        ),
    ),
    Help(
        "the query is empty",
        "start with SELECT, ASK, CONSTRUCT or DESCRIBE; an update with INSERT, DELETE, LOAD, CLEAR, ...",
        ("",),
    ),
    Help(
        "the query is missing",
        "start with SELECT, ASK, CONSTRUCT or DESCRIBE; an update with INSERT, DELETE, LOAD, CLEAR, ...",
        ("PREFIX ex: <e:>", "EXPLAIN", "EXPLAIN ANALYZE"),
    ),
    QUERY_STARTS,
)
