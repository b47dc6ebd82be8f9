"""From text to tree: what is expanded, what is resolved, and where nodes say they stand."""

from __future__ import annotations

import pytest
from sampling import examples

from hybridkg.errors import QueryLimitError, QuerySyntaxError
from hybridkg.query import ast
from hybridkg.query.iris import resolve
from hybridkg.query.parser import parse

XSD = "http://www.w3.org/2001/XMLSchema#"
P = "PREFIX : <http://e/>\n"


def where(text: str) -> tuple[ast.Element, ...]:
    return parse(f"{P}SELECT * {{ {text} }}").form.where.elements


def items(text: str) -> tuple[ast.TriplePattern | ast.Match, ...]:
    (block,) = where(text)
    return block.items


def iri(name: str) -> ast.Iri:
    return ast.Iri(f"http://e/{name}")


def test_lists_of_predicates_and_objects_become_triples():
    s, o = ast.Var("s"), ast.Var("o")
    assert items("?s a :C ; :p ?o, 1 ; .") == (
        ast.TriplePattern(s, ast.Iri(ast.RDF + "type"), iri("C")),
        ast.TriplePattern(s, iri("p"), o),
        ast.TriplePattern(s, iri("p"), ast.Lit("1", XSD + "integer")),
    )


def test_collections_and_brackets_become_triples_with_fresh_nodes():
    first, rest, nil = (ast.Iri(ast.RDF + name) for name in ("first", "rest", "nil"))
    a, b, inner = ast.Blank("b1"), ast.Blank("b2"), ast.Blank("b0")
    assert items("(1 [ :p ?o ]) :q ()") == (
        ast.TriplePattern(a, first, ast.Lit("1", XSD + "integer")),
        ast.TriplePattern(a, rest, b),
        ast.TriplePattern(b, first, inner),
        ast.TriplePattern(b, rest, nil),
        ast.TriplePattern(inner, iri("p"), ast.Var("o")),
        ast.TriplePattern(a, iri("q"), nil),
    )


def test_fresh_labels_never_meet_those_of_the_query():
    (a, b) = items("_:b0 :p [] . _:b0_1 :p _:b1_")
    assert len({a.subject, a.object, b.subject, b.object}) == 4


def test_numbers_keep_their_text_and_get_their_type():
    texts = [
        (item.object.lexical, item.object.datatype.removeprefix(XSD))
        for item in items("?s :p 1, -1.50, +1e0, .5, TRUE")
    ]
    assert texts == [("1", "integer"), ("-1.50", "decimal"), ("+1e0", "double"), (".5", "decimal"), ("true", "boolean")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\tb\n\"\\"', 'a\tb\n"\\'),
        ("'it''", None),
        ("'''it's'''", "it's"),
        ('"""a"b""c\n"""', 'a"b""c\n'),
        (r'"\u0041\U00000042"', "AB"),
        (r'"\\u0041"', r"\u0041"),
        (r'"a\u0022b"', 'a"b'),
        (r'"\u005Cn"', r"\n"),
    ],
)
def test_strings_are_unescaped(text, value):
    if value is None:
        with pytest.raises(QuerySyntaxError):
            items(f"?s :p {text}")
    else:
        assert items(f"?s :p {text}")[0].object == ast.Lit(value)


def test_codepoint_escapes_stand_in_strings_and_iris_and_carets_still_point_right():
    assert items(r"?s <\u0070:\U0000006F> '\u0061'") == items("?s <p:o> 'a'")
    with pytest.raises(QuerySyntaxError) as caught:
        parse(r"SELECT ?x { ?x <\u0078:p> }")
    assert caught.value.span.start == len(r"SELECT ?x { ?x <\u0078:p> ")
    with pytest.raises(QuerySyntaxError, match="is not a character"):
        parse(r'SELECT * { ?s ?p "\uD800" }')
    with pytest.raises(QuerySyntaxError, match="no end"):
        parse(r"SELECT * { ?s ?p 'a\u0062 }")
    assert parse("ASK { ?s ?p ?o } # \\u0041") == parse("ASK { ?s ?p ?o }")


@pytest.mark.parametrize(
    "text",
    [r"?s :\u0070 ?o", r"?s :p ?\u006F", r"\u003Fs :p ?o", r"?s :p \u0022a\u0022", r"?s <p:\u003E> ?o",
     r"?s <p:\u0020> ?o", r"?s :p '\'' ; :q ?\u006F"],
)  # fmt: skip
def test_codepoint_escapes_stand_nowhere_else(text):
    with pytest.raises(QuerySyntaxError, match=r"outside of strings and IRIs|no IRI has"):
        items(text)


