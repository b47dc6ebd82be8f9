"""Reading of a kb.toml, with tomllib: errors of keys and values name their line."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from hybridkg.config.key_lines import line_of_key
from hybridkg.config.mistakes import not_toml, not_utf8, shown_at
from hybridkg.config.secret_values import shown_value
from hybridkg.config.settings import (
    CHOICES,
    EMBEDDED,
    ENGINES,
    KEY_OF,
    MODEL_KEY,
    OLDER,
    OLDER_TABLES,
    PLAIN,
    RANGES,
    SECRETS,
    TABLES,
    Config,
    setting_at,
)
from hybridkg.config.toml import Value, parse_toml
from hybridkg.errors import ConfigError
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.interfaces.vector_index import VECTOR_INDEXES

LARGEST = 1 << 20
"""Maximum bytes of a kb.toml, which bounds the cost of a hostile one."""

KEPT_SETTINGS = 8
"""Parsed texts that are kept: a commit asks for the settings 16 times, and parsing takes 0.4 ms."""


def read_config(path: Path) -> Config:
    """The settings in a file. Raises ConfigError: it is unreadable, not TOML, or has a wrong key or value."""
    return parse_config(read_settings(path), str(path))


def read_settings(path: Path) -> str:
    """The text of a kb.toml with normalised line ends, without a byte order mark.

    Raises:
        ConfigError: unreadable, too large, or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ConfigError(f"{str(path)!r} is larger than {LARGEST:,} bytes: not a file of settings")
        text = content.decode("utf-8-sig")
    except OSError as e:
        raise ConfigError(f"cannot read {str(path)!r}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise not_utf8(content, e, str(path)) from e
    return text.replace("\r\n", "\n")


@lru_cache(KEPT_SETTINGS)
def parse_config(text: str, name: str) -> Config:
    """The settings in a text of the file `name`. Raises ConfigError: not TOML, an unknown key, or a wrong value."""
    try:
        values = parse_toml(text)
    except tomllib.TOMLDecodeError as e:
        raise not_toml(text, e, name, {f"{table}.{key}" for table in TABLES for key in TABLES[table]} | {*PLAIN}) from e
    settings: dict[str, WrittenSetting] = {}
    sections: dict[str, dict[str, Value]] = {}
    for one in in_todays_form(values, text):
        place = one.place(name)
        if one.table and one.table not in TABLES:
            sections.setdefault(one.table, {})[one.name] = _of_plugin(one, place)
            continue
        is_known = one.name in (TABLES[one.table] if one.table else PLAIN)
        is_section = not one.table and (one.name in TABLES or one.name in OLDER_TABLES)  # its value has any settings
        with shown_at(None if is_section else one.line, text, name, about_key=not is_known):
            check_setting(one, place)
        if one.key in settings:
            raise ConfigError(
                f"{one.written!r} and {settings[one.key].written!r} are the same setting",
                hint=f"write {one.key!r}, and leave the other out",
                place=place,
            )
        settings[one.key] = one
    config = _config(settings, sections)
    if config.graph != EMBEDDED and config.default_graph != "default":
        raise ConfigError(
            "'default_graph' has no effect: the endpoint that has the graph decides it",
            hint="set up the endpoint so that its default graph is the union, and leave 'default_graph' out",
            place=settings["default_graph"].place(name),
        )
    _check_overlap(config, settings, name)
    return config


@dataclass(frozen=True, slots=True)
class WrittenSetting:
    """A setting in a file.

    Args:
        table, name: current name, such as `vectors` and `encoder`; no table for one above all tables.
        written: name in the file: `encoder` in an older one.
        value, line: value, and 1-based line; None for an unknown line.
    """

    table: str
    name: str
    written: str
    value: Any
    line: int | None = None

    @property
    def key(self) -> str:
        """Full name, such as `vectors.encoder`."""
        return f"{self.table}.{self.name}" if self.table else self.name

    def place(self, file: str) -> str:
        """`file:line`, or the file alone."""
        return file if self.line is None else f"{file}:{self.line}"


def in_todays_form(values: Mapping[str, Any], text: str) -> Iterator[WrittenSetting]:
    """The settings of a file, with older names replaced by current ones (OLDER, OLDER_TABLES)."""
    for name, value in values.items():
        if isinstance(value, dict) and (name in TABLES or name in OLDER_TABLES or _is_of_plugin(name)):
            table = OLDER_TABLES.get(name, name)
            for key, own in value.items():
                yield WrittenSetting(table, key, f"{name}.{key}", own, line_of_key([name, key], text))
        else:
            yield WrittenSetting(*OLDER.get(name, ("", name)), name, value, line_of_key([name], text))


def _is_of_plugin(table: str) -> bool:
    """Whether a table belongs to a text engine or a vector index of another package."""
    return any(getattr(one, "section", "") == table for one in (*TEXT_ENGINES.plugins(), *VECTOR_INDEXES.plugins()))


def _of_plugin(setting: WrittenSetting, place: str) -> Value:
    """The value of a plug-in's setting, which the plug-in itself checks."""
    if not (setting.name.isascii() and setting.name.replace("-", "_").isidentifier()):
        raise ConfigError(f"the name of a setting cannot be {setting.name!r}", place=place)
    if not isinstance(setting.value, str | int | float):
        raise ConfigError(f"setting {setting.written!r} must be a text, a number, true or false", place=place)
    return setting.value


def _config(settings: Mapping[str, WrittenSetting], sections: Mapping[str, Mapping[str, Value]]) -> Config:
    """The given settings, and defaults for the others."""
    values: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for one in settings.values():
        outer, inner = TABLES[one.table][one.name] if one.table else (one.name, "")
        if inner:
            parts.setdefault(outer, {})[inner] = one.value
        else:
            values[outer] = one.value
    values |= {outer: replace(getattr(Config(), outer), **own) for outer, own in parts.items()}
    return Config(**values, sections=tuple((name, tuple(own.items())) for name, own in sections.items()))


def _check_overlap(config: Config, settings: Mapping[str, WrittenSetting], name: str) -> None:
    """Raises ConfigError if the overlap of chunks is not below their length."""
    chunk, overlap = config.encoding.chunk, config.encoding.overlap
    if overlap < chunk:
        return
    setting = settings.get("vectors.chunk") or settings["vectors.overlap"]  # the defaults of both are valid
    table = setting.written.partition(".")[0]
    raise ConfigError(
        f"setting '{table}.overlap' must be below '{table}.chunk', which is {chunk}, not {overlap}",
        place=setting.place(name),
    )


def check_setting(setting: WrittenSetting, place: str) -> None:
    """Raises ConfigError unless the key is known and its value is valid."""
    table, key = setting.table, setting.name
    prefix = setting.written.removesuffix(f".{key}") if setting.written.endswith(f".{key}") else ""
    allowed = TABLES[table] if table else {key: (key, "") for key in (*PLAIN, *TABLES)}
    if prefix in OLDER_TABLES:
        allowed = {key: at for key, at in allowed.items() if at[0] == prefix}
    prefix = f"{prefix}." if prefix else ""
    value, written = setting.value, setting.written
    if key in SECRETS and table:
        kind = next((type(getattr(Config(), outer)) for outer, inner in allowed.values() if inner), Config)
        variable = KEY_OF.get(kind, MODEL_KEY)
        raise ConfigError(
            f"{key!r} must not be in a file that is copied and shared",
            hint=f"set {variable} in the environment"
            + (f", or {variable}_FILE to a file that holds it" if variable != MODEL_KEY else ""),
            place=place,
        )
    if not table and (key in TABLES or key in OLDER_TABLES):
        raise ConfigError(f"setting {written!r} must be a table: [{written}], not {shown_value(value)}", place=place)
    if key not in allowed:
        near = difflib.get_close_matches(key, allowed, 1)
        raise ConfigError(
            f"no setting {written!r}; known: {', '.join(prefix + name for name in allowed)}",
            hint=f"did you mean {prefix + near[0]!r}?" if near else "",
            place=place,
        )
    wanted, good, hint = _wanted(setting, setting_at(Config(), allowed[key]), place)
    if not good:
        raise ConfigError(f"setting {written!r} must be {wanted}, not {shown_value(value)}", hint=hint, place=place)


def allowed_values(key: str) -> str:
    """A description of the valid values of a setting, by its full name.

    >>> allowed_values("vectors.batch"), allowed_values("service")
    ('a whole number from 1 to 65,536', '"refuse" or "allow"')
    """
    table, _, name = key.rpartition(".")
    at = TABLES[table][name] if table else (name, "")
    return _wanted(WrittenSetting(table, name, key, None), setting_at(Config(), at), "")[0]


def _wanted(setting: WrittenSetting, default: object, place: str) -> tuple[str, bool, str]:
    """A description of the valid values, whether the value is one, and a hint with the nearest name."""
    key, value, hint = setting.key, setting.value, ""
    allowed = CHOICES.get(setting.name)
    if key in ENGINES:
        allowed = (str(value),) if value in ENGINES[key] else tuple(ENGINES[key].names())
    if allowed:
        near = [] if value in allowed else difflib.get_close_matches(str(value), allowed, 1)
        hint = f"did you mean {near[0]!r}?" if near else ""
        return " or ".join(f'"{name}"' for name in allowed), value in allowed, hint
    if key in RANGES:
        low, high = RANGES[key]
        whole = isinstance(default, int)
        good = isinstance(value, int if whole else int | float) and not isinstance(value, bool) and low <= value <= high
        return f"a {'whole ' if whole else ''}number from {low:,.10g} to {high:,.10g}", good, hint
    if key == "graph.location":
        good = isinstance(value, str) and (value == EMBEDDED or value.startswith(("http://", "https://")))
        if good and "@" in value:
            raise ConfigError(
                f"{setting.written!r} carries a user name or a password, or another '@'",
                hint="set HYBRIDKG_ENDPOINT_USERNAME and HYBRIDKG_ENDPOINT_PASSWORD; write %40 for an @",
                place=place,
            )
        return f'"{EMBEDDED}" or the address of a SPARQL endpoint', good, hint
    return "a text in quotes", isinstance(value, str) and bool(value), hint
