"""Bounded TOML parsing, for files that may be hostile; all others must not use tomllib directly.

tomllib's time and memory are quadratic in the parts of a key: 400 KB of `a.a.a...` take 8 GB and three minutes. Nested
brackets end in a RecursionError.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, TypeAlias

Value: TypeAlias = str | int | float | bool
"""Type of a setting."""

MAX_PARTS = 64
"""Maximum parts of a key; our files have at most three."""

PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
LONG_KEY = re.compile(rf"(?<![\w-])(?:{PART}\.[ \t]*+){{{MAX_PARTS}}}")


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
