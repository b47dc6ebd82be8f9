"""The text of a query as the lexer reads it: bounded in size, codepoint escapes of IRIs replaced.

SPARQL 1.2 allows `\\u0041` and `\\U00000041` in IRIs and in strings only, whose escapes the builders replace; 1.1
replaced them everywhere, before the grammar applied. Offsets are mapped back, so a caret points into the text as
written.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from hybridkg.errors import QueryLimitError, QuerySyntaxError, SourceName, Span

MAX_CHARACTERS = 1_000_000
"""Maximum length: 1 MB of one-character tokens costs seconds; long lists of values belong in parameters."""

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|.)", re.DOTALL)
"""A codepoint escape, or a backslash with the character it escapes: the `u` of `\\\\u0041` is a letter."""

_PLACE = re.compile(
    r"""
      \#[^\r\n]*+
    | (?P<string> '''(?>(?:[^'\\]++|'(?!'')|\\.)*)''' | \"\"\"(?>(?:[^"\\]++|"(?!"")|\\.)*)\"\"\"
                | '(?>(?:[^'\\\r\n]++|\\.)*)' | "(?>(?:[^"\\\r\n]++|\\.)*)" )
    | (?P<iri> <[^<>"{}|^`\x00-\x20]*+> )
    | (?P<open> ['"] )
    | (?P<escape> \\. )
    """,
    re.VERBOSE | re.DOTALL,
)
"""A comment, a string, an IRI, a quotation mark that nothing ends, and an escape outside all of these."""

_NOT_IN_IRI = frozenset('<>"{}|^`\\') | frozenset(map(chr, range(0x21)))

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class SourceText:
    """A query text, its IRIs without codepoint escapes.

    Args:
        source: the text as written.
        text: the text for the lexer.
        read: offsets in `text` behind each escape, ascending.
        written: the corresponding offsets in `source`.
    """

    source: SourceName
    text: str
    read: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)

    def span(self, start: int, end: int) -> Span:
        """The span in the source of a range of `text`."""
        if not self.read:
            return Span(start, end if end > start else start)  # max() takes three times as long
        start, end = self._offset(start), self._offset(end)
        return Span(start, max(start, end))

    def _offset(self, offset: int) -> int:
        at = bisect_right(self.read, offset) - 1
        return offset if at < 0 else self.written[at] + offset - self.read[at]


def read_text(text: str, name: str, too_long: str = "pass long lists of values as a parameter") -> SourceText:
    """Checks the size and the characters, and replaces the codepoint escapes of IRIs; `too_long` is the hint for a long
    text.

    Raises:
        QueryLimitError: the text is too long.
        QuerySyntaxError: it has a surrogate, an escape that is not a character, or one outside of strings and IRIs.

    >>> read_text("DESCRIBE <x:\\\\u0061>", "query").text
    'DESCRIBE <x:a>'
    """
    source = SourceName(name, text)
    if len(text) > MAX_CHARACTERS:
        raise QueryLimitError(
            f"the text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are accepted",
            hint=too_long,
        ).at(source)
    if surrogate := _SURROGATE.search(text):
        span = Span(surrogate.start(), surrogate.end())
        raise QuerySyntaxError("half of a surrogate pair is not a character", span=span).at(source)
    if "\\u" not in text and "\\U" not in text:
        return SourceText(source, text)
    return _unescaped(source)


def shown(text: str, longest: int = 60) -> str:
    """An excerpt of the text for a message, truncated at `longest` characters.

    >>> shown("<http://example.org/>", 10)
    '<http://e…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _unescaped(source: SourceName) -> SourceText:
    parts: list[str] = []
    read: list[int] = []
    written: list[int] = []
    length = last = 0
    for place in _PLACE.finditer(source.text):
        if place["open"]:
            break  # the lexer explains a string without an end
        if place["escape"] and place["escape"][1] in "uU":
            raise QuerySyntaxError(
                f"the escape {place['escape']}... stands outside of strings and IRIs",
                hint="write the character itself",
                span=Span(place.start(), place.end()),
            ).at(source)
        if place["string"] is None and place["iri"] is None:
            continue
        for escape in _ESCAPE.finditer(source.text, *place.span()):
            character = _character(escape, source)
            if character is None or place["iri"] is None:
                continue
            if character in _NOT_IN_IRI:
                message = f"{escape[0]} stands for {character!r}, which no IRI has".replace("\\\\", "\\")
                raise QuerySyntaxError(message, span=Span(escape.start(), escape.end())).at(source)
            parts += (source.text[last : escape.start()], character)
            length += escape.start() - last + 1
            last = escape.end()
            read.append(length)
            written.append(last)
    parts.append(source.text[last:])
    return SourceText(source, "".join(parts), read, written)


def _character(escape: re.Match[str], source: SourceName) -> str | None:
    """The character of a codepoint escape; None for any other escape."""
    digits = escape[1] or escape[2]
    if not digits:
        return None
    code = int(digits, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        message = f"{escape[0]!r} is not a character".replace("\\\\", "\\")
        raise QuerySyntaxError(message, span=Span(escape.start(), escape.end())).at(source)
    return chr(code)
