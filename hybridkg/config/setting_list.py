"""The list of all settings, with their defaults and meanings: the docstrings of settings.py, `kb.toml` for people."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from hybridkg.config.settings import PLAIN, TABLES, Config
from hybridkg.config.settings_reader import allowed_values
from hybridkg.config.toml import Value
from hybridkg.interfaces.encoder import ENCODERS, NO_ENCODER
from hybridkg.interfaces.vector_index import VECTOR_INDEXES

_ARGUMENT = re.compile(r"^    (\w+(?:, \w+)*): (.*)$")
_EXPLANATION = re.compile(r"[:.] ")
_ONLY = re.compile(r"; `(\w+)`: (.*)", re.DOTALL)


@dataclass(frozen=True)
class SettingDescription:
    """A setting of kb.toml.

    Args:
        key: full name, such as `vectors.encoder`.
        default: value without the setting.
        meaning: a few words.
        allowed: description of the valid values.
    """

    key: str
    default: Value
    meaning: str
    allowed: str

    @property
    def section(self) -> str:
        """The table of kb.toml that has the setting; empty for one above all tables."""
        return self.key.rpartition(".")[0]

    @property
    def summary(self) -> str:
        """The meaning in one line, without the explanation of single values.

        >>> SettingDescription("service", "refuse", "whether SERVICE may run: refuse or allow", "").summary
        'whether SERVICE may run'
        """
        return _EXPLANATION.split(self.meaning, maxsplit=1)[0]


@cache
def all_settings() -> tuple[SettingDescription, ...]:
    """Every setting of this version, in the order of a kb.toml.

    >>> [one.meaning for one in all_settings() if one.key == "limits.max_rows"]
    ['rows of terms of an intermediate result']
    """
    plain, about = Config(), _meanings(Config)
    found = [SettingDescription(key, getattr(plain, key), about.get(key, ""), _allowed(key)) for key in PLAIN]
    for table, keys in TABLES.items():
        for name, (outer, inner) in keys.items():
            value: Any = getattr(plain, outer)
            meaning = (_meanings(type(value)) if inner else about).get(inner or outer, "")
            key = f"{table}.{name}"
            found.append(SettingDescription(key, getattr(value, inner) if inner else value, meaning, _allowed(key)))
    return tuple(found)


def _allowed(key: str) -> str:
    """A description of the valid values; encoders and vector indexes are checked when an index is built."""
    if key == "vectors.encoder":
        return f'"{NO_ENCODER}" or an encoder: {", ".join(ENCODERS.builtin_names)}'
    if key == "vectors.index":
        return " or ".join(f'"{name}"' for name in VECTOR_INDEXES.builtin_names)
    return allowed_values(key).removesuffix(" in quotes")


def _meanings(kind: type) -> dict[str, str]:
    """The descriptions of the fields of a class in its docstring."""
    text = inspect.getdoc(kind) or ""
    meanings: dict[str, str] = {}
    names: list[str] = []
    for line in text.partition("Args:\n")[2].splitlines():
        if match := _ARGUMENT.match(line):
            names = match[1].split(", ")
            meanings |= dict.fromkeys(names, match[2])
        elif line.startswith("        ") and names:
            meanings |= {name: f"{meanings[name]} {line.strip()}" for name in names}
        else:
            names = []
    if not meanings and (match := _ONLY.search(text)):
        meanings[match[1]] = match[2]
    plain = {name: " ".join(meaning.split()).rstrip(".").replace("`", "") for name, meaning in meanings.items()}
    return {name: re.sub(r" \([a-z_/]+\.py\)", "", meaning) for name, meaning in plain.items()}
