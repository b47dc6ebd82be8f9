"""The parser of query strings: words, "phrases", (groups), their prefix and suffix operators, and AND, OR, NOT.

A `+` or `-` is an operator at the start of a blank-separated part, a `name:` at its start names a field, and a
backslash makes the next character plain. A part such as low-resource becomes several plain terms, with `-` in front a
phrase: the compound is excluded.

Plain text stays plain where it can: `(` groups only at the start of a part, so f(x) is two words, and `*`, `~1` and
`^2` are operators only at the end of a part, after a word of at least two characters (`~` and `^`: one of them a
letter), so that A* search, C++, 10^6, x^2, ~user and a^b are words. AND, OR and NOT are operators in capitals only,
and where they have operands.

AND, OR and NOT mean what they mean in Lucene's classic query parser: AND requires the part on each side, NOT excludes
the part behind it, and OR joins alternatives. Lucene gives no precedence to AND over OR, which surprises, so a mixture
without parentheses is an error here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any, TypeAlias

from hybridkg.errors import Span, TextQueryError
from hybridkg.text.analysis.words import LONE

MAX_CLAUSES = 10_000
MAX_DEPTH = 50
"""Maximum nesting of groups."""

MAX_EDITS = 2
"""Edits of a fuzzy word; the default where no number is written."""

MIN_BOOST, MAX_BOOST = 1e-6, 1e6
"""The range of the boost of a part, and of the product with all boosts around it: well inside single precision."""

_OPERATORS = re.compile(r'[-+():"*~^\\]')

NO_SPAN = Span()
SHOULD, MUST, NOT = "should", "must", "not"
AND, OR, NOT_WORD = _WORD_OPERATORS = "AND", "OR", "NOT"

_FIELD = re.compile(r"([^\W\d]\w*(?:-\w+)*):")
_PREFIX, _FUZZY = re.compile(r"\*"), re.compile(r"~(\d*(?:\.\d+)?)")
_NEAR = re.compile(r"~(\d{1,9})")
_BOOST = re.compile(r"\^(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)")
_OPERATOR = re.compile(f"({'|'.join(_WORD_OPERATORS)})" r"(?=\s*[(\"]|\s+[^\s)])")
"""An operator of which an operand follows."""

_WORD_HINT = "to search for the word itself, write it in small letters or in quotes"
_PLAIN_HINT = "write a backslash before it, or the whole in quotes, to search for the character itself"


@dataclass(frozen=True)
class Clause:
    """A part of a query string.

    Args:
        text: its words without operators and quotes.
        role: `should`, `must` or `not`.
        phrase: whether the words are a phrase.
        field: the field that it is restricted to; empty for every ON field.
        span: its characters in the text.
        near: of a phrase, the number of other words that may stand between its words, which may then have any order.
        prefix: whether it is one word, of which only the beginning is written.
        edits: of a fuzzy word, the maximum edit distance; None for no such search.
        boost: multiplies its count, together with the boosts of the groups around it.
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
        """Whether it stands for terms of the index."""
        return self.prefix or self.edits is not None


@dataclass(frozen=True)
class ClauseGroup:
    """Clauses in parentheses.

    Args:
        parts: at least one of them not excluded.
        role: `should`, `must` or `not`.
        span: its characters in the text.
        boost: multiplies the count of each part.
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
            -not terms, more than 10,000 parts, or more than 50 nested groups.

    >>> [(c.role, c.field, c.phrase, c.text) for c in parse_query_string('+title:parsing -"rule based" fast')]
    [('must', 'title', False, 'parsing'), ('not', '', True, 'rule based'), ('should', '', False, 'fast')]
    >>> group, = parse_query_string('+(title:neur*^2 "net models"~3)')
    >>> [(c.text, c.prefix, c.boost, c.near) for c in group.parts]
    [('neur', True, 2.0, None), ('net models', False, 1, 3)]
    >>> [(c.role, c.text) for c in parse_query_string("red AND fish NOT boat")]
    [('must', 'red'), ('must', 'fish'), ('not', 'boat')]
    """
    return _Reader(text).parts("", 0)


def as_plain_words(text: str) -> str:
    r"""A query string that means what the text means as plain words: with backslashes where it has operators.

    >>> print(as_plain_words("low-resource C++ f(x)"), as_plain_words('+a "b c" title:x NOT'))
    low-resource C++ f(x) \+a \"b c\" title\:x \NOT
    """
    words = text.split()
    try:
        parts = parse_query_string(text)
    except TextQueryError:
        parts = ()
    if all(map(_is_plain, parts)) and [part.text for part in parts if isinstance(part, Clause)] == words:
        return text
    return " ".join(f"\\{word}" if word in _WORD_OPERATORS else _OPERATORS.sub(r"\\\g<0>", word) for word in words)


