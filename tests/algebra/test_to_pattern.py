"""What the translator makes of a group. That the rows are right is in tests/graph/test_fragments_equal_oxigraph.py."""

from __future__ import annotations

import pytest

from hybridkg.algebra.pattern_text import pattern_text
from hybridkg.algebra.to_pattern import DeclinedPattern, pattern_of
from hybridkg.interfaces import graph_index as g
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.rdf.terms import XSD, Literal, NamedNode

PROLOGUE = f"PREFIX : <e:> PREFIX xsd: <{XSD}>\n"
A, B, C = (g.Variable(name) for name in "abc")
P, Q = g.PredicatePath("e:p"), g.PredicatePath("e:q")
SEVEN = Literal("7", datatype=NamedNode(XSD + "integer"))


def translated(text: str) -> g.Pattern | DeclinedPattern:
    return pattern_of(parse(f"{PROLOGUE}SELECT * {{ {text} }}").form.where)


def read_as(text: str) -> tuple[g.Test, ...]:
    pattern = translated(f"?a :p ?b FILTER({text})")
    assert isinstance(pattern, g.Restrict), pattern
    return pattern.tests


def reason(text: str) -> str:
    pattern = translated(text)
    assert isinstance(pattern, DeclinedPattern), pattern
    return pattern.reason


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("", g.Join(())),
        ("?a :p ?b", g.Scan(A, P, B)),
        ("?a :p ?b . ?b :q ?c", g.Join((g.Scan(A, P, B), g.Scan(B, Q, C)))),
        ("?a :p ?b { ?b :q ?c }", g.Join((g.Scan(A, P, B), g.Scan(B, Q, C)))),
        ('?a :p "07"^^xsd:int', g.Scan(A, P, SEVEN)),
        ("?a ^:p ?b", g.Scan(B, P, A)),
        ("?a (:p|:q)? ?b", g.Scan(A, g.Closure(g.AlternativePath((P, Q)), 0, 1), B)),
        ("?a (:p/^:q)+ ?b", g.Scan(A, g.Closure(g.Steps((P, g.InversePath(Q))), 1, None), B)),
        ("?a :p*/:q ?b", g.Join((g.Scan(A, g.Closure(P, 0, None), g.Variable(" 1")), g.Scan(g.Variable(" 1"), Q, B)))),
        ("?a ^(:p/:q) ?b", g.Join((g.Scan(B, P, g.Variable(" 1")), g.Scan(g.Variable(" 1"), Q, A)))),
        ("?a :p ?b OPTIONAL { ?b :q ?c }", g.LeftJoin(g.Scan(A, P, B), g.Scan(B, Q, C))),
        ("?a :p ?b MINUS { ?b :q ?c }", g.Minus(g.Scan(A, P, B), g.Scan(B, Q, C))),
        ("?a :p ?b FILTER EXISTS { ?b :q ?c }", g.Exists(g.Scan(A, P, B), g.Scan(B, Q, C))),
        ("?a :p ?b FILTER(!EXISTS { ?b :q ?c })", g.Exists(g.Scan(A, P, B), g.Scan(B, Q, C), negated=True)),
        ("{ ?a :p ?b } UNION { ?b :q ?c }", g.Union((g.Scan(A, P, B), g.Scan(B, Q, C)))),
        ("VALUES (?a ?b) { (:x UNDEF) }", g.Values(("a", "b"), ((NamedNode("e:x"), None),))),
        ("{ SELECT DISTINCT ?b { ?a :p ?b } }", g.Distinct(g.Scan(A, P, B), ("b",))),
        ("{ SELECT * { ?a :p ?b } ORDER BY ?b }", g.Distinct(g.Scan(A, P, B), ("a", "b"), False)),
    ],
)
def test_each_form_has_its_pattern(text, pattern):
    assert translated(text) == pattern


