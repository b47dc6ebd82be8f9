"""The line of a key in a TOML text, which tomllib does not give."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence

from hybridkg.config.toml import MAX_PARTS, parse_toml

PART = r"""(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
KEYS = rf"(?P<keys>{PART}(?>(?:[ \t]*\.[ \t]*{PART}){{0,{MAX_PARTS - 1}}}))[ \t]*"
HEADER = re.compile(rf"[ \t]*\[\[?[ \t]*{KEYS}\]")
WITH_VALUE = re.compile(rf"[ \t]*{KEYS}=")


def line_of_key(path: Sequence[str], text: str) -> int | None:
    r"""1-based line of a key or table, by all its parts; None where it is not found.

    A key inside an inline table has the line of that table.

    >>> text = '[limits]\n"ti\\u006deout" = 5\n[vectors]\nbatch = 1'
    >>> line_of_key(["limits", "timeout"], text), line_of_key(["vectors"], text), line_of_key(["limits", "batch"], text)
    (2, 3, None)
    """
    wanted = tuple(path)
    table: tuple[str, ...] = ()
    for number, line in _outside_long_strings(text):
        if header := HEADER.match(line):
            table = _parts(header["keys"])
            if table == wanted:
                return number
        elif match := WITH_VALUE.match(line):
            own = (*table, *_parts(match["keys"]))
            if own[: len(wanted)] == wanted or (wanted[: len(own)] == own and "{" in line):
                return number
    return None


def _outside_long_strings(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines that begin outside strings in three quotes."""
    mark = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not mark:
            yield number, line
        for found in re.findall(r"\"\"\"|'''", line):
            mark = found if not mark else "" if found == mark else mark


def _parts(keys: str) -> tuple[str, ...]:
    """The parts of a key, without quotes and escapes; none if it is no key."""
    if "\\" not in keys:
        return tuple(part.strip("\"'") for part in re.findall(PART, keys))
    parts: list[str] = []
    try:
        value: object = parse_toml(f"{keys} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    while isinstance(value, dict):
        key, value = next(iter(value.items()))
        parts.append(key)
    return tuple(parts)
