"""A Pygments lexer for HybridQL, for documentation and notebooks.

It knows no word of the language by itself: the shapes, keywords and signs are
those of the parser's tables, so it follows the grammar. It does not parse: a
keyword is one wherever it stands, unless it is part of a longer name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

from pygments.lexer import Lexer  # type: ignore[import-untyped, unused-ignore]
from pygments.token import (  # type: ignore[import-untyped, unused-ignore]
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from hybridkg.query import tables
from hybridkg.query.lexer import FIRST, FUSION, is_fusion

_STYLES: tuple[tuple[str, Any], ...] = (
    ("VAR", Name.Variable),
    ("IRIREF", Name.Label),
    ("BLANK_NODE", Name.Label),
    ("PNAME", Name.Tag),
    ("STRING", String),
    ("LANGTAG", Name.Decorator),
    ("DOUBLE", Number.Float),
    ("DECIMAL", Number.Float),
    ("INTEGER", Number.Integer),
)
"""Beginning of a terminal's name in the grammar -> how it is shown; the rest are plain names."""

_COMMENT = re.compile(r"#[^\r\n]*")


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], frozenset[str]]:
    """Tokens, what stands between them, and the keywords."""
    loaded = tables.load()
    shapes = [f"(?P<{name}>{pattern})" for name, pattern in loaded.terminals if name not in (*FIRST, FUSION)]
    shapes.append(r"(?P<WORD>[^\W\d]\w*+)")
    shapes.append(f"(?P<PUNCTUATION>{'|'.join(map(re.escape, loaded.punctuation))})")
    return re.compile("|".join(shapes)), re.compile(loaded.skip), loaded.words


class HybridQLLexer(Lexer):  # type: ignore[misc, unused-ignore]
    """Tokens of HybridQL, and so of SPARQL 1.1 queries.

    Law: the texts of the tokens, one after the other, are the text.

    >>> [value for _, value in HybridQLLexer().get_tokens("?film MATCH 'red'") if value.strip()]
    ['?film', 'MATCH', "'red'"]
    """

    name = "HybridQL"
    aliases: ClassVar[list[str]] = ["hybridql", "hq"]
    filenames: ClassVar[list[str]] = ["*.hq"]
    mimetypes: ClassVar[list[str]] = ["application/x-hybridql"]
    url = "https://w3id.org/hybridkg"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """(offset, kind, text) of every token; what is no token is an Error to the end of its line."""
        shape, skip, words = _patterns()
        at = 0
        while at < len(text):
            skipped = skip.match(text, at)
            if skipped is not None and skipped.end() > at:
                yield from _between(text, at, skipped.end())
                at = skipped.end()
                continue
            found = shape.match(text, at)
            if found is None or found.end() == at:
                end = _end_of_line(text, at)
                yield at, Error, text[at:end]
                at = end
                continue
            yield from _token(at, found.lastgroup or "", found[0], words)
            at = found.end()


def _between(text: str, start: int, end: int) -> Iterator[tuple[int, Any, str]]:
    at = start
    for comment in _COMMENT.finditer(text, start, end):
        if comment.start() > at:
            yield at, Whitespace, text[at : comment.start()]
        yield comment.start(), Comment.Single, comment[0]
        at = comment.end()
    if at < end:
        yield at, Whitespace, text[at:end]


def _end_of_line(text: str, start: int) -> int:
    """Not the next character: a quote that is never closed would be looked for again at each of them."""
    end = text.find("\n", start)
    return len(text) if end < 0 else max(end, start + 1)


def _token(at: int, kind: str, value: str, words: frozenset[str]) -> Iterator[tuple[int, Any, str]]:
    if kind == "PUNCTUATION":
        yield at, Punctuation if value in "()[]{}.,;" else Operator, value
    elif kind == "WORD":
        is_keyword = value == "a" or (value.isascii() and value != "A" and value.upper() in words) or is_fusion(value)
        yield at, Keyword if is_keyword else Name, value
    elif kind.startswith("PNAME"):
        prefix, colon, local = value.partition(":")
        for kind_of_part, part in ((Name.Namespace, prefix), (Punctuation, colon), (Name.Tag, local)):
            if part:
                yield at, kind_of_part, part
                at += len(part)
    else:
        yield at, next((style for name, style in _STYLES if kind.startswith(name)), Name), value
