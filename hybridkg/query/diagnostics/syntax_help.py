"""Error messages for syntax errors.

In this order: words of later versions or other languages, a misspelled keyword, the table of common mistakes, and last
a list of the accepted tokens. The module is imported only when there is an error.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from hybridkg.errors import HybridkgError, QuerySyntaxError, UnknownNameError, UnsupportedQueryError
from hybridkg.interfaces.fusion import FUSIONS
from hybridkg.query.diagnostics import HELP, Help
from hybridkg.query.diagnostics.columns import QUERY_STARTS
from hybridkg.query.diagnostics.expected import found, in_words, kind, symbols
from hybridkg.query.diagnostics.vectors import FUSION_ELSEWHERE
from hybridkg.query.iris import is_absolute
from hybridkg.query.lexer import END, FUSION, UNKNOWN_WORD, Token, is_fusion
from hybridkg.query.source import SourceText, shown

if TYPE_CHECKING:
    from hybridkg.query.parser import Machine

LATER = ("arrives in a later version", "")
UNSUPPORTED = dict.fromkeys(("FACT", "FILL"), LATER)
"""Words of later versions: (message, hint)."""

OTHER_LANGUAGES = {
    "AND": "write '&&'",
    "OR": "write '||'",
    "LIKE": 'write CONTAINS(?x, "text") or REGEX(?x, "pattern")',
    "BETWEEN": "write ?x >= 1 && ?x <= 5",
    "IS": "write !BOUND(?x) for a missing value, '=' for a comparison",
    "NULL": "write !BOUND(?x)",
}
"""SQL words in expressions, with a hint."""

OF_TRIPLES = {
    "AND": "write ' . ' between two triples: every pattern of a group has to hold",
    "OR": "write alternatives as { ... } UNION { ... }",
}
"""Words of other languages between triples, with a hint."""

_BROKEN_IRI = re.compile(r"""<[A-Za-z][A-Za-z0-9+.-]*:[^<>"{}|^`\\\x00-\x20]*([ "{}|^`\\])[^<>\n]*>""")
"""A malformed IRI: `<`, a scheme, and later a character that no IRI has; group 1 is the first such character."""

_IN_RANK_BY = re.compile(r"\bRANK\s+BY\b[^{}]*\Z", re.IGNORECASE)
"""The text before a word in an expression of RANK BY."""

_AFTER_A = re.compile(r"[\s;{]a\s+\Z")
"""The text before a class."""

_FIRST_WORDS = frozenset(("SELECT", "ASK", "CONSTRUCT", "DESCRIBE"))
"""Keywords that the parser accepts together at the start of a query only."""

_FIRST_OF_UPDATES = frozenset(("INSERT", "DELETE", "LOAD", "CLEAR"))
"""Keywords that the parser accepts together at the start of an operation of an update only."""

UPDATE_STARTS = "an update starts with INSERT, DELETE, WITH, LOAD, CLEAR, CREATE, DROP, COPY, MOVE or ADD"
UPDATE_HINT = (
    "such as INSERT DATA { ... } or DELETE { ... } INSERT { ... } WHERE { ... }; PREFIX and BASE stand before it"
)

SIMILAR = 0.75
"""Minimum ratio of difflib between a word and the keyword that it misspells."""


def explain(
    machine: Machine, query: SourceText, states: Sequence[int], token: Token, *, in_update: bool = False
) -> HybridkgError:
    """The error for the first token that the parser, with this stack of states, does not accept.

    Args:
        machine: the parser.
        query: the text.
        states: its stack of states.
        token: the token.
        in_update: whether the caller wants an update, not a query.
    """
    span = query.span(token.start, token.end)
    word = token.text.upper()
    expected = symbols(machine.tables, states)
    keywords = sorted(machine.tables.words.intersection(expected))
    if token.text[:1].isalnum() and query.text[: token.start].endswith(("'", '"')):
        return _text_ended(query, token)
    if token.type == UNKNOWN_WORD:
        if word in UNSUPPORTED:
            what, hint = UNSUPPORTED[word]
            return UnsupportedQueryError(f"{shown(token.text)!r} {what}", hint=hint, span=span)
        if word in OTHER_LANGUAGES and "&&" in expected:
            return QuerySyntaxError(f"{shown(token.text)!r} is not an operator", hint=OTHER_LANGUAGES[word], span=span)
        if word in OF_TRIPLES and "}" in expected:
            return QuerySyntaxError(f"{shown(token.text)!r} does not join triples", hint=OF_TRIPLES[word], span=span)
        if FUSION in expected and (unknown := _no_fusion(query, token, keywords)):
            return unknown
        if near := difflib.get_close_matches(word, keywords, 1, SIMILAR):
            return QuerySyntaxError(
                f"{shown(token.text)!r} is not a keyword", hint=f"did you mean {near[0]}?", span=span
            )
    help_ = help_table(machine).get((states[-1], kind(token.type)))
    if help_ is FUSION_ELSEWHERE and not (is_fusion(token.text) and _is_called(query, token)):
        help_ = None
    if token.type != END and in_update and _FIRST_OF_UPDATES.issubset(expected):
        return QuerySyntaxError(UPDATE_STARTS, hint=UPDATE_HINT, span=span)
    if token.type != END and _FIRST_WORDS.issubset(expected):
        help_ = help_ or QUERY_STARTS
    if token.text == "<" and "IRIREF" in expected and (broken := _BROKEN_IRI.match(query.text, token.start)):
        wrong = broken[1]
        what = "a space" if wrong == " " else repr(wrong)
        return QuerySyntaxError(
            f"an IRI cannot have {what} in it",
            hint="write it percent-encoded: " + "".join(f"%{byte:02X}" for byte in wrong.encode()),
            span=query.span(token.start, broken.end()),
        )
    if token.text == "<>" and "<" in expected:
        return QuerySyntaxError("'<>' is not an operator", hint="write '!='", span=span)
    if token.type == "IRIREF" and "<" in expected and not is_absolute(token.text[1:]):
        return QuerySyntaxError(
            f"{found(token)} reads as an IRI, because it contains no space", hint="write a space after '<'", span=span
        )
    if help_ is not None:
        return QuerySyntaxError(
            help_.message.format(found=found(token)), hint=help_.hint.replace("{found}", found(token)), span=span
        )
    alternatives = in_words(expected, machine.tables)
    if token.type == UNKNOWN_WORD:
        is_text = "STRING_LITERAL2" in expected and _AFTER_A.search(query.text, 0, token.start) is None
        quoted = f'a text is in quotes: "{shown(token.text)}"\n' if is_text else ""
        return QuerySyntaxError(
            f"{shown(token.text)!r} is neither a keyword, a variable nor an IRI",
            hint=f"{quoted}variables start with '?', IRIs look like <http://...> or prefix:name\n"
            f"expected: {alternatives}",
            span=span,
        )
    if token.type == END:
        return QuerySyntaxError(f"the text ends too early; expected {alternatives}", span=span)
    return QuerySyntaxError(f"{found(token)} cannot stand here; expected {alternatives}", span=span)


def _text_ended(query: SourceText, token: Token) -> HybridkgError:
    """The error for a word directly behind the quote that has ended a text."""
    quote = query.text[token.start - 1]
    name, other = ("apostrophe", "double") if quote == "'" else ("quotation mark", "single")
    return QuerySyntaxError(
        f"the text ended at the {name} before {found(token)}",
        hint=f"put the text into {other} quotes, or write \\{quote} for the {name}",
        span=query.span(token.start - 1, token.end),
    )


def _is_called(query: SourceText, token: Token) -> bool:
    """Whether a word has arguments behind it."""
    return query.text[token.end :].lstrip().startswith("(")


def _no_fusion(query: SourceText, token: Token, keywords: Sequence[str]) -> HybridkgError | None:
    """The error for an unknown function of RANK BY; None if the word is another one, or closer to a keyword."""
    if not _is_called(query, token) or _IN_RANK_BY.search(query.text, 0, token.start) is None:
        return None
    known = [*keywords, *map(str.upper, FUSIONS.names())]
    if any(word in keywords for word in difflib.get_close_matches(token.text.upper(), known, 1, SIMILAR)):
        return None
    try:
        FUSIONS.get(token.text.lower(), span=query.span(token.start, token.end))
    except UnknownNameError as unknown:
        return unknown
    return None


@cache
def help_table(machine: Machine) -> dict[tuple[int, str], Help]:
    """The table of mistakes by the parser's state and the kind of the token.

    Lark's match_examples also compares the depth of the stack, so a PREFIX line before the same mistake would hide the
    message.
    """
    from hybridkg.query.parser import where_it_stops

    table: dict[tuple[int, str], Help] = {}
    for entry in HELP:
        for example in entry.examples:
            state, token = where_it_stops(machine, example)
            table.setdefault((state, kind(token.type)), entry)
    return table