def test_prefixes_and_base_resolve_and_may_be_declared_again():
    query = parse("BASE <http://e/a/b> PREFIX p: <c#> BASE <../x/> PREFIX : <> PREFIX p: <d> ASK { :y p: <z> }")
    triple = query.form.where.elements[0].items[0]
    assert (triple.subject.value, triple.predicate.value, triple.object.value) == (
        "http://e/x/y",
        "http://e/x/d",
        "http://e/x/z",
    )
    assert query.prefixes == (("p", "http://e/x/d"), ("", "http://e/x/"))


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), (";x", "http://a/b/c/;x"),
        ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
        ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."),
        ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"), ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"), ("g;x=1/../y", "http://a/b/c/y"), ("g?y/../x", "http://a/b/c/g?y/../x"),
    ],
)  # fmt: skip
def test_references_resolve_as_in_rfc_3986_section_5_4(reference, expected):
    assert resolve(reference, "http://a/b/c/d;p?q") == expected


def test_local_names_may_have_escapes_dots_and_colons():
    objects = [item.object.value for item in items(r"?s ?p :a\,b, :a.b, :a:b, :%41, :1, : .")]
    assert objects == [f"http://e/{name}" for name in ("a,b", "a.b", "a:b", "%41", "1", "")]


@pytest.mark.parametrize(
    "word", ["match", "on", "top", "all", "query", "using", "snippet", "rank", "str", "a", "select"]
)
def test_our_keywords_stay_usable_as_names(word):
    text = f"PREFIX {word}: <http://e/> SELECT ?{word} {{ ?{word} {word}:{word} {word}:, _:{word} }} ORDER BY ?{word}"
    triple = parse(text).form.where.elements[0].items[0]
    assert triple.subject == ast.Var(word)
    assert triple.predicate == iri(word)


def test_keywords_have_any_case():
    assert parse('select ?x where { ?x match all "a" as ?s } rank by ?s limit 1') == parse(
        'SELECT ?x { ?x MATCH ALL "a" AS ?s } RANK BY ?s LIMIT 1'
    )
    with pytest.raises(QuerySyntaxError):
        parse("SELECT * { ?s A ?o }")


def test_match_has_all_its_parts():
    text = (
        '?e MATCH ALL QUERY "x"@en ON (on^0.5 b=0.4 as="y" form=galago, all@de) '
        "USING bm25f(k1=1, b=2) TOP 7 AS ?s SNIPPET ?t"
    )
    number = XSD + "integer"
    fields = (
        ast.OnField(
            "on",
            None,
            0.5,
            (
                ast.NamedArgument("b", ast.Lit("0.4", XSD + "decimal")),
                ast.NamedArgument("as", ast.Lit("y")),
                ast.NamedArgument("form", ast.Lit("galago")),
            ),
        ),
        ast.OnField("all", "de"),
    )
    model = ast.Model(
        "bm25f", (ast.NamedArgument("k1", ast.Lit("1", number)), ast.NamedArgument("b", ast.Lit("2", number)))
    )
    assert items(text) == (
        ast.Match(ast.Var("e"), ast.Lit("x", language="en"), True, True, fields, model, 7, ast.Var("s"), ast.Var("t")),
    )


def test_match_stands_among_triples_wherever_triples_stand():
    pattern = '?a :p ?b . ?b MATCH ?text . ?c :q ?a . ?c MATCH "x"'
    kinds = [type(item).__name__ for item in items(pattern)]
    assert kinds == ["TriplePattern", "Match", "TriplePattern", "Match"]
    for around in ("OPTIONAL {%s}", "{%s} UNION {%s}", "MINUS {%s}", "FILTER NOT EXISTS {%s}", "{SELECT * {%s}}"):
        where(around.replace("%s", pattern))


def test_explain_stands_before_or_after_the_prefixes():
    for text in ("EXPLAIN ANALYZE PREFIX : <http://e/> ASK {}", "PREFIX : <http://e/> explain analyze ASK {}"):
        assert parse(text).explain == "analyze"
    assert parse("EXPLAIN ASK {}").explain == "plan"


