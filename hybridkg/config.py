"""`kb.toml`: the settings of one knowledge base.

The file is read with tomllib and written from a template, so the comments in
it are ours; an unknown key or a value out of range is an error with its line.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

from hybridkg.errors import ConfigError

CHOICES = {"text": ("embedded",), "default_graph": ("default", "union"), "service": ("refuse", "allow")}
"""Keys whose value is one of a few names; the others take any non-empty string."""

TEMPLATE = """\
# Settings of this knowledge base; an unknown key is an error.
profile = {profile}  # name of a shipped profile, or path of a Turtle file
text = {text}  # text index: "embedded"
default_graph = {default_graph}  # "default", or "union" of all graphs
service = {service}  # "refuse", or "allow" queries to ask other SPARQL endpoints (SERVICE)
"""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings.

    Args:
        profile: name of a shipped profile or path of a Turtle file; says which predicates feed which field.
        text: the text index.
        default_graph: what a query sees outside GRAPH: the `default` graph, or the `union` of all.
        service: whether SERVICE may reach the network: `refuse` or `allow`.
    """

    profile: str = "default"
    text: str = "embedded"
    default_graph: str = "default"
    service: str = "refuse"


KEYS = tuple(field.name for field in fields(Config))


def write_config(config: Config) -> str:
    """The text of a kb.toml.

    >>> parse_config(write_config(Config(profile='a"b')), "kb.toml").profile
    'a"b'
    """
    return TEMPLATE.format(**{key: _quoted(getattr(config, key)) for key in KEYS})


def _quoted(value: str) -> str:
    """A TOML basic string."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped) + '"'


def read_config(path: Path) -> Config:
    """The settings in a file.

    Raises:
        ConfigError: it cannot be read, is not TOML, has an unknown key or a wrong value.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as e:
        raise ConfigError(f"cannot read {str(path)!r}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"{str(path)!r} is not UTF-8 text") from e
    return parse_config(text, str(path))


def parse_config(text: str, name: str) -> Config:
    """The settings in a text; `name` is the file that an error points to.

    Raises:
        ConfigError: the text is not TOML, has an unknown key or a wrong value.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise ConfigError(f"not TOML: {_without_capital(str(e))}", place=name) from e
    for key, value in values.items():
        place = f"{name}:{_line_of(key, text)}"
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1)
            raise ConfigError(
                f"no setting {key!r}; known: {', '.join(KEYS)}",
                hint=f"did you mean {near[0]!r}?" if near else "",
                place=place,
            )
        allowed = CHOICES.get(key)
        if not isinstance(value, str) or not value or (allowed and value not in allowed):
            wanted = " or ".join(f'"{name}"' for name in allowed) if allowed else "a text in quotes"
            near = difflib.get_close_matches(str(value), allowed or (), 1)
            raise ConfigError(
                f"setting {key!r} must be {wanted}, not {value!r}",
                hint=f"did you mean {near[0]!r}?" if near else "",
                place=place,
            )
    return Config(**values)


def _line_of(key: str, text: str) -> int:
    """1-based line on which a top-level key or table is written; 1 where it cannot be told."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().lstrip("[").lstrip().lstrip("'\"").startswith(key):
            return number
    return 1


def _without_capital(message: str) -> str:
    return message[:1].lower() + message[1:]
