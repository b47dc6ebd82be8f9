"""Whether a text is meant as a query or as an update, by its first keyword; it may be unfinished or malformed."""

from __future__ import annotations

import re

from hybridkg.errors import Span

_BEFORE = re.compile(
    r"[\s\ufeff]+|#[^\r\n]*|(?:PREFIX\s+[^\s:<>#]*:|BASE\b)\s*<[^<>\s]*>|EXPLAIN\b|ANALYZE\b", re.IGNORECASE
)
"""What may stand before the first keyword of a query or an update."""

_OPERATION = re.compile(r"(?:INSERT|DELETE|WITH|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY)\b(?!:)", re.IGNORECASE)

_QUERY = re.compile(r"(?:SELECT|CONSTRUCT|DESCRIBE|ASK)\b(?!:)", re.IGNORECASE)


def update_keyword(text: str) -> Span | None:
    """The place of the keyword with which a text begins an update; None if it begins none.

    >>> update_keyword("PREFIX : <http://e/> insert data { :a :b ")
    Span(start=21, end=27)
    >>> update_keyword("SELECT * { }") is None
    True
    """
    return _keyword(text, _OPERATION)


def query_keyword(text: str) -> Span | None:
    """The place of the keyword with which a text begins a query; None if it begins none."""
    return _keyword(text, _QUERY)


def _keyword(text: str, keywords: re.Pattern[str]) -> Span | None:
    position = 0
    while (before := _BEFORE.match(text, position)) is not None:
        position = before.end()
    found = keywords.match(text, position)
    return None if found is None else Span(*found.span())
