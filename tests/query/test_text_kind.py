"""A text is known as a query or an update by its first keyword, as the parser knows it by all of them."""

from __future__ import annotations

import pytest

from hybridkg.query import ast
from hybridkg.query.parser import parse, parse_update
from hybridkg.query.text_kind import query_keyword, update_keyword

PROLOGUES = (
    "",
    "PREFIX : <http://e/>\nBASE <http://b/>",
    "# DELETE WHERE { ?s ?p ?o }\n",
    "PREFIX insert: <http://e/select#> # ASK {}\n\n",
    "\ufeff",
    "explain PREFIX : <http://e/> ",
    "PREFIX : <http://e/> EXPLAIN ANALYZE ",
)
UPDATES = (
    "INSERT DATA { <a:s> <a:p> 1 }",
    "delete where { ?s ?p ?o }",
    "WITH <a:g> DELETE { ?s ?p 1 } WHERE { ?s ?p ?o }",
    "LOAD <a:f>",
    "CLEAR ALL",
    "DROP DEFAULT",
    "CREATE GRAPH <a:g>",
    "ADD <a:g> TO DEFAULT",
    "MOVE DEFAULT TO <a:g>",
    "COPY <a:g> TO <a:h>",
)
QUERIES = ("SELECT * {}", "ask {}", "CONSTRUCT WHERE { ?s ?p ?o }", "DESCRIBE <a:s>", "SELECT(1 AS ?x) {}")


@pytest.mark.parametrize("prologue", PROLOGUES)
@pytest.mark.parametrize("update", UPDATES)
def test_an_update_is_known_by_its_first_keyword(prologue, update):
    text = prologue + update
    assert isinstance(parse_update(text), ast.Update)
    span = update_keyword(text)
    assert text[span.start : span.end] == update.split()[0]
    assert query_keyword(text) is None


@pytest.mark.parametrize("prologue", PROLOGUES)
@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_known_by_its_first_keyword(prologue, query):
    text = prologue + query
    assert isinstance(parse(text), ast.Query)
    span = query_keyword(text)
    assert query.startswith(text[span.start : span.end])
    assert update_keyword(text) is None


@pytest.mark.parametrize("text", ["", "# nothing", "PREFIX : <http://e/>", "insertion", "delete:x a 1", "hello INSERT"])
def test_what_begins_neither_is_neither(text):
    assert update_keyword(text) is None
    assert query_keyword(text) is None


def test_a_long_text_before_the_keyword_is_read_once():
    text = "# DELETE\n" * 100_000 + " \n" * 100_000 + "PREFIX : <a:b> " * 10_000
    assert update_keyword(text) is None
    assert update_keyword(text + "INSERT DATA {").start == len(text)
