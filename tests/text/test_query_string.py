from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridkg.errors import Source, Span, TextQueryError, UnknownNameError
from hybridkg.interfaces.text_index import FieldChoice, TextQuery
from hybridkg.text.query_string import parse_query_string


def plain(*words):
    return [("should", "", False, word) for word in words]


def parsed(text):
    return [(c.role, c.field, c.phrase, c.text) for c in parse_query_string(text)]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", []),
        ("  ", []),
        ("red fish", plain("red", "fish")),
        ('"red fish"', [("should", "", True, "red fish")]),
        ('+red -"old man"', [("must", "", False, "red"), ("not", "", True, "old man")]),
        ("title:red", [("should", "title", False, "red")]),
        ('-title:"a b" x', [("not", "title", True, "a b"), ("should", "", False, "x")]),
        ("low-resource C++ a+b", plain("low-resource", "C++", "a+b")),
        ("x -low-resource", [("should", "", False, "x"), ("not", "", True, "low-resource")]),
        ("BERT - a model", plain("BERT", "a", "model")),
        ("10:30", plain("10:30")),
        (r"\+red \"quoted\" a\:b", plain("+red", '"quoted"', "a:b")),
        (r'"say \"so\""', [("should", "", True, 'say "so"')]),
        ('red"old man"', [("should", "", False, "red"), ("should", "", True, "old man")]),
        ("A * b (CNN)", plain("A", "*", "b", "(CNN)")),
    ],
)  # fmt: skip
def test_the_clauses_of_a_text(text, want):
    assert parsed(text) == want


@pytest.mark.parametrize(
    ("text", "message", "span"),
    [
        ('red "old man', "this quote is not closed", (4, 12)),
        ("title: red", "no term behind 'title:'", (0, 6)),
        ("red title:", "no term behind 'title:'", (4, 10)),
        (":red", 'no field name before ":"', (0, 1)),
        ("-red -sea", "only excluded terms; nothing is left to search for", (0, 9)),
        ("neur* net", "prefix search is not in this version", (4, 5)),
        ("fish~1", "fuzzy search is not in this version", (4, 6)),
        ('"a b"~5', "words near each other is not in this version", (5, 7)),
    ],
)
def test_a_malformed_text_is_an_error_at_its_place(text, message, span):
    with pytest.raises(TextQueryError) as e:
        parse_query_string(text)
    assert (e.value.message, e.value.span) == (message, Span(*span))


def test_an_error_renders_with_a_caret():
    with pytest.raises(TextQueryError) as e:
        parse_query_string('red "old man')
    assert e.value.at(Source("text", 'red "old man')).render().splitlines()[:4] == [
        "error[T701]: this quote is not closed",
        " --> text:1:5",
        "  |",
        '1 | red "old man',
    ]


def test_too_many_parts_are_an_error():
    with pytest.raises(TextQueryError, match="more than 10,000 parts"):
        parse_query_string("a " * 10_001)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from('ab:"+-*~\\ ()'), max_size=12))
def test_every_text_parses_or_is_a_text_query_error(text):
    try:
        spans = [clause.span for clause in parse_query_string(text)]
    except TextQueryError as e:
        spans = [e.span or Span(-1, -1)]
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)


def test_a_field_must_be_among_the_fields_searched(build):
    index = build({0: {"title": "red", "body": "sea"}})
    with pytest.raises(UnknownNameError) as e:
        index.check(TextQuery("body:red", fields=(FieldChoice("title"),)))
    assert e.value.message == "no field 'body' among the fields searched: title"
    with pytest.raises(UnknownNameError) as e:
        index.check(TextQuery("red titel:fish"))
    assert (e.value.hint, e.value.span) == ("did you mean 'title'?", Span(4, 14))


def test_an_excluded_compound_is_a_phrase_and_a_plain_one_is_not(build):
    index = build({0: {"body": "low resource"}, 1: {"body": "resource low"}, 2: {"body": "low x"}})
    assert index.matching(TextQuery("low-resource"))[0].tolist() == [0, 1, 2]
    assert index.matching(TextQuery("low -low-resource"))[0].tolist() == [1, 2]
    assert index.matching(TextQuery("+low-resource"))[0].tolist() == [0, 1]


def test_too_many_different_terms_are_an_error(build):
    index = build({0: {"body": "low"}})
    with pytest.raises(TextQueryError, match="more than 1,024 different terms"):
        index.check(TextQuery(" ".join(f"t{i}" for i in range(1025)), syntax=False))
    index.check(TextQuery("same " * 5000, syntax=False))
