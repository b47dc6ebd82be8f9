"""Completion: what a query goes on with is always offered, and what is offered can always be taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sampling import examples, sampled

from hybridkg.cli.repl.colours import pieces
from hybridkg.cli.repl.completion import PLACEHOLDERS, suggest
from hybridkg.cli.repl.reading import read, statements, undeclared
from hybridkg.cli.repl.session import is_complete
from hybridkg.cli.repl.vocabulary import CompletionVocabulary
from hybridkg.query.diagnostics.expected import kind

ROOT = Path(__file__).resolve().parents[3]
QUERIES = sorted([*(ROOT / "tests" / "cases").glob("*.hq"), *(ROOT / "examples").rglob("*.hq")])
FIELDS = tuple({"field": name, "weight": 1.0} for name in ("title", "abstract"))
WORDS = CompletionVocabulary(
    predicates=(("http://e/f#title", 30), ("http://e/f#year", 20), ("http://odd.example/a b", 1)),
    classes=(("http://e/f#Film", 12),),
    fields=FIELDS,
    prefixes=(("f", "http://e/f#"),),
)
PREFIXES = {"f": "http://e/f#", "xsd": "http://www.w3.org/2001/XMLSchema#"}


def query_of(path: Path) -> str:
    return path.read_text(encoding="utf-8").split("=> ")[0]


def texts(before: str, after: str = "") -> list[str]:
    return [s.text for s in suggest(before, after, PREFIXES, WORDS)]


@pytest.mark.parametrize("path", sampled(QUERIES, *QUERIES[::3]), ids=lambda path: path.stem)
def test_wherever_a_query_is_cut_its_next_token_is_among_the_kinds_offered(path: Path):
    text = query_of(path)
    reading = read(text)
    assert reading.complete
    for token in reading.tokens:
        before = text[: token.start]
        before += "" if not before or before[-1].isspace() else " "
        kinds = {suggestion.kind for suggestion in suggest(before, text[token.start :])}
        assert kind(token.type) in kinds, (before[-40:], token, kinds)


BEGINNINGS = {text for text, _ in PLACEHOLDERS.values()} | {":"}


@pytest.mark.parametrize("path", QUERIES[::6], ids=lambda path: path.stem)
def test_the_parser_can_take_whatever_is_offered(path: Path):
    text = query_of(path)
    for token in read(text).tokens[::2]:
        before = text[: token.start]
        for suggestion in suggest(before, "", PREFIXES, WORDS):
            if suggestion.text.strip() not in BEGINNINGS and not suggestion.text.endswith("="):
                after = read(before[: suggestion.start] + suggestion.text + " ")
                assert after.stopped is None, (before[-40:], suggestion)
                assert after.failed is None, (before[-40:], suggestion)


@pytest.mark.parametrize("path", QUERIES[::6], ids=lambda path: path.stem)
def test_half_a_keyword_is_completed_to_the_keyword(path: Path):
    text = query_of(path)
    for token in read(text).tokens:
        if token.type.isalpha() and token.type.isupper() and len(token.text) > 3 and token.text.upper() == token.type:
            half = text[: token.start] + token.text[: len(token.text) // 2]
            found = [s for s in suggest(half, "", PREFIXES, WORDS) if s.kind == token.type]
            assert found, half[-40:]
            assert found[0].start == token.start


FRAGMENTS = st.sampled_from(
    ["SELECT", "?x", "$y", "{", "}", "(", ")", "MATCH", '"a"', '"', "'''", "<", "<http://e/>", "#c\n", "\n", " ", "ON",
     "f:title", "a", ".", ";", ",", "^", "@en", "@", "_:b", "_", "1", "-1.5", "USING", "bm25f", "FILTER", "\\u0041",
     "\\", ".help", ".explain ", "PREFIX", "f:", "ASK", "RANK BY", "é", "\ufeff", "\x00"]
)  # fmt: skip
TEXTS = (
    st.lists(FRAGMENTS, max_size=14).map(" ".join)
    | st.lists(FRAGMENTS, max_size=10).map("".join)
    | st.text(max_size=30)
)


@settings(max_examples=examples(48, 600), deadline=None)
@given(TEXTS, TEXTS)
@example("\x0c", "")
def test_no_text_is_too_odd_to_be_completed_coloured_or_cut(before: str, after: str):
    for suggestion in suggest(before, after, PREFIXES, WORDS):
        assert 0 <= suggestion.start <= len(before)
        assert suggestion.text
    assert "".join(text for _, text in pieces(before)) == before
    assert isinstance(is_complete(before), bool)
    undeclared(before)
    end = 0
    for statement in statements(before):
        assert statement.start >= end
        end = statement.start + len(statement.text)
        assert before[statement.start : end] == statement.text != ""


def test_fields_stand_in_on_models_behind_using_and_arguments_behind_a_field():
    assert texts('SELECT * { ?x MATCH "a" ON (')[:2] == ["title", "abstract"]
    assert texts('SELECT * { ?x MATCH "a" ON (title^3, ')[:2] == ["title", "abstract"]
    assert texts('SELECT * { ?x MATCH "a" ON (ab') == ["abstract"]
    assert "b=" in texts('SELECT * { ?x MATCH "a" ON (title^3 ')
    assert "bm25f" in texts('SELECT * { ?x MATCH "a" USING ')
    assert "k1=" in texts('SELECT * { ?x MATCH "a" USING bm25f(')


def test_encoders_stand_behind_using_of_a_near():
    assert texts('SELECT * { ?x MATCH "a" . ?x NEAR "b" USING ') == [
        "lsa",
        "model2vec",
        "openai",
        "published",
        "sentence-transformers",
    ]
    assert texts('SELECT * { ?x NEAR "b" USING l') == ["lsa"]
    assert "bm25f" in texts('SELECT * { ?x NEAR "b" . ?x MATCH "a" USING ')
    assert "k1=" not in texts('SELECT * { ?x NEAR "b" USING lsa(')


def test_classes_stand_behind_a_and_predicates_where_a_may_stand():
    assert texts("SELECT * { ?x a ")[:2] == ["?x", "f:Film"]
    assert texts("SELECT * { ?x f:") == ["f:title", "f:year"]
    assert texts("SELECT * { ?x ye") == ["f:year"]


def test_variables_of_the_whole_query_are_offered_the_last_one_first():
    assert texts("SELECT ?film { ?film f:year ?year . ?", "?after a f:Film }")[:3] == ["?year", "?film", "?after"]


def test_a_keyword_comes_with_what_must_follow_it():
    assert "GROUP BY" in texts("SELECT * {} ")
    assert "STRLEN(" in texts("SELECT * { FILTER(STRL")
    assert texts('SELECT * { ?x MATCH "a" ON')[0] == "ON ("


UPDATE = """PREFIX f: <http://e/f#> WITH f:g DELETE { ?x f:year ?y } INSERT { GRAPH ?x { ?x f:year 1 } } USING NAMED f:h
WHERE { ?x MATCH "a" AS ?s . ?x f:year ?y } RANK BY ?s LIMIT 3 ; INSERT DATA { f:a a f:Film } ;
LOAD SILENT <e:f> INTO GRAPH f:g ; CLEAR NAMED ; COPY DEFAULT TO f:g ; DELETE WHERE { ?s ?p ?o }"""


def test_wherever_an_update_is_cut_its_next_token_is_among_the_kinds_offered():
    reading = read(UPDATE)
    assert reading.complete
    for token in reading.tokens:
        kinds = {suggestion.kind for suggestion in suggest(UPDATE[: token.start], UPDATE[token.start :])}
        assert kind(token.type) in kinds, token


def test_the_keywords_of_updates_are_offered_where_they_stand():
    assert texts("INS") == ["INSERT"]
    assert "DATA" in texts("INSERT ")
    assert texts("LOAD <e:f> IN") == ["INTO GRAPH"]
    assert "RERANK TOP" not in texts("DELETE { } WHERE { } ")
    assert "f:Film" not in texts("COPY f")


@pytest.mark.parametrize("before", ['SELECT * { ?x ?p "ab', "SELECT * { # ?x", "SELECT } ", "SELECT * {} LIMIT 1"])
def test_nothing_is_offered_in_a_string_a_comment_a_number_or_behind_a_mistake(before: str):
    assert texts(before) == []


def test_less_than_is_not_the_beginning_of_an_iri():
    assert "<http" not in "".join(texts("SELECT * { FILTER(?x <"))


def test_declared_prefixes_win_over_those_of_the_session():
    assert "<http://e/f#title>" in texts("PREFIX f: <http://other/> SELECT * { ?x ")


def test_a_long_text_is_left_alone():
    assert texts("SELECT * { " + "?x a ?y . " * 6_000) == []
