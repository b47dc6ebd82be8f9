"""Splits the text of a MATCH into clauses: words, "phrases", (groups), and what stands before and behind them.

A `+` or `-` is an operator at the start of a blank-separated part, a `name:`
at its start names a field, and a backslash makes the next character plain.
A part such as low-resource becomes several plain terms, with `-` in front a
phrase: what is excluded is the compound.

What people write as plain text stays plain where it can: `(` groups only at
the start of a part, so f(x) is two words, and `*`, `~1` and `^2` are operators
only at the end of a part, behind a word of two characters or more (`~` and `^`:
with a letter among them), so that A* search, C++, 10^6, x^2, ~user and a^b are
words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, TypeAlias

from hybridkg.errors import Span, TextQueryError
from hybridkg.text.analysis.words import LONE

MAX_CLAUSES = 10_000
DEEPEST = 50
"""Groups inside each other."""

MAX_EDITS = 2
"""Of a fuzzy word, also where no number is written."""

MIN_BOOST, MAX_BOOST = 1e-6, 1e6
"""Of a part, and of all around it together: far inside what single precision holds."""

NO_SPAN = Span()
SHOULD, MUST, NOT = "should", "must", "not"

_FIELD = re.compile(r"([^\W\d]\w*(?:-\w+)*):")
_PREFIX, _FUZZY = re.compile(r"\*"), re.compile(r"~(\d*(?:\.\d+)?)")
_NEAR = re.compile(r"~(\d{1,9})")
_BOOST = re.compile(r"\^(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)")
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
        near: of a phrase, how many other words may stand between its words, which then may have any order.
        prefix: whether it is one word, of which only the beginning is written.
        edits: of one word, how many edits another may be away from it; None for no such search.
        boost: how often it counts, beside the boosts of the groups around it.
    """

    text: str
    role: str = SHOULD
    phrase: bool = False
    field: str = ""
    span: Span = NO_SPAN
    near: int | None = None
    prefix: bool = False
    edits: int | None = None
    boost: float = 1

    @property
    def expands(self) -> bool:
        """Whether the index says which terms it stands for."""
        return self.prefix or self.edits is not None


@dataclass(frozen=True)
class ClauseGroup:
    """Clauses in parentheses.

    Args:
        parts: at least one of them not excluded.
        role: `should`, `must` or `not`.
        span: its characters in the text.
        boost: how often each part counts.
    """

    parts: tuple[Part, ...]
    role: str = SHOULD
    span: Span = NO_SPAN
    boost: float = 1


Part: TypeAlias = Clause | ClauseGroup


def parse_query_string(text: str) -> tuple[Part, ...]:
    """The clauses of a query string, in the order written.

    Raises:
        TextQueryError: an open quote or parenthesis, an operator or field without a term, a number out of range, only
            -not terms, more than 10,000 parts, or more than 50 groups inside each other.

    >>> [(c.role, c.field, c.phrase, c.text) for c in parse_query_string('+title:parsing -"rule based" fast')]
    [('must', 'title', False, 'parsing'), ('not', '', True, 'rule based'), ('should', '', False, 'fast')]
    >>> group, = parse_query_string('+(title:neur*^2 "net models"~3)')
    >>> [(c.text, c.prefix, c.boost, c.near) for c in group.parts]
    [('neur', True, 2.0, None), ('net models', False, 1, 3)]
    """
    return _Reader(text).parts("", 0)


def clauses_of(parts: tuple[Part, ...]) -> Iterator[Clause]:
    """Every clause, those in groups too, in the order written."""
    for part in parts:
        if isinstance(part, Clause):
            yield part
        else:
            yield from clauses_of(part.parts)


def plain_words_joined(parts: Sequence[Part]) -> Iterator[Part]:
    """The parts, with plain words that follow each other as one: what is said in several words may have synonyms.

    >>> [part.text for part in plain_words_joined(parse_query_string('new york +hotel title:new york'))]
    ['new york', 'hotel', 'new', 'york']
    """
    for plain, run in groupby(parts, _is_plain):
        words = list(run)
        if plain and len(words) > 1:
            text = " ".join(part.text for part in words if isinstance(part, Clause))
            yield Clause(text, span=Span(words[0].span.start, words[-1].span.end))
        else:
            yield from words


def _is_plain(part: Part) -> bool:
    """Whether nothing is said about it but its words."""
    return isinstance(part, Clause) and part == Clause(part.text, span=part.span)