def test_a_blank_node_is_one_variable_in_its_basic_graph_pattern():
    pattern = translated("_:x :p ?a FILTER(?a = :y) _:x :q [] { [] :p ?a }")
    assert pattern_text(pattern) == ("_:1 <e:p> ?a . _:1 <e:q> _:2 . _:3 <e:p> ?a FILTER(?a = <e:y>)")


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("?b > 7", (g.ValueComparison("b", ">", SEVEN),)),
        ("7 > ?b", (g.ValueComparison("b", "<", SEVEN),)),
        ("?b != - 7", (g.ValueComparison("b", "!=", Literal("-7", datatype=SEVEN.datatype)),)),
        ("?b >= 7 && ?a = :x", (g.ValueComparison("b", ">=", SEVEN), g.ValueComparison("a", "=", NamedNode("e:x")))),
        ("!(?b = 7)", (g.ValueComparison("b", "!=", SEVEN),)),
        ("!(?b > 7)", (g.Opaque("b", "!(?x > 7)"),)),
        ("!(?b != 7 || ?a != :x)", (g.ValueComparison("b", "=", SEVEN), g.ValueComparison("a", "=", NamedNode("e:x")))),
        (
            "?b IN (7, :x)",
            (g.AnyOf((g.ValueComparison("b", "=", SEVEN), g.ValueComparison("b", "=", NamedNode("e:x")))),),
        ),
        ("?b NOT IN (7, :x)", (g.ValueComparison("b", "!=", SEVEN), g.ValueComparison("b", "!=", NamedNode("e:x")))),
        ("!(?b NOT IN (7))", (g.ValueComparison("b", "=", SEVEN),)),
        ('CONTAINS(?b, "x"@en)', (g.StringTest("CONTAINS", "b", Literal("x", language="en")),)),
        ('!CONTAINS(?b, "x")', (g.Opaque("b", '!CONTAINS(?x, "x")'),)),
        ('STRSTARTS(STR(?b), "x")', (g.Opaque("b", 'STRSTARTS(STR(?x), "x")'),)),
        ("?a = ?b", (g.Same("a", "b"),)),
        ("?b != ?a", (g.Same("b", "a", negated=True),)),
        ("!sameTerm(?a, ?b)", (g.Same("a", "b", negated=True),)),
        ("sameTerm(:x, ?b)", (g.ValueComparison("b", "=", NamedNode("e:x")),)),
        (
            'lang(?b) = "en" || ?b < 7',
            (g.AnyOf((g.Opaque("b", 'LANG(?x) = "en"'), g.ValueComparison("b", "<", SEVEN))),),
        ),
        ("?b + 1 < 7", (g.Opaque("b", "?x + 1 < 7"),)),
        ("xsd:integer(?b) = 7", (g.Opaque("b", f"<{XSD}integer>(?x) = 7"),)),
        ("!BOUND(?b)", (g.AnyOf(()),)),
    ],
)
def test_conditions_become_tests_of_values(text, tests):
    assert read_as(text) == tests


def test_a_condition_that_is_always_true_is_no_test():
    assert translated("?a :p ?b FILTER(BOUND(?b) || ?b = 7)") == g.Scan(A, P, B)


def test_a_filter_of_an_optional_that_reads_both_sides_belongs_to_the_left_join():
    pattern = translated("?a :p ?b OPTIONAL { ?a :q ?c FILTER(?c > 7 && ?b < 7) }")
    inner = g.Restrict(g.Scan(A, Q, C), (g.ValueComparison("c", ">", SEVEN),))
    assert pattern == g.LeftJoin(g.Scan(A, P, B), inner, (g.ValueComparison("b", "<", SEVEN),))


def test_rows_without_a_partner_are_a_not_exists():
    pattern = translated("?a :p ?b OPTIONAL { ?a :q ?c } FILTER(!BOUND(?c))")
    assert pattern == g.Exists(g.Scan(A, P, B), g.Scan(A, Q, C), negated=True)


