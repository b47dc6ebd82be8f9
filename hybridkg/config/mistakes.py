"""Errors of a kb.toml: each has the line, a caret and, where it can be known, the corrected line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container, Iterator
from contextlib import contextmanager

from hybridkg.config.secret_values import is_complete, may_hold_secret
from hybridkg.config.toml import toml_value, without_capital
from hybridkg.errors import ConfigError, SourceName, Span

EDIT = "correct this line of the file in an editor"
HIDDEN = "the line is not shown, because it may hold a secret; docs/security.md says where secrets belong"

SET_TWICE = re.compile(
    r"Cannot (?:overwrite a value|declare .* twice) \(at (?:line (\d+), column \d+|end of document)\)"
)
PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")

BARE_WORD = re.compile(r"""\s*([\w."'-]+)\s*=\s*([A-Za-z_./~][^#"'\[\]{}]*?)\s*(?:#.*)?""")
"""A key with a value that has letters and no quotes."""

KEY = re.compile(r"\s*([\w-]+)\s*=")
TABLE = re.compile(r"\s*\[\s*([\w-]+)\s*\]\s*(?:#.*)?")
BRACKETS = re.compile(r"""\s*(?P<open>\[*)\s*["']?(?P<name>[\w-]+)["']?\s*(?P<close>\]*)\s*(?:\#.*)?""")
"""A line that is meant to open a table, with brackets that are missing or too many."""


def not_toml(text: str, error: tomllib.TOMLDecodeError, name: str, settings: Container[str]) -> ConfigError:
    """The error for a malformed file.

    Args:
        text: the file.
        error: the reason, from parse_toml.
        name: the name of the file.
        settings: the full names of all settings, such as `limits.timeout`.
    """
    source = SourceName(name, text)
    message, span = place_of(text, error)
    if twice := set_twice(text, error):
        message, first, second = twice
        hint = f"leave line {first} or line {second} out"
        span = line_span(text, second)
    elif span is None:
        hint = ""
    else:
        number = source.line_and_column(span.start)[0]
        line, key = source.line(number), setting_on_line(text, number)
        command = f"\nor: hybridkg config KB {key} VALUE" if key in settings else ""
        hint = (header_hint(line) or quotes_hint(line) or EDIT) + command
    return _without_secret(f"not TOML: {message}", hint, span, source, is_free_of_values=twice is not None)


def not_utf8(content: bytes, error: UnicodeDecodeError, name: str) -> ConfigError:
    """The error for a file that is not UTF-8, at the first byte that is wrong."""
    text = content.decode("utf-8-sig", errors="replace")
    start = len(content[: error.start].decode("utf-8-sig"))
    message = f"not UTF-8 text: byte 0x{content[error.start]:02X}"
    hint = "save the file as UTF-8, or write this character anew in an editor that does"
    return _without_secret(message, hint, Span(start, start + 1), SourceName(name, text), is_free_of_values=True)


def _without_secret(
    message: str, hint: str, span: Span | None, source: SourceName, *, is_free_of_values: bool
) -> ConfigError:
    """The error with its line; without the line where that may hold a secret, and without a hint that has values."""
    if span is None:
        return ConfigError(message, hint=hint, place=source.name)
    number = source.line_and_column(span.start)[0]
    if not may_hold_secret(source.text, number):
        return ConfigError(message, hint=hint, span=span, source=source, place=source.name)
    return ConfigError(
        message, hint=f"{hint}\n{HIDDEN}" if is_free_of_values else HIDDEN, place=f"{source.name}:{number}"
    )


@contextmanager
def shown_at(line: int | None, text: str, name: str, *, about_key: bool) -> Iterator[None]:
    """Gives a ConfigError that is raised inside the line of the file and a caret below the key or the value.

    A line that is not known, or that may hold a secret, is not shown.
    """
    try:
        yield
    except ConfigError as e:
        if e.span is None and line is not None and not may_hold_secret(text, line):
            e.span, e.source = line_span(text, line, about_key=about_key), SourceName(name, text)
        raise


def line_span(text: str, number: int, *, about_key: bool = True) -> Span:
    """The key or the value on a 1-based line, without its comment; on other lines all of it.

    >>> text = "[limits]\\ntimeout = 5  # seconds"
    >>> [line_span(text, 2), line_span(text, 2, about_key=False), line_span(text, 1)]
    [Span(start=9, end=16), Span(start=19, end=20), Span(start=0, end=8)]
    """
    lines = text.split("\n")
    line = lines[number - 1]
    key, equals, value = line.partition("=")
    part = key if about_key or not equals else re.sub(r"""\s#[^"']*$""", "", value)
    first = sum(len(one) + 1 for one in lines[: number - 1])
    first += (0 if part is key else len(key) + 1) + len(part) - len(part.lstrip())
    return Span(first, first + max(1, len(part.strip())))


def set_twice(text: str, error: tomllib.TOMLDecodeError) -> tuple[str, int, int] | None:
    """A message about what is set twice, with both lines; None for another error.

    >>> set_twice("a = 1\\nb = 2\\na = 3", tomllib.TOMLDecodeError("Cannot overwrite a value (at line 3, column 6)"))
    ("'a' is set twice, on lines 1 and 3", 1, 3)
    """
    match, lines = SET_TWICE.search(str(error)), text.split("\n")
    second = 0 if match is None else int(match[1] or len(lines))
    if not 0 < second <= len(lines) or not is_complete(lines[second - 1]):  # the last line of a long string has no key
        return None
    key = lines[second - 1].partition("=")[0].strip()
    # Upwards from the nearest line; the same key in another table is another key.
    for first in range(second - 1, 0, -1):
        line = lines[first - 1].strip()
        if key and line.partition("=")[0].strip() == key:
            return f"{key!r} is set twice, on lines {first} and {second}", first, second
        if line.startswith("[") and not key.startswith("["):
            return None
    return None


def place_of(text: str, error: tomllib.TOMLDecodeError) -> tuple[str, Span | None]:
    """The message of an error without its place, and the place; None where it is the whole text.

    >>> from hybridkg.config.toml import parse_toml
    >>> try:
    ...     parse_toml("encoder = lsa")
    ... except tomllib.TOMLDecodeError as e:
    ...     print(place_of("encoder = lsa", e))
    ('invalid value', Span(start=10, end=11))
    """
    message = without_capital(str(error))
    match = PLACE.search(message)
    if match is None:
        return message, None
    message = message[: match.start()]
    if match[1] is None:
        return message, Span(len(text.rstrip()), len(text.rstrip()))
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: int(match[1]) - 1]) + int(match[2]) - 1
    return message, Span(start, start + 1)