class _Reader:
    """Reads a text from left to right."""

    def __init__(self, text: str):
        self._text, self._at, self._count = text, 0, 0
        self._plain = 0
        """Parentheses inside words, as in f(x), that are open: the next closing one is plain as well."""

    def parts(self, field: str, depth: int) -> tuple[Part, ...]:
        """The parts up to the end, or to the parenthesis that closes this group."""
        found: list[Part] = []
        while True:
            while self._char().isspace():
                self._at += 1
            char, start = self._char(), self._at
            if not char or (char == ")" and not self._plain):
                break
            for part in self._part(field, depth):
                found.append(part)
                self._count += 1
                if self._count > MAX_CLAUSES:
                    raise TextQueryError(f"more than {MAX_CLAUSES:,} parts in one text", span=Span(start, start))
        if self._char() and not depth:
            raise TextQueryError("this parenthesis closes nothing", hint=_PLAIN_HINT, span=Span(start, start + 1))
        if found and all(part.role == NOT for part in found):
            raise TextQueryError(
                "only excluded terms; nothing is left to search for",
                hint='add a term without "-", or use FILTER NOT EXISTS { ... MATCH ... }',
                span=Span(found[0].span.start, found[-1].span.end),
            )
        return tuple(found)

    def _char(self) -> str:
        """The next character; empty at the end."""
        return self._text[self._at : self._at + 1]

    def _ends(self, at: int) -> bool:
        """Whether a part ends before this place."""
        char = self._text[at : at + 1]
        return not char or char.isspace() or (char == ")" and not self._plain)

    def _part(self, field: str, depth: int) -> list[Part]:
        """What begins here: mostly one part, none for a lone sign or an empty group."""
        start, role = self._at, SHOULD
        if self._char() in "+-":
            role = MUST if self._char() == "+" else NOT
            self._at += 1
            if self._ends(self._at):
                return []  # " - " between words is punctuation
        named = _FIELD.match(self._text, self._at)
        if named:
            field, self._at = named.group(1), named.end()
            if self._ends(self._at):
                raise TextQueryError(
                    f"no term behind {field + ':'!r}",
                    hint=f"write {field}:term; {_PLAIN_HINT}",
                    span=Span(start, self._at),
                )
        elif self._char() == ":":
            raise TextQueryError('no field name before ":"', hint=_PLAIN_HINT, span=Span(self._at, self._at + 1))
        if self._char() == "(":
            return self._group(start, role, field, depth)
        if self._char() == '"':
            return [self._quoted(start, role, field)]
        return self._unquoted(start, role, field)

    def _group(self, start: int, role: str, field: str, depth: int) -> list[Part]:
        opened, plain = self._at, self._plain
        if depth == DEEPEST:
            raise TextQueryError(f"more than {DEEPEST} groups inside each other", span=Span(opened, opened + 1))
        self._at, self._plain = opened + 1, 0
        parts = self.parts(field, depth + 1)
        if not self._char():
            raise TextQueryError("this parenthesis is not closed", hint=_PLAIN_HINT, span=Span(opened, len(self._text)))
        self._at, self._plain = self._at + 1, plain
        boost = self._boost()
        self._refuse("~*", "a group")
        return [ClauseGroup(parts, role, Span(start, self._at), boost)] if parts else []

    def _quoted(self, start: int, role: str, field: str) -> Clause:
        opened, words = self._at, []
        self._at += 1
        while (char := self._char()) != '"':
            if not char:
                raise TextQueryError("this quote is not closed", hint=_PLAIN_HINT, span=Span(opened, len(self._text)))
            if char == "\\" and self._at + 1 < len(self._text):
                self._at += 1
            words.append(self._char())
            self._at += 1
        self._at += 1
        near = None
        if (found := _NEAR.match(self._text, self._at)) and (self._ends(found.end()) or self._is_boost(found.end())):
            near, self._at = int(found.group(1)), found.end()
        self._refuse("~*", "a phrase")
        boost = self._boost()
        return Clause("".join(words), role, True, field, Span(start, self._at), near, boost=boost)

    def _unquoted(self, start: int, role: str, field: str) -> list[Part]:
        """Reads to the next blank or quote, or to the parenthesis that closes the group."""
        words: list[str] = []
        prefix, edits = False, None
        while not self._ends(self._at) and (char := self._char()) != '"':
            if char in "*~^" and (run := _last_word(words)):
                prefix, edits = self._expansion(run)
                if prefix or edits is not None or self._is_boost(self._at, run):
                    break
            if char == "\\" and self._at + 1 < len(self._text):
                self._at += 1
            elif char == "(" and words:
                self._plain += 1
            elif char == ")":
                self._plain -= 1
            words.append(self._char())
            self._at += 1
        boost = self._boost()
        text, span = "".join(words), Span(start, self._at)
        if not prefix and edits is None:
            return [Clause(text, role, role == NOT, field, span, boost=boost)]
        last = _last_word(words)
        before = text[: len(text) - len(last)]
        clauses = [Clause(last, role, False, field, span, prefix=prefix, edits=edits, boost=boost)]
        if any(map(str.isalnum, before)):
            if role == NOT:
                raise TextQueryError(
                    "words that are excluded together are a phrase, and a phrase has no prefix and no fuzzy words",
                    hint="exclude them one by one, with a blank between them",
                    span=span,
                )
            clauses.insert(0, Clause(before, role, False, field, span, boost=boost))
        return list(clauses)

    def _expansion(self, word: str) -> tuple[bool, int | None]:
        """(whether a prefix ends here, edits of a fuzzy word), behind a word; moves on where either is true."""
        for pattern in (_PREFIX, _FUZZY):
            found = pattern.match(self._text, self._at)
            if found is None or not (self._ends(found.end()) or self._is_boost(found.end())):
                continue
            if pattern is _PREFIX:
                self._at = found.end()
                return True, None
            if not _has_letter(word):
                continue
            number = found.group(1) or str(MAX_EDITS)
            if number not in ("1", "2"):
                raise TextQueryError(
                    f"a fuzzy word is 1 or {MAX_EDITS} edits away, not {_cut(number)}",
                    hint=f"write word~1 or word~2; {_PLAIN_HINT}",
                    span=Span(self._at, found.end()),
                )
            self._at = found.end()
            return False, int(number)
        return False, None

    def _is_boost(self, at: int, word: str = "") -> bool:
        """Whether a boost stands here, behind an operator or behind a word with a letter."""
        found = _BOOST.match(self._text, at)
        return found is not None and self._ends(found.end()) and (not word or _has_letter(word))

    def _boost(self) -> float:
        """The boost that stands here, or 1."""
        if not self._is_boost(self._at):
            return 1
        found = _BOOST.match(self._text, self._at)
        assert found is not None
        boost = float(found.group(1))
        if not MIN_BOOST <= boost <= MAX_BOOST:
            raise out_of_range(f"boost {_cut(found.group())}", Span(self._at, found.end()))
        self._at = found.end()
        return boost

    def _refuse(self, operators: str, behind: str) -> None:
        """Raises where an operator stands directly behind something that it cannot belong to."""
        if self._char() and self._char() in operators:
            raise TextQueryError(
                f"{self._char()!r} means nothing behind {behind}",
                hint='"words near each other"~5, (group)^2, word~1, pref*; write a backslash before it to search for '
                "the character itself",
                span=Span(self._at, self._at + 1),
            )