@pytest.mark.parametrize(
    "text",
    [
        "?a :p ?b OPTIONAL { ?a :q ?c FILTER(?b > 7) } FILTER(!BOUND(?c))",
        "?a :p ?b OPTIONAL { ?a :q ?c } OPTIONAL { ?b :q ?c } FILTER(!BOUND(?c))",
        "?a :p ?b OPTIONAL { ?a :q ?b OPTIONAL { ?a :r ?c } } FILTER(!BOUND(?c))",
    ],
)
def test_an_unbound_variable_that_says_something_else_is_declined(text):
    assert reason(text) == "a condition that may hold of an unbound variable"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("?a !:p ?b", "a negated property set"),
        ("GRAPH :g { ?a :p ?b }", "GRAPH"),
        ("SERVICE :s { ?a :p ?b }", "SERVICE"),
        ("BIND(1 AS ?x)", "BIND"),
        ("{ SELECT REDUCED ?a { ?a :p ?b } }", "REDUCED"),
        ("{ SELECT (COUNT(*) AS ?n) { ?a :p ?b } }", "a sub-select that computes"),
        ("{ SELECT ?a { ?a :p ?b } GROUP BY ?a }", "a sub-select that computes"),
        ("{ SELECT ?a { ?a :p ?b } LIMIT 3 }", "a sub-select with a limit"),
        ("?a :p ?b FILTER(?c > 1)", "a condition on a variable that its group does not bind"),
        ("?a :p ?b { ?c :p ?a FILTER(?b > 1) }", "a condition on a variable that its group does not bind"),
        ("?c :p ?a . ?d :p ?b FILTER(?a = ?b)", "a comparison of two values"),
        ("?a :p ?b FILTER(?a < ?b)", "a condition on several variables"),
        ("?a :p ?b FILTER(1 < 2)", "a condition without a variable"),
        ("?a :p ?b FILTER(RAND() < ?b)", "RAND"),
        ("?a :p ?b FILTER(:f(?b))", "a function of its own"),
        ("?a :p ?b FILTER(EXISTS { ?a :q ?b } || ?b > 1)", "EXISTS within another condition"),
        (
            "?a :p ?b OPTIONAL { ?a :q ?c } FILTER(!BOUND(?c) || ?c > 1)",
            "a condition that may hold of an unbound variable",
        ),
        (
            "?a :p ?b OPTIONAL { ?a :q ?c } FILTER(COALESCE(?c, 1) = 1)",
            "a condition that may hold of an unbound variable",
        ),
        ("?a :p? ?b FILTER(?a = 7)", "a condition on what begins a path of length zero"),
        (
            "?a :p ?b FILTER EXISTS { ?a :q ?c FILTER(?b > 1) }",
            "an EXISTS that depends on its row by more than equal values",
        ),
        (
            "?a :p ?b OPTIONAL { ?b :q ?c FILTER EXISTS { ?a :q ?c } }",
            "EXISTS of an OPTIONAL that reads what is before it",
        ),
    ],
)
def test_what_the_projection_cannot_say_is_declined_with_its_reason(text, why):
    assert reason(text) == why


@pytest.mark.parametrize("term", [ast.Iri("no iri"), ast.Lit("x", "no iri"), ast.Lit("x", language="-")])
def test_terms_that_no_parser_makes_are_declined(term):
    triple = ast.TriplePattern(ast.Var("a"), ast.Iri("e:p"), term)
    assert pattern_of(ast.Group((ast.Triples((triple,)),))) == DeclinedPattern("a term that RDF does not have")


def test_a_dataset_is_declined():
    assert pattern_of(ast.Group(()), (ast.DatasetClause(ast.Iri("e:g")),)) == DeclinedPattern("FROM")


@pytest.mark.parametrize(
    "text",
    [
        "?a :p ?b" + " OPTIONAL { ?a :p ?c }" * 1_000,
        "?a :p ?b" + " FILTER EXISTS { ?a :p ?c }" * 1_000,
        "?a :p ?b" + " OPTIONAL { ?a :p ?b" * 70 + " }" * 70,
        "?a :p ?b" + " FILTER EXISTS { ?a :p ?b" * 40 + " }" * 40,
        "{ ?a :p ?b } UNION {" * 70 + "}" * 70,
        "?a " + "/".join([":p"] * 1_000) + " ?b",
        "?a " + "(" * 50 + ":p" + "/:q)*" * 50 + " ?b",
        "?a :p ?b FILTER(" + "!(" * 70 + "?b > 1" + ")" * 70 + ")",
        "?a :p ?b FILTER(" + " || ".join(["?b > 1"] * 100) + ")",
        "?a :p ?b" + " FILTER(?b > 1)" * 1_000,
    ],
)
def test_hostile_groups_end_in_a_bounded_pattern_or_a_reason(text):
    pattern = translated(text)
    if isinstance(pattern, DeclinedPattern):
        assert pattern.reason == "a pattern of more than 100 levels"
    else:
        assert pattern == translated(text)
        assert hash(pattern) == hash(translated(text))
        assert pattern_text(pattern)
