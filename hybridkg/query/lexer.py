"""Lexer of HybridQL: one regular expression for all token shapes; keywords depend on the parser's state.

A word is a keyword only where the grammar allows that keyword, and a NAME (of a field, a model, an argument) where it
allows a NAME; prefixed names are longer matches, so a prefix may be spelled like a keyword. As in the W3C grammar the
longest token wins: `?x<3&&?y>1` contains an IRI, and `?x-1` a negative number. Only `<<` and `<<(` give way to `<`
where no triple may stand, because SPARQL 1.1 has no such tokens (parser.py).
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple

from hybridkg.errors import HybridkgError, QuerySyntaxError
from hybridkg.interfaces.fusion import FUSIONS
from hybridkg.query.source import SourceText
from hybridkg.query.tables import Tables

END = "$END"
UNKNOWN_WORD = "WORD"

FUSION = "FUSION"
"""Terminal of the names of functions of RANK BY."""

FIRST = ("NAME", "FILE")
"""Terminals that take precedence where the parser accepts them; elsewhere the same text is another token."""


class Token(NamedTuple):
    """Token of a query: `type` is a symbol of the grammar; offsets count in the text without escapes."""

    type: str
    text: str
    start: int
    end: int


_token = tuple.__new__
"""A named tuple from its values, in half the time of its constructor."""

NOT_ASCII = re.compile("[^\x00-\x7f](?:-[^\x00-\x7f])?")
"""A non-ASCII character, or a range of them, inside a regular expression."""


class Lexer:
    """Lexer that reads token by token, because the type of a word depends on the parser's state.

    Args:
        tables: the terminals.
        ascii_only: drop from the expressions all that an ASCII text cannot contain. The W3C ranges of letters
            take 40 ms to compile (the rest 5 ms) in every new process, and few queries need them.
    """

    def __init__(self, tables: Tables, *, ascii_only: bool):
        terminals = [
            (name, NOT_ASCII.sub("", pattern) if ascii_only else pattern) for name, pattern in tables.terminals
        ]
        shapes = [f"(?P<{name}>{pattern})" for name, pattern in terminals if name not in (*FIRST, FUSION)]
        shapes.append(r"(?P<WORD>[^\W\d]\w*+)")
        shapes.append(f"(?P<PUNCTUATION>{'|'.join(map(re.escape, tables.punctuation))})")
        self._token = re.compile(f"{tables.skip}(?:{'|'.join(shapes)})?").match
        self._first = [(name, re.compile(pattern).match) for name, pattern in terminals if name in FIRST]
        self._words = tables.words
        self._keywords = {spelling: word for word in tables.words for spelling in (word, word.lower()) if word != "a"}

    def next(self, query: SourceText, position: int, expected: Container[str]) -> Token:
        """The token at a position, after white space and comments; `expected` are the symbols that the parser accepts.

        Raises:
            QuerySyntaxError: no token starts there.
        """
        text = query.text
        found = self._token(text, position)
        assert found is not None  # it may be empty
        kind, end = found.lastgroup, found.end()
        value = "" if kind is None else found[kind]
        start = end - len(value)
        for name, match in self._first:
            if name in expected and (word := match(text, start)):
                return Token(name, word[0], start, word.end())
        if kind is None:
            if start == len(text):
                return Token(END, "", position, position)
            raise _no_token(query, start)
        if kind == "PUNCTUATION":
            kind = value
        elif kind == "WORD":
            kind = self._keywords.get(value) or self._keyword(value)
            if kind == UNKNOWN_WORD and FUSION in expected and is_fusion(value):
                kind = FUSION
        return _token(Token, (kind, value, start, end))

    def _keyword(self, word: str) -> str:
        if word == "a":
            return word
        # The upper case of a non-ASCII letter may be ASCII: the long s.
        upper = word.upper() if word.isascii() and word != "A" else ""
        return upper if upper in self._words else UNKNOWN_WORD


def is_fusion(word: str) -> bool:
    """Whether a word names a function of RANK BY, in any case.

    >>> is_fusion("RRF"), is_fusion("rff")
    (True, False)
    """
    name = word.lower()
    return word.isascii() and (FUSIONS.is_builtin(name) or name in FUSIONS.names())


_ESCAPED = re.compile(r"\\(?:[tbnrf\\\"']|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})")


def _no_token(query: SourceText, start: int) -> HybridkgError:
    text, character = query.text, query.text[start]
    if character in "\"'":
        return _bad_string(query, start)
    message, hint, length = f"unexpected character {character!r}", "", 1
    if character == "@":
        message = "a language tag needs letters after '@'"
    elif character == "_":
        message, hint = "'_' starts a blank node label", "write it as '_:label'"
    elif character in "\u2018\u2019\u201c\u201d":
        hint = "use straight quotes: \" or '"
    elif character == "\\":
        hint = "a backslash is only used inside strings, and before punctuation in prefixed names"
    elif character == "&":
        message, hint = "a single '&' is not an operator", "write '&&'"
    elif text.startswith("==", start):
        message, hint, length = "'==' is not an operator", "write '='", 2
    return QuerySyntaxError(message, hint=hint, span=query.span(start, start + length)).at(query.source)


def _bad_string(query: SourceText, start: int) -> HybridkgError:
    text, quote = query.text, query.text[start]
    long = text.startswith(quote * 3, start)
    position = start + (3 if long else 1)
    while position < len(text):
        if text[position] == "\\":
            if not _ESCAPED.match(text, position):
                message = f"{text[position : position + 2]!r} is not an escape in a string".replace("\\\\", "\\")
                hint = r"escapes are \t \n \r \b \f \" \' \\ \uXXXX and \UXXXXXXXX; write \\ for a backslash"
                span = query.span(position, min(position + 2, len(text)))
                return QuerySyntaxError(message, hint=hint, span=span).at(query.source)
            position += 2
        elif text[position] in "\r\n" and not long:
            break
        else:
            position += 1
    hint = f"put three quotes around a text of several lines: {quote * 3}...{quote * 3}"
    if long:
        hint = f"add {quote * 3} after the text"
    elif position >= len(text):
        hint = f"add {quote} after the text, or {hint}"
    return QuerySyntaxError("this string has no end", hint=hint, span=query.span(start, start + 1)).at(query.source)
