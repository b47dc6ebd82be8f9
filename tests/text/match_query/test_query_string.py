from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import SourceName, Span, TextQueryError, UnknownNameError
from hybridkg.interfaces.text_index import FieldChoice, TextQuery
from hybridkg.text.match_query.query_string import MAX_DEPTH, Clause, clauses_of, parse_query_string


def plain(*words):
    return [("should", "", False, word) for word in words]


def parsed(text):
    return [(c.role, c.field, c.phrase, c.text) for c in clauses_of(parse_query_string(text))]


def shown(parts):
    """The tree as text: every group in parentheses, every operator written out."""
    return " ".join(map(shown_part, parts))


def shown_part(part):
    sign = {"should": "", "must": "+", "not": "-"}[part.role]
    boost = f"^{part.boost:g}" if part.boost != 1 else ""
    if not isinstance(part, Clause):
        return f"{sign}({shown(part.parts)}){boost}"
    text = f'"{part.text}"' if part.phrase else part.text
    near = "" if part.near is None else f"~{part.near}"
    edits = "" if part.edits is None else f"~{part.edits}"
    field = part.field and f"{part.field}:"
    return f"{sign}{field}{text}{near}{'*' if part.prefix else ''}{edits}{boost}"


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
        ("A * b (CNN)", plain("A", "*", "b", "CNN")),
        ("f(x) O(n log(n)) g(", plain("f(x)", "O(n", "log(n))", "g(")),
        ("a^b 10^6 x^2 C++^2 2^10", plain("a^b", "10^6", "x^2", "C++^2", "2^10")),
        ("A* 5* *ism wo*rd M*A*S*H f(mod*)", plain("A*", "5*", "*ism", "wo*rd", "M*A*S*H", "f(mod*)")),
        ("~user ~ 10~20 a~b", plain("~user", "~", "10~20", "a~b")),
        (r"\(see below\) pre\* word\~1 term\^2", plain("(see", "below)", "pre*", "word~1", "term^2")),
        ("神经* がん*", plain("神经*", "がん*")),
        ("() red ( ) +() -(( )) title:()", plain("red")),
        ("(see below)", plain("see", "below")),
    ],
)  # fmt: skip
def test_the_clauses_of_a_text(text, want):
    assert parsed(text) == want


@pytest.mark.parametrize(
    ("text", "message", "span"),
    [
        ('red "old man', "this quote is not closed", (4, 12)),
        ("title: red", "no term after 'title:'", (0, 6)),
        ("red title:", "no term after 'title:'", (4, 10)),
        (":red", 'no field name before ":"', (0, 1)),
        ("-red -sea", "only excluded terms; nothing is left to search for", (0, 9)),
        ("red (sea", "this parenthesis is not closed", (4, 8)),
        ("(red (sea)", "this parenthesis is not closed", (0, 10)),
        ("(f(x) y", "this parenthesis is not closed", (0, 7)),
        ("red) sea", "this parenthesis closes nothing", (3, 4)),
        ("f(x)) y", "this parenthesis closes nothing", (4, 5)),
        ("red +(-sea)", "only excluded terms; nothing is left to search for", (6, 10)),
        ("fish~3", "a fuzzy word is 1 or 2 edits away, not 3", (4, 6)),
        ("fish~0.8", "a fuzzy word is 1 or 2 edits away, not 0.8", (4, 8)),
        ("red^0", "boost ^0 is not between 0.000001 and 1,000,000", (3, 5)),
        ("(red)^1e7", "boost ^1e7 is not between 0.000001 and 1,000,000", (5, 9)),
        ("red^" + "9" * 400, "boost ^9999999999999999999… is not between 0.000001 and 1,000,000", (3, 404)),
        ('"a b"~', "'~' has no meaning after a phrase", (5, 6)),
        ('"a b"~2x', "'~' has no meaning after a phrase", (5, 6)),
        ('"a b"*', "'*' has no meaning after a phrase", (5, 6)),
        ("(a b)~2", "'~' has no meaning after a group", (5, 6)),
        (
            "red -low-res*",
            "words that are excluded together are a phrase, and a phrase has no prefix and no fuzzy words",
            (4, 13),
        ),
        ("red AND sea OR old", "AND and OR beside each other need parentheses", (4, 7)),
        ("red OR sea AND old", "AND and OR beside each other need parentheses", (4, 6)),
        ("TO BE OR NOT TO BE", "OR joins alternatives, and a part with '+', '-' or NOT is none", (6, 8)),
        ("red OR +sea", "OR joins alternatives, and a part with '+', '-' or NOT is none", (4, 6)),
        ("red AND OR sea", "'AND' and 'OR' follow each other", (8, 10)),
        ("red NOT NOT sea", "'NOT' and 'NOT' follow each other", (8, 11)),
        ("NOT red", "only excluded terms; nothing is left to search for", (4, 7)),
    ],
)
def test_a_malformed_text_is_an_error_at_its_place(text, message, span):
    with pytest.raises(TextQueryError) as e:
        parse_query_string(text)
    assert (e.value.message, e.value.span) == (message, Span(*span))


