"""In-place edits of a kb.toml: some values change, every other line stays as it is."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hybridkg.config.settings import OLDER, OLDER_TABLES, Config, parse_config
from hybridkg.config.toml import parse_toml, toml_value
from hybridkg.errors import ConfigError

PLACES: dict[str, tuple[str, str]] = {"profile": ("", "profile"), **OLDER}
"""(table, key) of a setting, by its name in `Config`; table `""` is the part before the first table."""

HEADER = re.compile(r"\s*\[")
"""Start of a line that opens a table."""

VALUE = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s#"']+)"""
"""A value on the line of its key: a string, a number or a boolean."""


def change_settings(text: str, changes: Mapping[str, str], place: str = "kb.toml") -> str:
    r"""The text of a kb.toml with new values of some settings.

    An existing key keeps its line and comment; a missing one is added to its table, which is added at the end if it is
    missing. Settings that an older file has above all tables move into theirs.

    Args:
        text: valid TOML.
        changes: new values by setting, a key of PLACES.
        place: name of the file in errors.

    Raises:
        ConfigError: the text has a wrong key or value, or a value that spans several lines or cannot be replaced for
            another reason.

    >>> print(change_settings('[vectors]\nencoder = "none"  # for NEAR\n', {"encoder": "lsa"}), end="")
    [vectors]
    encoder = "lsa"  # for NEAR
    >>> print(change_settings('# mine\nencoder = "none"  # for NEAR\n', {"encoder": "lsa"}), end="")
    # mine
    <BLANKLINE>
    [vectors]
    encoder = "lsa"  # for NEAR
    """
    original, config = text, parse_config(text, place)
    in_tables = _in_tables(text)
    text = in_tables if _has_settings(in_tables, config) else text
    for name, value in changes.items():
        table, key = PLACES[name]
        changed: dict[str, Any] = {name: value}
        config = replace(config, **changed)
        text = _set(text, table, key, value)
        if not _has_settings(text, config):
            raise ConfigError(
                f"the value of {key!r} cannot be replaced where it is",
                hint=f"write it on a line of its own: {key} = {toml_value(value)}",
                place=f"{place}:{_line_number(original, key, name)}",
            )
    return text


def _in_tables(text: str) -> str:
    """The text with the settings of older files in their current tables, with their comments."""
    values = parse_toml(text)
    for older, newer in OLDER_TABLES.items():
        text = re.sub(rf"(?m)^(\s*\[\s*){older}(\s*\])", rf"\g<1>{newer}\g<2>", text)
    for name, (table, key) in OLDER.items():
        if isinstance(values.get(name), str):
            lines = text.splitlines(keepends=True)
            written = re.compile(rf"""\s*(?:{name}|"{name}"|'{name}')\s*=\s*({VALUE}.*)""")
            for i in range(*_table_lines(lines, "")):
                if match := written.match(lines[i]):
                    del lines[i]
                    text = _insert("".join(lines), table, f"{key} = {match[1].rstrip()}\n")
                    break
    return text


def _set(text: str, table: str, key: str, value: str) -> str:
    """The text with a new value of a key, as far as line by line editing can do it."""
    lines = text.splitlines(keepends=True)
    first, last = _table_lines(lines, table)
    written = re.compile(rf"""(\s*(?:{key}|"{key}"|'{key}')\s*=\s*){VALUE}""")
    for i in range(first, last):
        match = written.match(lines[i])
        if match:
            lines[i] = match[1] + toml_value(value) + lines[i][match.end() :]
            return "".join(lines)
    return _insert(text, table, f"{key} = {toml_value(value)}\n")


def _insert(text: str, table: str, line: str) -> str:
    """The text with a line added at the end of a table."""
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
    """The range of a table's lines, without its header; it starts beyond the text if there is no such table."""
    headers = [i for i, line in enumerate(lines) if HEADER.match(line)] + [len(lines)]
    if not table:
        return 0, headers[0]
    header = re.compile(rf"\s*\[\s*{table}\s*\]")
    for i, following in itertools.pairwise(headers):
        if header.match(lines[i]):
            return i + 1, following
    return len(lines) + 1, len(lines) + 1


def _has_settings(text: str, config: Config) -> bool:
    """Whether a text has these settings and no others: an edit line by line may hit a line of a long string."""
    try:
        return parse_config(text, "") == config
    except ConfigError:
        return False


def _line_number(text: str, *names: str) -> int:
    """1-based line of the first occurrence of a key by one of its names; 1 if it is not found."""
    return next((n for n, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith(names)), 1)
