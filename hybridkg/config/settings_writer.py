"""Edits of a kb.toml in place: the values of some keys change, every other line stays as its owner wrote it."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Mapping

from hybridkg.config.settings import OLDER, OLDER_TABLES
from hybridkg.config.toml import parse_toml
from hybridkg.errors import ConfigError

PLACES: dict[str, tuple[str, str]] = {"profile": ("", "profile"), **OLDER}
"""(table, key) in which a setting stands, by its name in `Config`; table `""` is the part before the first table."""

HEADER = re.compile(r"\s*\[")
"""The beginning of a line that opens a table."""

VALUE = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s#"']+)"""
"""A value that stands on the line of its key: a string, a number or a truth value."""


def change_settings(text: str, changes: Mapping[str, str], place: str = "kb.toml") -> str:
    r"""The text of a kb.toml with other values of some settings.

    A key that is there keeps its line, with the comment behind the value; one that is not is added to its table, which
    is made at the end where there is none. Settings that an older file has above all tables move into theirs.

    Args:
        text: of the file, which is valid TOML.
        changes: new values by the name of the setting, a key of PLACES.
        place: name of the file in errors.

    Raises:
        ConfigError: a value is written over several lines, or otherwise so that it cannot be replaced.

    >>> print(change_settings('[vectors]\nencoder = "none"  # for NEAR\n', {"encoder": "lsa"}), end="")
    [vectors]
    encoder = "lsa"  # for NEAR
    >>> print(change_settings('# mine\nencoder = "none"  # for NEAR\n', {"encoder": "lsa"}), end="")
    # mine
    <BLANKLINE>
    [vectors]
    encoder = "lsa"  # for NEAR
    """
    before, text = text, _in_tables(text)
    for name, value in changes.items():
        table, key = PLACES[name]
        text = _set(text, table, key, value)
        if not _stands(text, table, key, value):
            raise ConfigError(
                f"the setting {key!r} is written in a way in which it cannot be replaced",
                hint=f"write it on a line of its own: {key} = {toml_string(value)}",
                place=f"{place}:{_line_number(before, key)}",
            )
    return text


def toml_string(value: str) -> str:
    """A TOML basic string.

    >>> print(toml_string('a"b'))
    "a\\"b"
    """
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped) + '"'


def _in_tables(text: str) -> str:
    """The text with settings of older files in the tables of today, each with the comment behind it."""
    values = parse_toml(text)
    for older, newer in OLDER_TABLES.items():
        text = re.sub(rf"(?m)^(\s*\[\s*){older}(\s*\])", rf"\g<1>{newer}\g<2>", text)
    for name, (table, key) in OLDER.items():
        if isinstance(values.get(name), str):
            lines = text.splitlines(keepends=True)
            written = re.compile(rf"""\s*(?:{name}|"{name}"|'{name}')\s*=\s*({VALUE}.*)""")
            for i in range(*_table_lines(lines, "")):
                if found := written.match(lines[i]):
                    del lines[i]
                    text = _insert("".join(lines), table, f"{key} = {found[1].rstrip()}\n")
                    break
    return text


def _set(text: str, table: str, key: str, value: str) -> str:
    """The text with the value of a key in a table, wherever that can be done line by line."""
    lines = text.splitlines(keepends=True)
    first, last = _table_lines(lines, table)
    written = re.compile(rf"""(\s*(?:{key}|"{key}"|'{key}')\s*=\s*){VALUE}""")
    for i in range(first, last):
        found = written.match(lines[i])
        if found:
            lines[i] = found[1] + toml_string(value) + lines[i][found.end() :]
            return "".join(lines)
    return _insert(text, table, f"{key} = {toml_string(value)}\n")


def _insert(text: str, table: str, line: str) -> str:
    """The text with one more line at the end of a table."""
    lines = text.splitlines(keepends=True)
    first, last = _table_lines(lines, table)
    if first > len(lines):
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines.append(f"\n[{table}]\n")
        last = len(lines)
    else:
        while last > first and not lines[last - 1].strip():
            last -= 1
        if last and not lines[last - 1].endswith("\n"):
            lines[last - 1] += "\n"
    lines.insert(last, line)
    return "".join(lines)


def _table_lines(lines: list[str], table: str) -> tuple[int, int]:
    """The lines of a table, first to last without its header; the first is behind the end where there is none."""
    headers = [i for i, line in enumerate(lines) if HEADER.match(line)] + [len(lines)]
    if not table:
        return 0, headers[0]
    own = re.compile(rf"\s*\[\s*{table}\s*\]")
    for i, following in itertools.pairwise(headers):
        if own.match(lines[i]):
            return i + 1, following
    return len(lines) + 1, len(lines) + 1


def _stands(text: str, table: str, key: str, value: str) -> bool:
    """Whether a text is TOML in which a key has a value."""
    try:
        values = parse_toml(text)
    except tomllib.TOMLDecodeError:
        return False
    found = values.get(table, {}) if table else values
    return isinstance(found, dict) and found.get(key) == value


def _line_number(text: str, key: str) -> int:
    """1-based line on which a key is written first; 1 where it cannot be found."""
    return next((n for n, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith(key)), 1)