def test_an_error_renders_with_a_caret():
    with pytest.raises(TextQueryError) as e:
        parse_query_string('red "old man')
    assert e.value.at(SourceName("text", 'red "old man')).render().splitlines()[:4] == [
        "error[T701]: this quote is not closed",
        " --> text:1:5",
        "  |",
        '1 | red "old man',
    ]


def test_too_many_parts_are_an_error():
    with pytest.raises(TextQueryError, match="more than 10,000 parts"):
        parse_query_string("a " * 10_001)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("+(red -sea) fish", '+(red -"sea") fish'),
        ('(a (b +"c d")) -(e f)', '(a (b +"c d")) -(e f)'),
        ('title:(red body:sea "old man")^2', '(title:red body:sea title:"old man")^2'),
        ("neur* title:neur* +neur*^3 -neur*", "neur* title:neur* +neur*^3 -neur*"),
        ("neural~ neural~1 title:neural~2^.5", "neural~2 neural~1 title:neural~2^0.5"),
        ("low-res* v2.0beta* don't* 199* 3.14*", "low- res* v2.0beta* don't* 199* 3.14*"),
        ('"a b"~5 +"a b"~0^2 -title:"a b"~3 "a"^4', '"a b"~5 +"a b"~0^2 -title:"a b"~3 "a"^4'),
        ("term^2.5 low-resource^2 (a)^2 (a (b)^3)^2", "term^2.5 low-resource^2 (a)^2 (a (b)^3)^2"),
        ("((((red))))", "((((red))))"),
        ("(red)(sea)old", "(red) (sea) old"),
        ("(red^2)(-a b*) (f(x y) z)", '(red^2) (-"a" b*) (f(x y) z)'),
        ("(a -)", "(a)"),
        ("red AND sea", "+red +sea"),
        ("red fish AND sea", "red +fish +sea"),
        ("red OR sea OR old fish", "(red sea old) fish"),
        ("red NOT sea", 'red -"sea"'),
        ("red AND NOT (sea old)", "+red -(sea old)"),
        ("NOT red sea", '-"red" sea'),
        ('red AND"sea old"^2 AND title:fish~1', '+red +"sea old"^2 +title:fish~1'),
        ("(red OR title:sea) AND old", "+((red title:sea)) +old"),
        ("(red AND sea) OR old", "((+red +sea) old)"),
        ("red AND -sea AND +old", '+red -"sea" +old'),
        ("red AND - sea AND () old", "+red +sea +old"),
        ("AND red OR", "AND red OR"),
        ("NOT", "NOT"),
        ("(red NOT) OR", "(red NOT) OR"),
        ("red and sea or old not fish", "red and sea or old not fish"),
        (r'red \AND sea "AND" NOTE LAND', 'red AND sea "AND" NOTE LAND'),
    ],
)
def test_the_tree_of_a_text(text, want):
    assert shown(parse_query_string(text)) == want


def test_fifty_groups_inside_each_other_are_read_and_no_more():
    assert [c.text for c in clauses_of(parse_query_string("(" * MAX_DEPTH + "red" + ")" * MAX_DEPTH))] == ["red"]
    for text in ("(" * 51 + "red" + ")" * 51, "(" * 1_000_000, "+title:(" * 100_000):
        with pytest.raises(TextQueryError, match=r"more than 50 groups inside each other|more than 10,000 parts"):
            parse_query_string(text)


LONG = [
    "a" * 50_000 + "*",
    "a*" * 50_000,
    "a^2" * 30_000,
    "()" * 30_000,
    "f(x" * 30_000,
    "a'" * 30_000 + "b*",
    "a~b" * 30_000,
    "(" * 50 + "a)^2" * 40 + "^2" * 100_000,
    "a-" * 30_000 + "b:",
]


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:6])
def test_a_long_text_takes_a_moment(text, within):
    with within(5), contextlib.suppress(TextQueryError):
        parse_query_string(text)


@settings(max_examples=examples(90, 300), deadline=None)
@given(
    st.text(st.sampled_from('ab:"+-*~\\ ()^12.'), max_size=14)
    | st.lists(
        st.sampled_from(["(", ")", "ab", "f:", '"', "*", "~1", "^2", " ", "+", "-", "\\", " AND ", " OR ", "NOT "])
    ).map("".join)
)
def test_every_text_parses_or_is_a_text_query_error(text):
    try:
        spans = [clause.span for clause in clauses_of(parse_query_string(text))]
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
    assert index.score_all(TextQuery("low-resource"))[0].tolist() == [0, 1, 2]
    assert index.score_all(TextQuery("low -low-resource"))[0].tolist() == [1, 2]
    assert index.score_all(TextQuery("+low-resource"))[0].tolist() == [0, 1]


def test_too_many_different_terms_are_an_error(build):
    index = build({0: {"body": "low"}})
    with pytest.raises(TextQueryError, match="more than 1,024 different terms"):
        index.check(TextQuery(" ".join(f"t{i}" for i in range(1025)), syntax=False))
    index.check(TextQuery("same " * 5000, syntax=False))
