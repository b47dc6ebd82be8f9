"""Plain triples between dots, read by one regular expression: `<s> <p> <o> .` with IRIs in brackets or a literal.

The parser takes four tokens and eleven rules for each, 36 us; this takes 9 us, with the same tree, places and errors
(tests/properties/test_plain_triples.py). Anything else, such as a prefixed name, a comment, an escape or a number, is
left to the parser.
"""

from __future__ import annotations

import re
from typing import Any

from hybridkg.errors import Span
from hybridkg.query import ast
from hybridkg.query.builders import Builder
from hybridkg.query.ground_triples import PLAIN
from hybridkg.query.lexer import Token

_SUBJECT, _PREDICATE, _OBJECT, _STRING, _LANGUAGE, _MARK, _DATATYPE, _DOT = range(1, 9)

TOKENS = 6
"""Tokens of a plain triple, at most."""

DEPTH = 3
"""Depth of the tree of a plain triple, as the parser counts it."""


def read_plain_triples(
    builder: Builder,
    text: str,
    position: int,
    triples: list[list[ast.TriplePattern]],
    tokens: list[tuple[int, int]],
    most: int,
) -> int:
    """Reads the plain triples from a position on; returns the number of tokens that it has read.

    Args:
        builder: makes the terms, and raises their errors.
        text: as the lexer reads it.
        position: behind the dot of another triple.
        triples: receives each triple, in a list as the builder has it for a subject.
        tokens: receives the offsets of their tokens.
        most: number of `tokens`, which no triple may exceed.
    """
    before = len(tokens)
    while len(tokens) + TOKENS <= most and (found := PLAIN.match(text, position)) is not None:
        subject, predicate = _iri(builder, found, _SUBJECT), _iri(builder, found, _PREDICATE)
        target = _literal(builder, found) if found[_OBJECT] is None else _iri(builder, found, _OBJECT)
        span = Span(subject.span.start, target.span.end)
        triples.append([ast.TriplePattern(subject, predicate, target, span=span)])
        tokens += [place for place in found.regs[1:] if place[0] >= 0]
        position = found.end()
    return len(tokens) - before


def _iri(builder: Builder, triple: re.Match[str], group: int) -> ast.Iri:
    start, end = triple.span(group)
    return builder.iri([Token("IRIREF", triple[group], start, end)], start, end)


def _literal(builder: Builder, triple: re.Match[str]) -> ast.Lit:
    start, end = triple.start(_STRING), triple.end(_DOT - 1)
    value: list[Any] = [triple[_STRING][1:-1]]
    if triple[_LANGUAGE] is not None:
        tag = Token("LANGTAG", triple[_LANGUAGE], *triple.span(_LANGUAGE))
        return builder.language_literal([*value, tag], start, tag.end)
    if triple[_DATATYPE] is not None:
        return builder.typed_literal([*value, None, _iri(builder, triple, _DATATYPE)], start, end)
    return builder.simple_literal(value, start, triple.end(_STRING))
