"""Syntax highlighting of an input, by the tokens of the parser."""

from __future__ import annotations

import re
from functools import lru_cache

from hybridkg.cli.repl.reading import COMMAND_LINE, all_tokens, read
from hybridkg.query.diagnostics.expected import kind
from hybridkg.query.lexer import FUSION
from hybridkg.query.parser import machine

MAX_HIGHLIGHTED_LENGTH = 50_000
"""Characters above which a text stays plain, because each keystroke reads it again."""

CATEGORIES = {
    "a variable": "variable",
    "an IRI": "iri",
    "a text in quotes": "string",
    "a number": "number",
    "a blank node": "iri",
    "a language tag": "string",
    "a name": "name",
}
"""Colours by kind of token (query/diagnostics/expected.py); keywords are `keyword`, punctuation has none."""

Piece = tuple[str, str]


@lru_cache(maxsize=8)
def pieces(text: str) -> tuple[Piece, ...]:
    """(category, characters) of the whole text; the category "" has no colour.

    >>> pieces("ASK {}  # why")
    (('keyword', 'ASK'), ('', ' '), ('', '{'), ('', '}'), ('comment', '  # why'))
    """
    if len(text) > MAX_HIGHLIGHTED_LENGTH:
        return (("", text),)
    command = _command(text)
    return tuple(piece for piece in (("command", text[:command]), *_query(text[command:])) if piece[1])


def _command(text: str) -> int:
    match = re.match(r"\s*\S+", text) if COMMAND_LINE.match(text.lstrip()) else None
    return 0 if match is None else match.end()


def _query(text: str) -> list[Piece]:
    result: list[Piece] = []
    stopped, at = read(text).stopped, 0
    for token in all_tokens(text):
        result.append(_between(text[at : token.start]))
        wrong = stopped is not None and token.start == stopped.start and token.end < len(text)
        result.append(("error" if wrong else _category(token.type), text[token.start : token.end]))
        at = token.end
    rest = text[at:]
    result.append(("string", rest) if rest.lstrip()[:1] in ("'", '"') else _between(rest))
    return result


def _between(text: str) -> Piece:
    return ("comment" if "#" in text else "", text)


def _category(symbol: str) -> str:
    if symbol == FUSION or symbol in machine().tables.words:
        return "keyword"
    return CATEGORIES.get(kind(symbol), "")