def _cut(number: str) -> str:
    return number if len(number) <= 20 else number[:20] + "…"


def out_of_range(what: str, span: Span) -> TextQueryError:
    """The error about a boost."""
    return TextQueryError(f"{what} is not between {MIN_BOOST:f} and {MAX_BOOST:,.0f}", span=span)


def _last_word(chars: list[str]) -> str:
    """The word at the end, as analyzers cut it, if it has at least two characters; empty otherwise.

    >>> [_last_word(list(text)) for text in ("low-res", "don't", "v2.0", "C++", "f(x")]
    ['res', "don't", 'v2.0', '', '']
    """
    start = len(chars)
    while start and (_is_of_word(chars[start - 1]) or _joins(chars, start - 1)):
        start -= 1
    return "".join(chars[start:]) if len(chars) - start > 1 else ""


def _is_of_word(char: str) -> bool:
    """Whether it is a letter, a digit or a mark, and no word of its own."""
    if char.isascii():
        return char.isalnum()
    return (char.isalnum() or unicodedata.category(char).startswith("M")) and not _lone().match(char)


def _joins(chars: list[str], at: int) -> bool:
    """Whether an apostrophe between letters or a dot or comma between digits."""
    if chars[at] not in "'’.," or not 0 < at < len(chars) - 1:
        return False
    around = chars[at - 1], chars[at + 1]
    return all(map(str.isdigit if chars[at] in ".," else _is_of_word, around))


@cache
def _lone() -> Any:
    import regex

    return regex.compile(f"(?V1){LONE}")


def _has_letter(word: str) -> bool:
    return any(map(str.isalpha, word))