def clauses_of(parts: tuple[Part, ...]) -> Iterator[Clause]:
    """Every clause at any depth, in the order written."""
    for part in parts:
        if isinstance(part, Clause):
            yield part
        else:
            yield from clauses_of(part.parts)


def plain_words_joined(parts: Sequence[Part]) -> Iterator[Part]:
    """The parts, with consecutive plain words as one: several words together may have synonyms.

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
    """Whether a part has words only: no operator, field or boost."""
    return isinstance(part, Clause) and part == Clause(part.text, span=part.span)


class _Reader:
    def __init__(self, text: str):
        self._text, self._at, self._count = text, 0, 0
        self._plain = 0
        """Open parentheses inside words, as in f(x): the next closing one is plain as well."""

    def parts(self, field: str, depth: int) -> tuple[Part, ...]:
        """The parts up to the end, or to the parenthesis that closes this group."""
        operands = _Operands()
        while True:
            self._skip_blanks()
            char, start = self._char(), self._at
            if not char or (char == ")" and not self._plain):
                break
            is_excluded = self._operators(operands)
            operand = self._part(field, depth, is_excluded=is_excluded)
            if operand:
                operands.add(operand)
                self._count += len(operand)
                if self._count > MAX_CLAUSES:
                    raise TextQueryError(f"more than {MAX_CLAUSES:,} parts in one text", span=Span(start, start))
        parts = operands.parts()
        if self._char() and not depth:
            raise TextQueryError("this parenthesis closes nothing", hint=_PLAIN_HINT, span=Span(start, start + 1))
        if parts and all(part.role == NOT for part in parts):
            raise TextQueryError(
                "only excluded terms; nothing is left to search for",
                hint="add a term without '-' or NOT, or use FILTER NOT EXISTS { ... MATCH ... }",
                span=Span(parts[0].span.start, parts[-1].span.end),
            )
        return parts

    def _skip_blanks(self) -> None:
        while self._char().isspace():
            self._at += 1

    def _operators(self, operands: _Operands) -> bool:
        """Reads AND or OR, and NOT, in front of a part; whether there is a NOT. Without operands they are words."""
        last = ""
        while match := _OPERATOR.match(self._text, self._at):
            operator, span = match.group(1), Span(*match.span(1))
            if last and (last, operator) not in ((AND, NOT_WORD), (OR, NOT_WORD)):
                raise TextQueryError(f"{last!r} and {operator!r} follow each other", hint=_WORD_HINT, span=span)
            if operator != NOT_WORD:
                if not operands.found:
                    break
                operands.join(operator, span)
            last, self._at = operator, match.end()
            self._skip_blanks()
        return last == NOT_WORD

    def _char(self) -> str:
        """The next character; empty at the end."""
        return self._text[self._at : self._at + 1]

    def _ends(self, at: int) -> bool:
        """Whether a part ends before this place."""
        char = self._text[at : at + 1]
        return not char or char.isspace() or (char == ")" and not self._plain)

    def _part(self, field: str, depth: int, *, is_excluded: bool = False) -> list[Part]:
        """The parts that begin here: mostly one, none for a lone sign or an empty group."""
        start, role = self._at, NOT if is_excluded else SHOULD
        if self._char() in "+-":
            role = MUST if self._char() == "+" and not is_excluded else NOT
            self._at += 1
            if self._ends(self._at):
                return []  # " - " between words is punctuation
        named = _FIELD.match(self._text, self._at)
        if named:
            field, self._at = named.group(1), named.end()
            if self._ends(self._at):
                raise TextQueryError(
                    f"no term after {field + ':'!r}",
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
        if depth == MAX_DEPTH:
            raise TextQueryError(f"more than {MAX_DEPTH} groups inside each other", span=Span(opened, opened + 1))
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
        if (match := _NEAR.match(self._text, self._at)) and (self._ends(match.end()) or self._is_boost(match.end())):
            near, self._at = int(match.group(1)), match.end()
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
        """(whether a prefix ends here, edits of a fuzzy word) after a word; advances where either holds."""
        for pattern in (_PREFIX, _FUZZY):
            match = pattern.match(self._text, self._at)
            if match is None or not (self._ends(match.end()) or self._is_boost(match.end())):
                continue
            if pattern is _PREFIX:
                self._at = match.end()
                return True, None
            if not _has_letter(word):
                continue
            number = match.group(1) or str(MAX_EDITS)
            if number not in ("1", "2"):
                raise TextQueryError(
                    f"a fuzzy word is 1 or {MAX_EDITS} edits away, not {_cut(number)}",
                    hint=f"write word~1 or word~2; {_PLAIN_HINT}",
                    span=Span(self._at, match.end()),
                )
            self._at = match.end()
            return False, int(number)
        return False, None

    def _is_boost(self, at: int, word: str = "") -> bool:
        """Whether a boost begins here, after an operator or a word with a letter."""
        match = _BOOST.match(self._text, at)
        return match is not None and self._ends(match.end()) and (not word or _has_letter(word))

    def _boost(self) -> float:
        if not self._is_boost(self._at):
            return 1
        match = _BOOST.match(self._text, self._at)
        assert match is not None
        boost = float(match.group(1))
        if not MIN_BOOST <= boost <= MAX_BOOST:
            raise out_of_range(f"boost {_cut(match.group())}", Span(self._at, match.end()))
        self._at = match.end()
        return boost

    def _refuse(self, operators: str, after: str) -> None:
        """Raises where an operator directly follows a part that does not take it."""
        if self._char() and self._char() in operators:
            raise TextQueryError(
                f"{self._char()!r} has no meaning after {after}",
                hint='"words near each other"~5, (group)^2, word~1, pref*; write a backslash before it to search for '
                "the character itself",
                span=Span(self._at, self._at + 1),
            )


class _Operands:
    """The parts of a group in the order of the text, with the operators between them."""

    def __init__(self) -> None:
        self.found: list[list[Part]] = []
        """The parts of each operand: mostly one, two for low-res*."""

        self._joins: dict[int, tuple[str, Span]] = {}
        """The operator in front of an operand, by the number of the operand."""

    def add(self, operand: list[Part]) -> None:
        self.found.append(operand)

    def join(self, operator: str, span: Span) -> None:
        """Puts an operator between the last operand and the next."""
        self._joins[len(self.found)] = operator, span

    def parts(self) -> tuple[Part, ...]:
        """The parts: required on both sides of AND, a group of alternatives for a chain of OR.

        Raises:
            TextQueryError: AND and OR share an operand, or OR joins a required or excluded part.
        """
        joins = {at: join for at, join in self._joins.items() if at < len(self.found)}
        if not joins:
            return tuple([part for operand in self.found for part in operand])
        for at, (operator, span) in joins.items():
            if operator == OR and any(part.role != SHOULD for part in (*self.found[at - 1], *self.found[at])):
                raise TextQueryError(
                    "OR joins alternatives, and a part with '+', '-' or NOT is none",
                    hint=f"write a b -c: words without a sign are alternatives already\n{_WORD_HINT}",
                    span=span,
                )
            beside = {joins[other][0] for other in (at - 1, at + 1) if other in joins}
            if beside - {operator}:
                raise TextQueryError(
                    "AND and OR beside each other need parentheses",
                    hint=f"write (a AND b) OR c, or a AND (b OR c)\n{_WORD_HINT}",
                    span=span,
                )
        parts: list[Part] = []
        alternatives: list[Part] = []
        for at, operand in enumerate(self.found):
            before, after = joins.get(at, ("",))[0], joins.get(at + 1, ("",))[0]
            if AND in (before, after):
                parts += [replace(part, role=MUST) if part.role == SHOULD else part for part in operand]
            elif OR in (before, after):
                alternatives += operand
                if after != OR:
                    span = Span(alternatives[0].span.start, alternatives[-1].span.end)
                    parts.append(ClauseGroup(tuple(alternatives), span=span))
                    alternatives = []
            else:
                parts += operand
        return tuple(parts)


_NOT_PLAIN = re.compile(rf"[^\w ]|_|{'|'.join(_WORD_OPERATORS)}")


def is_plain(text: str) -> bool:
    """Whether a text has only words of letters and digits and no operator; false for NORTH, too.

    >>> is_plain("red or blue"), is_plain("red OR blue"), is_plain("red*"), is_plain(" ")
    (True, False, False, False)
    """
    return _NOT_PLAIN.search(text) is None and bool(text) and not text.isspace()


def _cut(number: str) -> str:
    return number if len(number) <= 20 else number[:20] + "…"


def out_of_range(what: str, span: Span) -> TextQueryError:
    return TextQueryError(f"{what} is not between {MIN_BOOST:f} and {MAX_BOOST:,.0f}", span=span)


def _last_word(chars: list[str]) -> str:
    """The last word as analyzers cut it, if it has at least two characters; else empty.

    >>> [_last_word(list(text)) for text in ("low-res", "don't", "v2.0", "C++", "f(x")]
    ['res', "don't", 'v2.0', '', '']
    """
    start = len(chars)
    while start and (_is_of_word(chars[start - 1]) or _joins(chars, start - 1)):
        start -= 1
    return "".join(chars[start:]) if len(chars) - start > 1 else ""


def _is_of_word(char: str) -> bool:
    """Whether a character is a letter, a digit or a mark, and not a word of its own."""
    if char.isascii():
        return char.isalnum()
    return (char.isalnum() or unicodedata.category(char).startswith("M")) and not _lone().match(char)


def _joins(chars: list[str], at: int) -> bool:
    """Whether it is an apostrophe between letters, or a dot or comma between digits."""
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
