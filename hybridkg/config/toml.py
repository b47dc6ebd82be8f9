"""Bounded TOML parsing, for files that may be hostile; all others must not use tomllib directly.

tomllib's time and memory are quadratic in the parts of a key: 400 KB of `a.a.a...` take 8 GB and three minutes. Nested
brackets end in a RecursionError.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, TypeAlias

from hybridkg.errors import ConfigError, SourceName, Span

Value: TypeAlias = str | int | float | bool
"""Type of a setting."""

MAX_PARTS = 64
"""Maximum parts of a key; our files have at most three."""

PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
LONG_KEY = re.compile(rf"(?<![\w-])(?:{PART}\.[ \t]*+){{{MAX_PARTS}}}")

SET_TWICE = re.compile(r"Cannot (?:overwrite a value|declare .* twice) \(at line (\d+), column \d+\)")


def set_twice(text: str, error: tomllib.TOMLDecodeError) -> str:
    """A description of what is set twice, with both lines; empty for another error.

    >>> set_twice("a = 1\\nb = 2\\na = 3", tomllib.TOMLDecodeError("Cannot overwrite a value (at line 3, column 6)"))
    "'a' is set twice, on lines 1 and 3"
    """
    match, lines = SET_TWICE.search(str(error)), text.split("\n")
    if match is None or not 0 < int(match[1]) <= len(lines):
        return ""
    second = int(match[1])
    key = lines[second - 1].partition("=")[0].strip()
    # Upwards from the nearest line; the same key in another table is another key.
    for first in range(second - 1, 0, -1):
        line = lines[first - 1].strip()
        if key and line.partition("=")[0].strip() == key:
            return f"{key!r} is set twice, on lines {first} and {second}"
        if line.startswith("[") and not key.startswith("["):
            return ""
    return ""


PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
BARE_WORD = re.compile(r"""\s*([\w."'-]+)\s*=\s*([A-Za-z_./~][^#"'\[\]{}]*?)\s*(?:#.*)?""")
"""A key with a value that has letters and no quotes."""


def place_of(text: str, error: tomllib.TOMLDecodeError) -> tuple[str, Span | None]:
    """The message of an error without its place, and the place; None where it is the whole text.

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


def not_toml(text: str, error: tomllib.TOMLDecodeError, name: str) -> ConfigError:
    """The error for a malformed file of a name, with its line and a caret."""
    twice, (message, span) = set_twice(text, error), place_of(text, error)
    source = SourceName(name, text)
    hint = "leave one of the two lines out" if twice else ""
    if span is not None and not twice:
        hint = quotes_hint(source.line(source.line_and_column(span.start)[0]))
    hint = "\n".join(filter(None, [hint, "hybridkg config KB KEY VALUE sets a value, also in a malformed kb.toml"]))
    return ConfigError(f"not TOML: {twice or message}", hint=hint, span=span, source=source, place=name)


def parse_toml(text: str) -> dict[str, Any]:
    """The values in a text.

    Raises:
        tomllib.TOMLDecodeError: it is not TOML, or nests too deeply.

    >>> parse_toml('a.b = 1')
    {'a': {'b': 1}}
    >>> parse_toml("a." * 65 + "b = 1")
    Traceback (most recent call last):
    tomllib.TOMLDecodeError: A key of more than 64 parts
    """
    if LONG_KEY.search(text):
        raise tomllib.TOMLDecodeError(f"A key of more than {MAX_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("Brackets nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as e:  # a number of thousands of digits
        raise tomllib.TOMLDecodeError(str(e)) from None


def toml_value(value: Value) -> str:
    """A TOML boolean, number or basic string."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return repr(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped) + '"'


def line_of(key: str, text: str, behind: int = 0) -> int:
    """1-based line of the first key or table of this name after line `behind`; 1 if it is not found."""
    for number, line in enumerate(text.splitlines(), 1):
        if number > behind and line.strip().lstrip("[").lstrip().lstrip("'\"").startswith(key):
            return number
    return 1


def without_capital(message: str) -> str:
    return message[:1].lower() + message[1:]
