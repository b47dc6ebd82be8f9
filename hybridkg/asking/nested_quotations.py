"""Quotations inside a quoted name: `papers like ""Structural Connections" in Formal Language"`.

The marks alone do not say which of them belong together. Two marks with others between them enclose one quotation where
the words between them are the whole name of a node; elsewhere each mark ends the quotation that the one before begins.
"""

from __future__ import annotations

from dataclasses import replace

from hybridkg.asking.names import Names
from hybridkg.asking.words import MAX_LENGTH, Question, read_question

MARK = '"'

MAX_MARKS = 32
"""Marks of a question that are compared in pairs; with more of them, all quotations are those of neighbours."""


def read_quoted(text: str, names: Names) -> Question:
    """The words of a question, whose quotations are whole names where quotations are inside them.

    Raises:
        QueryLimitError: the text is too long.
    """
    question = read_question(text, names.analyzer)
    marks = [at for at, sign in enumerate(question.text) if sign == MARK]
    if not 2 < len(marks) <= MAX_MARKS:
        return question
    named: list[tuple[int, int]] = []
    at = 0
    while at < len(marks) - 2:
        end = next(
            (end for end in range(len(marks) - 1, at + 1, -1) if _is_name(question, marks[at], marks[end], names)), at
        )
        if end > at:
            named.append(_words(question, marks[at], marks[end]))
        at = end + 1
    if not named:
        return question
    others = [
        span for span in question.quoted if not any(first < span[1] and span[0] < behind for first, behind in named)
    ]
    return replace(question, quoted=tuple(sorted((*named, *others))))


def _words(question: Question, start: int, end: int) -> tuple[int, int]:
    """The words first..behind between two characters."""
    inside = [at for at, word in enumerate(question.words) if start < word.start and word.end <= end]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)


def _is_name(question: Question, start: int, end: int, names: Names) -> bool:
    first, behind = _words(question, start, end)
    raw = tuple(word.raw for word in question.words[first:behind])
    return 0 < len(raw) <= MAX_LENGTH and len(names.exact(raw)) > 0
