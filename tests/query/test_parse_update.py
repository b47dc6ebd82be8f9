"""Updates: what the grammar makes of them, and that a text is told from the other kind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import HybridkgError, QueryLimitError, QuerySyntaxError, SourceName
from hybridkg.query import ast
from hybridkg.query.checks.check_update import check_update
from hybridkg.query.parser import MAX_NESTING, parse, parse_update
from hybridkg.query.write import write_update

P = ast.Iri("e:p")


def only(text: str) -> ast.Operation:
    (operation,) = parse_update(text).operations
    return operation


def refused(read, text: str) -> HybridkgError:
    with pytest.raises(HybridkgError) as caught:
        read(text)
    return caught.value


# --- operations -------------------------------------------------------------------------------

X, Y = ast.Var("x"), ast.Var("y")
TRIPLE = ast.TriplePattern(X, P, Y)
BLOCK = ast.QuadTemplate((TRIPLE,))
IN_GRAPH = ast.QuadTemplate((TRIPLE,), ast.Var("g"))
WHERE = ast.Group((ast.Triples((TRIPLE,)),))


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("insert data { ?x <e:p> ?y }", ast.InsertData((BLOCK,))),
        ("DELETE DATA { ?x <e:p> ?y . GRAPH ?g { ?x <e:p> ?y } }", ast.DeleteData((BLOCK, IN_GRAPH))),
        ("INSERT DATA { GRAPH ?g { ?x <e:p> ?y } . ?x <e:p> ?y }", ast.InsertData((IN_GRAPH, BLOCK))),
        ("INSERT DATA { GRAPH <e:g> { } }", ast.InsertData((ast.QuadTemplate((), ast.Iri("e:g")),))),
        ("DELETE WHERE { ?x <e:p> ?y }", ast.Modify(WHERE, (BLOCK,), is_short=True)),
        (
            "DELETE WHERE { GRAPH ?g { ?x <e:p> ?y } }",
            ast.Modify(ast.Group((ast.GraphPattern(ast.Var("g"), WHERE),)), (IN_GRAPH,), is_short=True),
        ),
        ("DELETE { ?x <e:p> ?y } WHERE { ?x <e:p> ?y }", ast.Modify(WHERE, (BLOCK,))),
        ("INSERT { GRAPH ?g { ?x <e:p> ?y } } WHERE { ?x <e:p> ?y }", ast.Modify(WHERE, (), (IN_GRAPH,))),
        (
            "WITH <e:w> DELETE { } INSERT { ?x <e:p> ?y } USING <e:g> USING NAMED <e:h> WHERE { ?x <e:p> ?y }",
            ast.Modify(
                WHERE,
                (),
                (BLOCK,),
                ast.Iri("e:w"),
                (ast.DatasetClause(ast.Iri("e:g")), ast.DatasetClause(ast.Iri("e:h"), named=True)),
            ),
        ),
        (
            "DELETE { ?x <e:p> ?y } WHERE { ?x <e:p> ?y } RANK BY ?y AS ?r LIMIT 3 OFFSET 2",
            ast.Modify(
                WHERE, (BLOCK,), modifiers=ast.Modifiers(rank_by=ast.RankBy(Y, ast.Var("r")), limit=3, offset=2)
            ),
        ),
        (
            "DELETE { ?x <e:p> ?y } WHERE { ?x <e:p> ?y } ORDER BY DESC(?y)",
            ast.Modify(WHERE, (BLOCK,), modifiers=ast.Modifiers(order_by=(ast.OrderKey(Y, True),))),
        ),
        ("LOAD <e:f>", ast.LoadFile(ast.Iri("e:f"))),
        ("LOAD SILENT <e:f> INTO GRAPH <e:g>", ast.LoadFile(ast.Iri("e:f"), ast.Iri("e:g"), True)),
        ("CLEAR GRAPH <e:g>", ast.ClearGraphs(ast.Iri("e:g"))),
        ("clear silent default", ast.ClearGraphs("DEFAULT", silent=True)),
        ("DROP NAMED", ast.ClearGraphs("NAMED", drop=True)),
        ("DROP SILENT ALL", ast.ClearGraphs("ALL", drop=True, silent=True)),
        ("CREATE SILENT GRAPH <e:g>", ast.CreateGraph(ast.Iri("e:g"), True)),
        ("ADD DEFAULT TO GRAPH <e:g>", ast.CopyGraph("ADD", None, ast.Iri("e:g"))),
        ("move <e:g> to default", ast.CopyGraph("MOVE", ast.Iri("e:g"), None)),
        ("COPY SILENT <e:g> TO <e:h>", ast.CopyGraph("COPY", ast.Iri("e:g"), ast.Iri("e:h"), True)),
    ],
)
def test_an_operation_is_the_node_of_its_kind(text, operation):
    assert only(text) == operation


def test_the_span_of_an_operation_is_its_text():
    text = "PREFIX e: <e:> INSERT DATA { e:a e:p 1 } ; WITH e:g DELETE { ?s ?p ?o } WHERE { } LIMIT 2 ; CLEAR ALL ;"
    spans = [operation.span for operation in parse_update(text).operations]
    assert [text[span.start : span.end] for span in spans] == [
        "INSERT DATA { e:a e:p 1 }",
        "WITH e:g DELETE { ?s ?p ?o } WHERE { } LIMIT 2",
        "CLEAR ALL",
    ]


@pytest.mark.parametrize("text", ["", " # nothing\n", "PREFIX e: <e:>", "BASE <e:> PREFIX f: <f:>", "\ufeff"])
def test_a_request_may_be_empty(text):
    assert parse_update(text).operations == ()


@pytest.mark.parametrize(
    "text", ["CLEAR ALL", "CLEAR ALL;", "CLEAR ALL ; PREFIX e: <e:>", "PREFIX e: <f:> CLEAR ALL ;"]
)
def test_declarations_may_stand_before_and_behind_operations(text):
    assert only(text) == ast.ClearGraphs("ALL")


def test_a_declaration_holds_from_where_it_stands():
    text = "PREFIX e: <e:> BASE <http://b/> CLEAR GRAPH e:g ; PREFIX e: <f:> CLEAR GRAPH e:g ; CLEAR GRAPH <x>"
    update = parse_update(text)
    assert [operation.graphs.value for operation in update.operations] == ["e:g", "f:g", "http://b/x"]
    assert dict(update.prefixes) == {"e": "f:"}


@pytest.mark.parametrize(
    ("text", "explain"),
    [
        ("EXPLAIN CLEAR ALL", "plan"),
        ("EXPLAIN ANALYZE PREFIX e: <e:> CLEAR ALL", "analyze"),
        ("PREFIX e: <e:> explain CLEAR ALL ; CLEAR ALL", "plan"),
        ("CLEAR ALL", ""),
    ],
)
def test_explain_may_stand_before_an_update(text, explain):
    assert parse_update(text).explain == explain


def test_blank_nodes_of_one_request_have_labels_of_their_own():
    update = parse_update("INSERT DATA { [] <e:p> ( 1 ) } ; INSERT DATA { [ <e:p> 2 ] <e:q> _:b0_7 }")
    labels = [
        {node.label for triple in operation.quads[0].triples for node in (triple.subject, triple.object)
         if isinstance(node, ast.Blank)}
        for operation in update.operations
    ]  # fmt: skip
    assert [len(found) for found in labels] == [2, 2]
    assert not labels[0] & labels[1]


@pytest.mark.parametrize(
    "word", ["insert", "DELETE", "data", "into", "to", "copy", "add", "move", "load", "clear", "drop", "create", "with"]
)
def test_a_new_keyword_stays_a_name(word):
    query = parse(f"PREFIX {word}: <e:> SELECT ?{word} {{ ?{word} {word}:{word} 'x'@{word} ; ?p _:{word} }}")
    assert query.form.projection[0].variable == ast.Var(word)
    match = f"SELECT * {{ ?x MATCH 'a' ON ({word}^2 {word}=1) USING {word}({word}={word}) }}"
    assert parse(match).form.where.elements[0].items[0].model.name == word
    assert only(f"PREFIX {word}: <e:> INSERT DATA {{ {word}:{word} {word}:p ?{word} }}").quads[0].triples[0].object == (
        ast.Var(word)
    )


# --- queries and updates ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "text", "message", "hint", "place"),
    [
        (parse, "PREFIX e: <e:> delete where { ?s ?p ?o }", "this is an update", "hybridkg update KB ...", "delete"),
        (parse, "WITH <e:g> INSERT { } WHERE { } ; CLEAR ALL", "this is an update", "hybridkg update KB ...", "WITH"),
        (parse, "EXPLAIN CLEAR ALL", "this is an update", "hybridkg update KB ...", "CLEAR"),
        (parse_update, "PREFIX e: <e:> SELECT * { }", "this is a query", "hybridkg query KB ...", "SELECT"),
        (parse_update, "ASK { } VALUES ?x { 1 }", "this is a query", "hybridkg query KB ...", "ASK"),
    ],
)
def test_the_other_kind_of_text_is_told_where_it_belongs(read, text, message, hint, place):
    error = refused(read, text)
    assert isinstance(error, QuerySyntaxError)
    assert (error.message, error.hint.split(";")[0]) == (message, hint)
    assert text[error.span.start : error.span.end] == place


def test_an_empty_text_is_no_query():
    assert refused(parse, "").message == "the query is empty"
    assert refused(parse, "PREFIX e: <e:>").message == "the query is missing"


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("DELETE DATA { ?x MATCH 'a' }", "a MATCH cannot stand in DELETE DATA", "?x MATCH 'a'"),
        ("INSERT DATA { ?x NEAR 'a' }", "a NEAR cannot stand in INSERT DATA", "?x NEAR 'a'"),
        ("DELETE WHERE { ?x MATCH 'a' }", "a MATCH cannot stand in DELETE WHERE", "?x MATCH 'a'"),
        ("DELETE { ?x MATCH 'a' } WHERE { }", "a MATCH cannot stand in the template of DELETE", "?x MATCH 'a'"),
        (
            "INSERT { GRAPH ?g { ?x NEAR 'a' } } WHERE { }",
            "a NEAR cannot stand in the template of INSERT",
            "?x NEAR 'a'",
        ),
        (
            "INSERT { ?x <e:p>/<e:> 1 } WHERE { }",
            "a property path cannot stand in the template of INSERT",
            "<e:p>/<e:>",
        ),
        ("DELETE WHERE { ?x ^<e:p> 1 }", "a property path cannot stand in DELETE WHERE", "^<e:p>"),
    ],
)
def test_a_template_searches_for_nothing(text, message, place):
    error = refused(parse_update, text)
    assert error.message == message
    assert "WHERE" in error.hint
    assert text[error.span.start : error.span.end] == place


# --- hostile texts --------------------------------------------------------------------------------


def test_long_requests_take_time_that_grows_with_their_length(within):
    with within(20):
        many = parse_update(";".join(["CLEAR ALL"] * 20_000))
        assert len(many.operations) == 20_000
        blocks = "GRAPH <e:g> { } " * 10_000
        assert len(only(f"INSERT DATA {{ {blocks} }}").quads) == 10_000


def test_deep_templates_reach_a_limit():
    with pytest.raises(QueryLimitError, match=f"more than {MAX_NESTING} deep"):
        parse_update("INSERT DATA { <e:s> <e:p> " + "[ <e:p> " * MAX_NESTING + "1" + " ]" * MAX_NESTING + " }")


PIECES = """INSERT DELETE DATA WHERE WITH USING NAMED GRAPH CLEAR DROP CREATE LOAD INTO TO COPY MOVE ADD SILENT DEFAULT
ALL EXPLAIN { } { } { } ; . , ?x ?g _:b [ ] ( ) <e:p> <e:g> a 'x' 5 MATCH RANK BY ORDER LIMIT FILTER SELECT *
PREFIX e: \\u0041"""
TEXTS = [
    "PREFIX e: <e:> INSERT DATA { e:a e:p 1 , _:b GRAPH e:g { [] e:q ( 1 ?x ) } } ; DELETE WHERE { ?s ?p ?o }",
    "WITH <e:g> DELETE { ?x ?p ?o } INSERT { GRAPH ?o { ?x ?p _:n } } USING <e:h> "
    "WHERE { ?x MATCH 'a' AS ?s . ?x ?p ?o } RANK BY ?s LIMIT 3",
    "LOAD SILENT <e:f> INTO GRAPH <e:g> ; CLEAR ALL ; DROP NAMED ; CREATE GRAPH <e:g> ; COPY DEFAULT TO <e:g> ;",
]


@st.composite
def mutations(draw):
    """A good update with some of its words left out, repeated, or replaced."""
    words = draw(st.sampled_from(TEXTS)).split(" ")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(words) - 1))
        word = st.sampled_from([*PIECES.split(), *words, "", "\x00", "'"])
        words[at : at + draw(st.integers(0, 2))] = draw(st.lists(word, max_size=2))
        words = words or [""]
    return " ".join(words)


@settings(deadline=None, max_examples=examples(54, 5000))
@given(st.one_of(mutations(), st.lists(st.sampled_from(PIECES.split()), max_size=25).map(" ".join)))
def test_no_update_leads_to_anything_but_our_own_errors(text):
    try:
        update = parse_update(text)
        assert parse_update(write_update(update)) == update
        check_update(update)
    except HybridkgError as e:
        found = e.at(SourceName("update", text))
        assert found.render()
        assert found.span is None or 0 <= found.span.start <= found.span.end <= len(text)
