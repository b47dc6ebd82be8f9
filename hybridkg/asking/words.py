"""The words of a question, with their stems, and the parts in quotation marks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hybridkg.errors import QueryLimitError
from hybridkg.interfaces.analyzer import Analyzer

MAX_QUESTION = 10_000
"""Characters of a question; longer texts are no questions."""

MAX_WORDS = 128
"""Words of a question in which names and values are sought; the others are text only."""

MAX_LENGTH = 24
"""Words of a name, but for a similar one in quotation marks."""

_QUOTED = re.compile(r'"([^"\n]{1,400})"|“([^”\n]{1,400})”|«([^»\n]{1,400})»')


@dataclass(frozen=True)
class QuestionWord:
    """A word of the question: as written, raw for the analyzer, its stem, and its characters start..end.

    `is_stop` marks a stop word, `begins` the first word of a sentence.
    """

    text: str
    raw: str
    stem: str
    start: int
    end: int
    is_stop: bool
    begins: bool


@dataclass(frozen=True)
class Question:
    """A question and its first MAX_WORDS words.

    Args:
        text: of the question, with single blanks and without control characters.
        words: in order.
        quoted: (first, behind the last) word of each quotation.
        is_cut: whether the text has more words.
    """

    text: str
    words: tuple[QuestionWord, ...]
    quoted: tuple[tuple[int, int], ...]
    is_cut: bool

    def written(self, first: int, behind: int) -> str:
        """The text from one word to another, without punctuation around it."""
        return self.text[self.words[first].start : self.words[behind - 1].end]

    @cached_property
    def in_quotes(self) -> frozenset[int]:
        """Numbers of the quoted words."""
        return frozenset(at for first, behind in self.quoted for at in range(first, behind))

    def window(self, first: int, behind: int, size: int) -> tuple[Sequence[QuestionWord], Sequence[QuestionWord]]:
        """The words before and behind a part, at most `size` each, up to the next quotation."""
        before, after = first, behind
        while before > 0 and first - before < size and before - 1 not in self.in_quotes:
            before -= 1
        while after < len(self.words) and after - behind < size and after not in self.in_quotes:
            after += 1
        return self.words[before:first], self.words[behind:after]


def read_question(text: str, analyzer: Analyzer) -> Question:
    """The words of a question.

    Raises:
        QueryLimitError: it has more than MAX_QUESTION characters.
    """
    if len(text) > MAX_QUESTION:
        raise QueryLimitError(
            f"the question has {len(text):,} characters; at most {MAX_QUESTION:,}",
            hint="ask one question at a time; long texts are for MATCH and NEAR in a query",
        )
    clean = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    stemmer, at = analyzer.stemmer(""), 0
    words: list[QuestionWord] = []
    is_cut = False
    for raw, start, end in analyzer.spans(clean):
        if start < at or start >= end:  # a part of a word that is also read as a whole
            continue
        if len(words) == MAX_WORDS:
            is_cut = True
            break
        begins = not words or any(sign in clean[at:start] for sign in ".!?:")
        is_stop = analyzer.is_stop_word(raw, stemmer)
        words.append(QuestionWord(clean[start:end], raw, analyzer.term(raw, stemmer), start, end, is_stop, begins))
        at = end
    return Question(clean, tuple(words), _quoted(clean, words), is_cut)


def stems_of(words: Sequence[QuestionWord]) -> tuple[str, ...]:
    """The stems of words, and stop words as they are."""
    return tuple(word.stem or word.raw.casefold() for word in words)


def _quoted(text: str, words: Sequence[QuestionWord]) -> tuple[tuple[int, int], ...]:
    found = []
    at = 0
    for match in _QUOTED.finditer(text):
        while at < len(words) and words[at].start < match.start():
            at += 1
        first = at
        while at < len(words) and words[at].end <= match.end():
            at += 1
        if at > first:
            found.append((first, at))
    return tuple(found)
