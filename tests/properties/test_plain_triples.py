"""Plain triples that one expression reads have the tree, the places, the depth and the errors of the rules."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import HybridkgError
from hybridkg.query import parser
from hybridkg.query.builders import Builder
from hybridkg.query.source import read_text
from hybridkg.query.walk import walk

TERMS = ["<e:a>", "<a>", "<>", "<e:%zz>", "<e:\u00e9>", "p:x", "_:b", "?x", "$x", "a", "<e:\\u0062>"]
OBJECTS = [
    *TERMS, '"x"', "'x'", '""', '"x y. <e:a>"', '"""x"""', '"\\n"', '"x"@en', '"x"@EN-gb', '"x"@ar--rtl', '"x"@a--b',
    '"x"@toolonglanguagetag', '"x"^^<e:d>', '"x"^^p:d', '"x" ^^<http://www.w3.org/2001/XMLSchema#string>', "1", "true",
    "<e:a> , <e:b>", "<e:a> ; <e:q> <e:b>", "<e:a> {| <e:q> 1 |}", "[]", "( 1 )", "<<( <e:a> <e:b> <e:c> )>>",
]  # fmt: skip
DOTS = [
    " . ",
    ".",
    " .\n",
    ".\t",
    " .5 ",
    " . # x\n",
    " ",
    ". .",
    " } GRAPH <e:g> { ",
    " . } GRAPH <e:g> {<e:a> a 1 . ",
]

plain = st.sampled_from(
    ["<e:a> <e:b> <e:c> . ", '<e:a><e:b>"x" .\n', '<e:a> <e:b> "x"@en.\n', '<e:a>\n<e:b> "x"^^<e:d> . ']
)
other = st.builds(
    " ".join, st.tuples(st.sampled_from(TERMS), st.sampled_from(TERMS), st.sampled_from(OBJECTS), st.sampled_from(DOTS))
)
data = st.lists(plain | plain | other, max_size=8).map("".join)
before = st.sampled_from(["", "PREFIX p: <e:> ", "BASE <e:/x/> PREFIX p: <> ", "\ufeffPREFIX p: <e:> "])
FORMS = ["INSERT DATA {%s}", "DELETE DATA {%s} ; CLEAR ALL", "DELETE {%s} WHERE {%s}", "SELECT * {%s}"]


def outcome(text: str) -> object:
    """What the parser makes of a text: the nodes with their places, the tokens and the depth, or the error."""
    query = read_text(text, "query")
    run = parser._Run(parser.machine(), query, Builder(query))
    try:
        tree = run.result()
    except parser.UnexpectedTokenError as stop:
        return run.tokens, stop.token, stop.states
    except HybridkgError as e:
        return e.render()
    ends, depths = run.symbols[2 :: parser.SYMBOL], run.symbols[3 :: parser.SYMBOL]
    return tree, [(node, node.span) for node in walk(tree)], run.tokens, depths, ends


def without(text: str) -> object:
    with patch.object(parser, "read_plain_triples", lambda *_: 0):
        return outcome(text)


@settings(max_examples=examples(150, 3_000))
@given(before, st.sampled_from(FORMS), data)
def test_plain_triples_are_read_as_the_rules_read_them(declared, form, triples):
    text = declared + form.replace("%s", triples)
    try:
        read_text(text, "query")
    except HybridkgError:
        return
    assert outcome(text) == without(text)


@pytest.mark.parametrize("n", range(10, 40))
def test_a_text_with_too_many_tokens_has_the_same_error(monkeypatch, n):
    monkeypatch.setattr(parser, "MAX_TOKENS", n)
    text = f"INSERT DATA {{ {'<e:a> <e:b> <e:c> . <e:a> <e:b> 1 . ' * 3} }}"
    assert outcome(text) == without(text)


def test_most_triples_of_a_long_text_are_plain():
    text = "INSERT DATA { " + "".join(f'<e:a> <e:b> "{n}"@en .\n' for n in range(100)) + "}"
    with patch.object(parser._Run, "_reduce", autospec=True, side_effect=parser._Run._reduce) as reduce:
        outcome(text)
    assert reduce.call_count < 20
