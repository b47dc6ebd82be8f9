"""The Pygments lexer of .hq files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.token import Comment, Error, Keyword, Name, Number, String
from sampling import examples

from hybridkg.query import tables
from hybridkg.query.highlight import HybridQLLexer

ROOT = Path(__file__).resolve().parents[2]
PIECES = [
    "SELECT ", "?x", "rank", " BY ", "'a", '"', "'''", '"""', "\\", "\\u0041", "#", "\n", "\r", "\t", " ", "<http://e/>",
    "<", "é:ü", "a:", ":b", "_:c", "@en", "1.5", "e3", "-2", "{", "}", "^^", "%", "\x00", "\ufeff", "K", "ſ", "日本",
]  # fmt: skip


def kinds(text: str) -> list[tuple[object, str]]:
    return [(kind, value) for _, kind, value in HybridQLLexer().get_tokens_unprocessed(text) if value.strip()]


@settings(max_examples=examples(90, 150), deadline=None)
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=30).map("".join)))
def test_the_tokens_together_are_the_text(text):
    tokens = list(HybridQLLexer().get_tokens_unprocessed(text))
    assert "".join(value for _, _, value in tokens) == text
    assert all(text.startswith(value, at) and value for at, _, value in tokens)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.hq")), ids=lambda path: path.name)
def test_every_example_has_no_error(path):
    assert all(kind is not Error for kind, _ in kinds(path.read_text(encoding="utf-8")))


def test_every_word_of_the_grammar_is_a_keyword_in_any_case():
    for word in tables.load().words:
        assert kinds(word) == [(Keyword, word)]
        assert kinds(word.lower()) == [(Keyword, word.lower())]


def test_each_part_of_a_query_has_its_kind():
    found = dict(reversed(pair) for pair in kinds("?f MATCH 'x'@en ON (label^2.5) # why\n; rdfs:label <http://e/> ."))
    assert found["?f"] is Name.Variable
    assert found["MATCH"] is Keyword
    assert found["'x'"] is String
    assert found["label"] in (Name, Name.Tag)
    assert found["2.5"] is Number.Float
    assert found["# why"] is Comment.Single
    assert found["rdfs"] is Name.Namespace
    assert found["<http://e/>"] is Name.Label


def test_a_prefix_called_like_a_keyword_is_no_keyword():
    assert kinds("match:x")[0] == (Name.Namespace, "match")


@pytest.mark.parametrize("text", ["'''" + "\\'''" * 20_000, "%" * 100_000, "'" * 100_001, "<" * 50_000, "a" * 200_000])
def test_hostile_text_takes_time_in_proportion_to_its_length(text, within):
    with within(5):
        assert sum(len(value) for _, _, value in HybridQLLexer().get_tokens_unprocessed(text)) == len(text)


def test_pygments_highlights_a_query():
    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    assert '<span class="k">SELECT</span>' in highlight("SELECT *", HybridQLLexer(), HtmlFormatter())