def setting_on_line(text: str, number: int) -> str:
    """The full name of the setting on a 1-based line, by the table above it; empty if the line has none.

    >>> setting_on_line("[limits]\\ntimeout = soon", 2)
    'limits.timeout'
    """
    lines = text.split("\n")
    match = KEY.match(lines[number - 1])
    if match is None:
        return ""
    tables = (table[1] for line in reversed(lines[: number - 1]) if (table := TABLE.fullmatch(line)))
    return ".".join(filter(None, (next(tables, ""), match[1])))


def header_hint(line: str) -> str:
    """A hint with the corrected line of a table; empty for other lines.

    >>> header_hint("[limits"), header_hint("limits]]  # all"), header_hint("timeout = 5")
    ('the line should be: [limits]', 'the line should be: [limits]', '')
    """
    match = BRACKETS.fullmatch(line)
    if match is None or not match["open"] + match["close"]:
        return ""
    return f"the line should be: [{match['name']}]"


def quotes_hint(line: str) -> str:
    """A hint for a line whose value is a text without quotes; empty for other lines.

    >>> quotes_hint("encoder = sentence-transformers:a/b  # for NEAR")
    'a text is in quotes: encoder = "sentence-transformers:a/b"'
    >>> quotes_hint("timeout = 5"), quotes_hint("x = true")
    ('', '')
    """
    match = BARE_WORD.fullmatch(line)
    if match is None or match[2] in ("true", "false", "inf", "nan"):
        return ""
    return f"a text is in quotes: {match[1]} = {toml_value(match[2])}"
