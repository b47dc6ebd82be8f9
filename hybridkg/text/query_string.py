"""Splits the text of a MATCH into clauses: words, "phrases", +must, -not and field:term.

A `+` or `-` is an operator at the start of a blank-separated part, a `name:`
at its start names a field, and a backslash makes the next character plain.
A part such as low-resource becomes several plain terms, with `-` in front a
phrase: what is excluded is the compound. `word*`, `word~1` and `"words"~5` are
kept for later and refused today, so that no query changes its meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hybridkg.errors import Span, TextQueryError

MOST_CLAUSES = 10_000

NO_SPAN = Span()
SHOULD, MUST, NOT = "should", "must", "not"

_FIELD = re.compile(r"([^\W\d]\w*(?:-\w+)*):")
_RESERVED = re.compile(r"\*|~\d*")
_PLAIN_HINT = "write a backslash before it, or the whole in quotes, to search for the character itself"


@dataclass(frozen=True)
class Clause:
    """A part of a query string.

    Args:
        text: its words, operators and quotes removed.
        role: `should`, `must` or `not`.
        phrase: whether the words must follow each other.
        field: the field that it is restricted to; empty for every ON field.
        span: its characters in the text.
    """

    text: str
    role: str = SHOULD
    phrase: bool = False
    field: str = ""
    span: Span = NO_SPAN


def parse_query_string(text: str) -> tuple[Clause, ...]:
    """The clauses of a query string, in the order written.

    Raises:
        TextQueryError: an open quote, an operator or field without a term, reserved syntax, only -not terms,
            or more than 10,000 parts.

    >>> [(c.role, c.field, c.phrase, c.text) for c in parse_query_string('+title:parsing -"rule based" fast')]
    [('must', 'title', False, 'parsing'), ('not', '', True, 'rule based'), ('should', '', False, 'fast')]
    """
    clauses: list[Clause] = []
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            break
        clause, at = _clause(text, at)
        if clause is not None:
            clauses.append(clause)
        if len(clauses) > MOST_CLAUSES:
            raise TextQueryError(f"more than {MOST_CLAUSES:,} parts in one text", span=Span(at, at))
    if clauses and all(clause.role == NOT for clause in clauses):
        raise TextQueryError(
            "only excluded terms; nothing is left to search for",
            hint='add a term without "-", or use FILTER NOT EXISTS { ... MATCH ... }',
            span=Span(clauses[0].span.start, clauses[-1].span.end),
        )
    return tuple(clauses)


def _clause(text: str, start: int) -> tuple[Clause | None, int]:
    """The clause that begins at `start`, and where the next may begin; None for a lone sign."""
    at, role, field = start, SHOULD, ""
    if text[at] in "+-":
        role = MUST if text[at] == "+" else NOT
        at += 1
        if at == len(text) or text[at].isspace():
            return None, at  # " - " between words is punctuation
    named = _FIELD.match(text, at)
    if named:
        field, at = named.group(1), named.end()
        if at == len(text) or text[at].isspace():
            raise TextQueryError(
                f"no term behind {field + ':'!r}",
                hint=f"write {field}:term; {_PLAIN_HINT}",
                span=Span(start, at),
            )
    elif text[at] == ":":
        raise TextQueryError('no field name before ":"', hint=_PLAIN_HINT, span=Span(at, at + 1))
    if text[at] == '"':
        words, end = _quoted(text, at)
        phrase = True
    else:
        words, end = _unquoted(text, at)
        phrase = role == NOT
    return Clause(words, role, phrase, field, Span(start, end)), end


def _quoted(text: str, start: int) -> tuple[str, int]:
    words: list[str] = []
    at = start + 1
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text):
            words.append(text[at + 1])
            at += 2
        elif text[at] == '"':
            reserved = _RESERVED.match(text, at + 1)
            if reserved:
                raise _reserved(Span(at + 1, reserved.end()), "words near each other")
            return "".join(words), at + 1
        else:
            words.append(text[at])
            at += 1
    raise TextQueryError("this quote is not closed", hint=_PLAIN_HINT, span=Span(start, len(text)))


def _unquoted(text: str, start: int) -> tuple[str, int]:
    """Reads to the next blank or quote."""
    words: list[str] = []
    at = start
    while at < len(text) and not text[at].isspace() and text[at] != '"':
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
        elif text[at] in "*~" and words and words[-1].isalnum():
            reserved = _RESERVED.match(text, at)
            if reserved and (reserved.end() == len(text) or text[reserved.end()].isspace()):
                kind = "prefix" if text[at] == "*" else "fuzzy"
                raise _reserved(Span(at, reserved.end()), f"{kind} search")
        words.append(text[at])
        at += 1
    return "".join(words), at


def _reserved(span: Span, what: str) -> TextQueryError:
    return TextQueryError(f"{what} is not in this version", hint=_PLAIN_HINT, span=span)