def test_nodes_know_their_place():
    text = P + 'SELECT ?x { ?x :p ?o ; :q ?y . FILTER(?o > 3 && ?y) ?x MATCH "a" USING bm25f(b=1) } RANK BY ?o'
    query = parse(text)

    def quoted(node: ast.Syntax) -> str:
        return text[node.span.start : node.span.end]

    block, condition, second = query.form.where.elements
    assert [quoted(item) for item in block.items] == ["?x :p ?o", ":q ?y"]
    assert quoted(condition) == "FILTER(?o > 3 && ?y)"
    assert quoted(condition.condition.left) == "?o > 3"
    assert quoted(second.items[0].model) == "bm25f"
    assert quoted(query.form.modifiers.rank_by) == "RANK BY ?o"
    assert quoted(query.form.projection[0]) == "?x"


def test_a_sub_select_in_braces_is_an_element_and_a_group_elsewhere():
    (element,) = where("{ SELECT ?x {} }")
    assert isinstance(element, ast.SubSelect)
    (element,) = where("{ { SELECT ?x {} } }")
    assert isinstance(element.elements[0], ast.SubSelect)
    assert isinstance(parse("SELECT * { SELECT ?x {} }").form.where.elements[0], ast.SubSelect)


def test_a_column_named_twice_is_one_column():
    assert len(parse("SELECT ?x ?y ?x {}").form.projection) == 2


N = examples(20_000, 100_000)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { FILTER(" + "(" * N + "1" + ")" * N + ") }",
        "SELECT * " + "{" * N + "}" * N,
        "SELECT * { FILTER(" + "!" * N + "?x) }",
        "SELECT * { FILTER(" + "- " * N + "?x) }",
        "SELECT * { FILTER(" + "!(" * N + "?x" + ")" * N + ") }",
        "SELECT * { ?s " + "(" * N + "<e:p>" + ")" * N + " ?o }",
        "SELECT * { ?s " + "^(" * N + "<e:p>" + ")" * N + " ?o }",
        "SELECT * { ?s ?p " + "[ <e:p> " * N + "1" + "]" * N + " }",
        "SELECT * { ?s ?p " + "(" * N + "1" + ")" * N + " }",
        "SELECT * { FILTER(" + "||".join(["?x"] * N) + ") }",
        "SELECT * { FILTER(" + "+".join(["?x"] * N) + ") }",
        "SELECT * { FILTER(?x" + " -1" * N + ") }",
        "SELECT * { FILTER(?x -1" + "*?y" * N + ") }",
        "SELECT * {" + "OPTIONAL {" * min(N, 90_000),
        "SELECT * " + "{SELECT * " * min(N, 90_000),
        "SELECT * {" + "FILTER EXISTS{" * min(N, 70_000),
        "SELECT * { FILTER(" + "STR(" * N,
        # Of the number of words, which test_limits.py has with a smaller limit.
        pytest.param("SELECT * { ?s ?p " + ",".join(["?x"] * 200_000) + " }", marks=pytest.mark.exhaustive),
        pytest.param("SELECT * { ?s " + "/".join(["<e:p>"] * 100_000) + " ?o }", marks=pytest.mark.exhaustive),
        "x" * 1_000_001,
        "PREFIX a: <e:" + "x" * 500_000 + "> SELECT * { VALUES ?x {" + " a:b" * 100_000 + "} }",
        "SELECT * { } LIMIT " + "9" * 900_000,
    ],
)  # fmt: skip
def test_deep_or_large_text_is_an_error_with_a_place_and_nothing_worse(text):
    with pytest.raises((QueryLimitError, QuerySyntaxError)) as caught:
        parse(text)
    assert len(str(caught.value)) < 2_000


def test_nesting_up_to_the_limit_can_be_walked_written_and_compared():
    from hybridkg.query.checks.check import check
    from hybridkg.query.walk import rebuild
    from hybridkg.query.write import write

    for text in (
        "SELECT * { FILTER(" + "!(" * 95 + "?x" + ")" * 95 + ") }",
        "SELECT * " + "{" * 99 + "}" * 99,
        "SELECT * {" + "OPTIONAL {" * 70 + "}" * 71,
        "SELECT * { FILTER(" + " || ".join(["?x"] * 150) + ") }",
    ):
        query = parse(text)
        check(query)
        assert parse(write(query)) == query

        def same(node: ast.Syntax) -> ast.Syntax:
            return rebuild(node, same)

        assert same(query) == query
