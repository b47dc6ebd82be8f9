"""In-place edits of a kb.toml: some values change, every other line stays as it is."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hybridkg.config.settings import OLDER, OLDER_TABLES, TABLES, Config, write_config
from hybridkg.config.settings_reader import parse_config
from hybridkg.config.toml import Value, parse_toml, toml_value
from hybridkg.errors import ConfigError

PLACES: dict[str, tuple[str, str]] = {"profile": ("", "profile"), **OLDER}
"""(table, key) of a setting, by its name in `Config`; table `""` is the part before the first table."""

COMMENT = re.compile(r"\s+#[^\n\"']*")
"""A comment at the end of a line."""

OLDER_NAMES = {f"{table}.{key}": (name,) for name, (table, key) in OLDER.items()}
"""Names that older files have for a setting."""

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
    return edit_settings(text, {".".join(filter(None, PLACES[name])): value for name, value in changes.items()}, place)


def edit_settings(text: str, changes: Mapping[str, Value | None], place: str = "kb.toml") -> str:
    r"""As `change_settings`, for all settings by their full names; None removes one.

    >>> print(edit_settings('[limits]\ntimeout = 5  # s\n', {"limits.timeout": None, "limits.max_rows": 7}), end="")
    [limits]
    max_rows = 7
    """
    original, config = text, parse_config(text, place)
    in_tables = _in_tables(text)
    text = in_tables if _has_settings(in_tables, config) else text
    for name, value in changes.items():
        key = name.rpartition(".")[2]
        config = with_setting(config, name, value)
        _check_together(config)
        text = mended(text, name, value)
        if not _has_settings(text, config):
            line = (
                f"write it on a line of its own: {key} = {toml_value(value)}"
                if value is not None
                else "remove it there"
            )
            raise ConfigError(
                f"the value of {key!r} cannot be replaced where it is",
                hint=line,
                place=f"{place}:{_line_number(original, key, *OLDER_NAMES.get(name, ()))}",
            )
    return text


def _check_together(config: Config) -> None:
    """Raises ConfigError where settings do not fit together; their lines in a file are of no interest."""
    try:
        parse_config(write_config(config), "")
    except ConfigError as e:
        raise ConfigError(e.message, hint=e.hint) from None


def mended(text: str, name: str, value: Value | None) -> str:
    r"""The text with another value of a setting, or without it, line by line: the text need not be TOML.

    >>> print(mended("[vectors]\nencoder = lsa  # mine\n", "vectors.encoder", "lsa"), end="")
    [vectors]
    encoder = "lsa"  # mine
    """
    table, _, key = name.rpartition(".")
    return _removed(text, table, key) if value is None else _set(text, table, key, value)


def with_setting(config: Config, name: str, value: Value | None) -> Config:
    """The settings with another value of one, by its full name; None for its default."""
    table, _, key = name.rpartition(".")
    outer, inner = TABLES[table][key] if table else (key, "")
    plain = Config()
    if inner:
        default = getattr(getattr(plain, outer), inner)
        part: Any = replace(getattr(config, outer), **{inner: default if value is None else value})
        return replace(config, **{outer: part})
    changed: dict[str, Any] = {outer: getattr(plain, outer) if value is None else value}
    return replace(config, **changed)


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


def _removed(text: str, table: str, key: str) -> str:
    """The text without the line of a key."""
    lines = text.splitlines(keepends=True)
    first, last = _table_lines(lines, table)
    written = re.compile(rf"""\s*(?:{re.escape(key)}|"{re.escape(key)}"|'{re.escape(key)}')\s*=""")
    return "".join(line for i, line in enumerate(lines) if not (first <= i < last and written.match(line)))


def _set(text: str, table: str, key: str, value: Value) -> str:
    """The text with a new value of a key, as far as line by line editing can do it."""
    lines = text.splitlines(keepends=True)
    first, last = _table_lines(lines, table)
    written = re.compile(rf"""(\s*(?:{key}|"{key}"|'{key}')\s*=\s*)({VALUE})?""")
    for i in range(first, last):
        match = written.match(lines[i])
        if match:
            lines[i] = _replaced(lines[i], match, toml_value(value))
            return "".join(lines)
    return _insert(text, table, f"{key} = {toml_value(value)}\n")


def _replaced(line: str, match: re.Match[str], value: str) -> str:
    """The line with another value; where it then is no TOML, as one without a closing quote, without its other text."""
    replaced = match[1] + value + line[match.end() :]
    try:
        parse_toml(replaced)
    except tomllib.TOMLDecodeError:
        comment = COMMENT.search(line, match.end(1))
        return match[1].rstrip() + f" {value}{comment[0] if comment else ''}\n"
    return replaced


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
