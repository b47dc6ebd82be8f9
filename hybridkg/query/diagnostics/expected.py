"""The tokens that the parser accepts at a place, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hybridkg.query.lexer import END, Token
from hybridkg.query.source import shown
from hybridkg.query.tables import Tables

KINDS = {
    **dict.fromkeys(("VAR1", "VAR2"), "a variable"),
    **dict.fromkeys(("IRIREF", "PNAME_LN", "PNAME_NS"), "an IRI"),
    **dict.fromkeys(
        ("STRING_LITERAL1", "STRING_LITERAL2", "STRING_LITERAL_LONG1", "STRING_LITERAL_LONG2"), "a text in quotes"
    ),
    **dict.fromkeys(
        [f"{kind}{sign}" for kind in ("INTEGER", "DECIMAL", "DOUBLE") for sign in ("", "_POSITIVE", "_NEGATIVE")],
        "a number",
    ),
    "BLANK_NODE_LABEL": "a blank node",
    "LANGTAG": "a language tag",
    "NAME": "a name",
    "FILE": "@file of parameters",
    END: "the end of the text",
}
"""Terminals in words, in the order of a list of alternatives."""

SOME_FUNCTIONS = {"STR", "LANG", "REGEX", "CONTAINS", "ABS"}
"""Sample of the functions: where these are accepted, any function is."""

_MAX_QUOTE = 40


def kind(symbol: str) -> str:
    """The kind of a symbol; keywords and punctuation are their own.

    >>> kind("PNAME_LN"), kind("LIMIT")
    ('an IRI', 'LIMIT')
    """
    return KINDS.get(symbol, symbol)


def found(token: Token) -> str:
    """The token as written, in quotes."""
    if token.type == END:
        return "the end of the text"
    text = shown(token.text, _MAX_QUOTE)
    return f"'{text}'" if '"' in text else f'"{text}"'


def symbols(tables: Tables, states: Sequence[int]) -> list[str]:
    """The terminals that the parser accepts.

    A row of the tables may list terminals that lead to an error one rule later, so each is tried on a copy of the
    stack.
    """
    terminals = [*(name for name, _ in tables.terminals), *tables.punctuation, *sorted(tables.words), END]
    return [symbol for symbol in terminals if advance(tables, list(states), symbol)]


def advance(tables: Tables, states: list[int], symbol: str) -> bool:
    """Shifts one symbol onto the stack of states; false, with a spoiled stack, if it is not accepted."""
    while True:
        action = tables.rows[states[-1]].get(symbol)
        if action is None:
            return False
        if action >= 0:
            states.append(action)
            return True
        _, left, size, _ = tables.rules[-1 - action]
        if size:
            del states[-size:]
        states.append(tables.rows[states[-1]][left])
        if symbol == END and states[-1] == tables.end:
            return True


def in_words(expected: Iterable[str], tables: Tables) -> str:
    """A list of alternatives in words.

    >>> from hybridkg.query.tables import load
    >>> in_words(["VAR1", "VAR2", "{", "WHERE"], load())
    'a variable, "{" or WHERE'
    """
    expected = set(expected)
    functions: set[str] = set()
    if expected >= SOME_FUNCTIONS:
        functions = {word for word in expected if word in tables.words and word not in _NO_FUNCTIONS}
    kinds = list(dict.fromkeys(KINDS[symbol] for symbol in KINDS if symbol in expected and symbol != END))
    kinds += ["a function"] if functions else []
    kinds += [f'"{sign}"' for sign in sorted(expected & set(tables.punctuation))]
    kinds += sorted((expected & tables.words) - functions)
    kinds += ["the end of the text"] if END in expected else []
    return kinds[0] if len(kinds) == 1 else f"{', '.join(kinds[:-1])} or {kinds[-1]}"


_NO_FUNCTIONS = frozenset({"TRUE", "FALSE", "ASC", "DESC", "HAVING", "LIMIT", "OFFSET", "VALUES", "ORDER", "RANK"})
