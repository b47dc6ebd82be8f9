"""A Pygments lexer for HybridQL, for documentation and notebooks.

Token shapes, keywords and punctuation come from the parser's tables, so the lexer follows the grammar. It does not
parse: a keyword is highlighted at any position, unless it is part of a longer name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

from pygments import token as kinds  # type: ignore[import-untyped, unused-ignore]
from pygments.lexer import Lexer  # type: ignore[import-untyped, unused-ignore]

from hybridkg.query import tables
from hybridkg.query.lexer import FIRST, FUSION, is_fusion

_STYLES: tuple[tuple[str, Any], ...] = (
    ("VAR", kinds.Name.Variable),
    ("IRIREF", kinds.Name.Label),
    ("BLANK_NODE", kinds.Name.Label),
    ("PNAME", kinds.Name.Tag),
    ("STRING", kinds.String),
    ("LANGTAG", kinds.Name.Decorator),
    ("DOUBLE", kinds.Number.Float),
    ("DECIMAL", kinds.Number.Float),
    ("INTEGER", kinds.Number.Integer),
)
"""Pygments token type by prefix of the terminal's name; other terminals are plain names."""

_COMMENT = re.compile(r"#[^\r\n]*")


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], frozenset[str]]:
    loaded = tables.load()
    shapes = [f"(?P<{name}>{pattern})" for name, pattern in loaded.terminals if name not in (*FIRST, FUSION)]
    shapes.append(r"(?P<WORD>[^\W\d]\w*+)")
    shapes.append(f"(?P<PUNCTUATION>{'|'.join(map(re.escape, loaded.punctuation))})")
    return re.compile("|".join(shapes)), re.compile(loaded.skip), loaded.words


class HybridQLLexer(Lexer):  # type: ignore[misc, unused-ignore]
    """Tokens of HybridQL, and so of SPARQL 1.1 queries; the token texts concatenated are the input text.

    >>> [value for _, value in HybridQLLexer().get_tokens("?film MATCH 'red'") if value.strip()]
    ['?film', 'MATCH', "'red'"]
    """

    name = "HybridQL"
    aliases: ClassVar[list[str]] = ["hybridql", "hq"]
    filenames: ClassVar[list[str]] = ["*.hq"]
    mimetypes: ClassVar[list[str]] = ["application/x-hybridql"]
    url = "https://w3id.org/hybridkg"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """(offset, kind, text) of every token; text without a token shape is an Error up to the end of its line."""
        shape, skip, words = _patterns()
        at = 0
        while at < len(text):
            skipped = skip.match(text, at)
            if skipped is not None and skipped.end() > at:
                yield from _between(text, at, skipped.end())
                at = skipped.end()
                continue
            match = shape.match(text, at)
            if match is None or match.end() == at:
                end = _end_of_line(text, at)
                yield at, kinds.Error, text[at:end]
                at = end
                continue
            yield from _token(at, match.lastgroup or "", match[0], words)
            at = match.end()


def _between(text: str, start: int, end: int) -> Iterator[tuple[int, Any, str]]:
    at = start
    for comment in _COMMENT.finditer(text, start, end):
        if comment.start() > at:
            yield at, kinds.Whitespace, text[at : comment.start()]
        yield comment.start(), kinds.Comment.Single, comment[0]
        at = comment.end()
    if at < end:
        yield at, kinds.Whitespace, text[at:end]


def _end_of_line(text: str, start: int) -> int:
    """The end of an error: at the next character, an unclosed quote would be searched again for each character."""
    end = text.find("\n", start)
    return len(text) if end < 0 else max(end, start + 1)


def _token(at: int, kind: str, value: str, words: frozenset[str]) -> Iterator[tuple[int, Any, str]]:
    if kind == "PUNCTUATION":
        yield at, kinds.Punctuation if value in "()[]{}.,;" else kinds.Operator, value
    elif kind == "WORD":
        is_keyword = value == "a" or (value.isascii() and value != "A" and value.upper() in words) or is_fusion(value)
        yield at, kinds.Keyword if is_keyword else kinds.Name, value
    elif kind.startswith("PNAME"):
        prefix, colon, local = value.partition(":")
        for kind_of_part, part in ((kinds.Name.Namespace, prefix), (kinds.Punctuation, colon), (kinds.Name.Tag, local)):
            if part:
                yield at, kind_of_part, part
                at += len(part)
    else:
        yield at, next((style for name, style in _STYLES if kind.startswith(name)), kinds.Name), value
