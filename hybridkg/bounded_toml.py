"""TOML that cannot exhaust the machine: the one door to tomllib, for files that may come from a stranger.

tomllib takes time and memory with the square of the parts of a key: measured, 400 KB of `a.a.a...` ask for 8 GB and
three minutes. Brackets inside each other it leaves with a RecursionError.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

MOST_PARTS = 64
"""Of a key: no file of ours has more than three."""

PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
LONG_KEY = re.compile(rf"(?<![\w-])(?:{PART}\.[ \t]*+){{{MOST_PARTS}}}")


def parse_toml(text: str) -> dict[str, Any]:
    """The values in a text.

    Raises:
        tomllib.TOMLDecodeError: it is not TOML, or nests more deeply than any file of ours.

    >>> parse_toml('a.b = 1')
    {'a': {'b': 1}}
    >>> parse_toml("a." * 65 + "b = 1")
    Traceback (most recent call last):
    tomllib.TOMLDecodeError: A key of more than 64 parts
    """
    if LONG_KEY.search(text):
        raise tomllib.TOMLDecodeError(f"A key of more than {MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("Brackets nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as e:  # a number of thousands of digits
        raise tomllib.TOMLDecodeError(str(e)) from None
