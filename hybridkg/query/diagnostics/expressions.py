"""Mistakes in expressions and VALUES."""

from __future__ import annotations

from hybridkg.query.diagnostics.entry import Help

EXPRESSIONS: tuple[Help, ...] = (
    Help("'==' is not an operator", "write '='", ("SELECT * { FILTER(?x == 1) }",)),
    Help(
        "a single '|' joins property paths, not conditions",
        "write '||'",
        ("SELECT * { FILTER(?x | ?y) }", "SELECT * { FILTER(?x = 1 | ?y) }", "SELECT * { FILTER(STR(?x) | ?y) }"),
    ),
    Help(
        "comparisons do not chain",
        "write ?a < ?b && ?b < ?c",
        ("SELECT * { FILTER(?a < ?b < ?c) }", "SELECT * { FILTER(?a = ?b = ?c) }", "SELECT * { FILTER(1 <= ?b <= 5) }"),
    ),
    Help(
        "NOT stands before EXISTS and IN only",
        "write '!' to negate a condition, such as !BOUND(?x)",
        (
            "SELECT * { FILTER(NOT ?x) }",
            "SELECT * { FILTER(NOT BOUND(?x)) }",
            "SELECT * { FILTER(NOT (?x = 1)) }",
            "SELECT * { FILTER NOT (?x) }",
        ),
    ),
    Help(
        "IN needs a list in parentheses",
        "such as ?x IN (1, 2, 3)",
        (
            "SELECT * { FILTER(?x IN 1) }",
            "SELECT * { FILTER(?x IN ?y) }",
            "SELECT * { FILTER(?x IN { 1 }) }",
            "SELECT * { FILTER(?x NOT IN ?y) }",
        ),
    ),
    Help(
        "a function needs its arguments in parentheses",
        "such as STR(?x)",
        (
            "SELECT * { FILTER(STR ?x) }",
            "SELECT * { FILTER(REGEX ?x) }",
            "SELECT * { FILTER(CONTAINS ?x) }",
            "SELECT (COUNT ?x AS ?n) { }",
            "SELECT (SUM ?x AS ?n) { }",
            "SELECT (COUNT * AS ?n) { }",
            "SELECT (BOUND ?x AS ?n) { }",
            "SELECT (NOW AS ?n) { }",
            "SELECT (COALESCE ?x AS ?n) { }",
        ),
    ),
    Help(
        "this function needs more arguments",
        'write "," and the next one before {found}',
        (
            "SELECT * { FILTER(REGEX(?x)) }",
            "SELECT * { FILTER(CONTAINS(?x)) }",
            "SELECT * { FILTER(IF(?x)) }",
            "SELECT * { FILTER(IF(?x, 1)) }",
            "SELECT * { FILTER(REPLACE(?x)) }",
            "SELECT * { FILTER(REPLACE(?x, 1)) }",
        ),
    ),
    Help(
        "this function takes no more arguments",
        'write ")" here',
        (
            "SELECT * { FILTER(STR(?x, 1)) }",
            "SELECT * { FILTER(CONTAINS(?x, ?y, ?z)) }",
            "SELECT * { FILTER(BOUND(?x, ?y)) }",
            "SELECT * { FILTER(REGEX(?x, ?y, ?z, ?w)) }",
            "SELECT (COUNT(?x, ?y) AS ?n) { }",
            "SELECT (SUM(?x, ?y) AS ?n) { }",
        ),
    ),
    Help(
        "BOUND takes a variable",
        "such as BOUND(?x)",
        (
            'SELECT * { FILTER(BOUND("x")) }',
            "SELECT * { FILTER(BOUND(<e:x>)) }",
            "SELECT * { FILTER(BOUND(x)) }",
            "SELECT * { FILTER(BOUND()) }",
        ),
    ),
    Help(
        "a list of conditions or values ends with a value",
        "write an expression before {found}",
        (
            "SELECT * { FILTER() }",
            "SELECT * { FILTER(?x && ) }",
            "SELECT * { FILTER(?x = ) }",
            "SELECT * { FILTER(?x + ) }",
            "SELECT * { FILTER(?x IN (1, )) }",
        ),
    ),
    Help(
        "an operator, a comma or a parenthesis is missing",
        "write it before {found}",
        (
            'SELECT * { FILTER(?x "y") }',
            "SELECT * { FILTER(?x ?y) }",
            "SELECT * { FILTER(CONTAINS(?x <e:y>)) }",
            "SELECT * { FILTER(STR(?x) ?y) }",
            "SELECT * { FILTER(1 ?y) }",
            "SELECT * { FILTER(?x = 1 ?y) }",
            'SELECT * { FILTER(?x = 1 "y") }',
            "SELECT * { FILTER(?x && ?y ?z) }",
            "SELECT * { FILTER(?x 5) }",
            "SELECT * { FILTER(?x (?y)) }",
            "SELECT * { FILTER(?x BOUND(?y)) }",
        ),
    ),
    Help(
        "VALUES has its values in braces",
        "such as VALUES ?x { 1 2 } or VALUES (?x ?y) { (1 2) (3 4) }",
        (
            "SELECT * { VALUES ?x (1 2) }",
            "SELECT * { VALUES ?x 1 }",
            "SELECT * { VALUES ?x <e:x> }",
            "SELECT * { VALUES ?x ?y { 1 } }",
            "SELECT * { VALUES (?x) (1) }",
            "SELECT * { VALUES (?x ?y) 1 }",
            "SELECT * { VALUES ?x, ?y { } }",
            "SELECT * { VALUES { 1 } }",
            "SELECT * { VALUES }",
        ),
    ),
    Help(
        "values are separated by spaces, not by commas",
        "such as VALUES ?x { 1 2 3 }",
        (
            "SELECT * { VALUES ?x { 1, 2 } }",
            "SELECT * { VALUES (?x ?y) { (1, 2) } }",
            "SELECT * { VALUES (?x ?y) { (1 2), (3 4) } }",
            "SELECT * { VALUES (?x, ?y) { } }",
        ),
    ),
    Help(
        "VALUES holds IRIs, literals and UNDEF only",
        "a computed value needs BIND",
        ("SELECT * { VALUES ?x { ?y } }", "SELECT * { VALUES (?x ?y) { (?z 1) } }", "SELECT * { VALUES ?x { _:b } }"),
    ),
    Help(
        "with variables in parentheses, every row stands in parentheses",
        "such as VALUES (?x ?y) { (1 2) (3 4) }",
        (
            "SELECT * { VALUES (?x) { 1 2 } }",
            "SELECT * { VALUES (?x) { <e:x> } }",
            'SELECT * { VALUES (?x) { "x" } }',
            "SELECT * { VALUES (?x) { UNDEF } }",
        ),
    ),
    Help(
        "with one variable, values stand without parentheses",
        "such as VALUES ?x { 1 2 }",
        ("SELECT * { VALUES ?x { (1) } }",),
    ),
)
