"""Parameters of a ranking model in a TOML file, written by `hybridkg tune`, read by `USING bm25f(@params.toml)`.

model = "bm25f"

[arguments]
k1 = 1.2

[fields.title]
weight = 3.0
b = 0.4
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from hybridkg.config.toml import parse_toml
from hybridkg.errors import ConfigError

MAX_FILE_BYTES = 100_000
"""Maximum bytes of a file; real ones have some hundred."""

WEIGHT = "weight"


@dataclass(frozen=True)
class ModelParameters:
    """Parameters of one model.

    Args:
        model: name.
        arguments: of `USING model(...)`: numbers or words.
        fields: for each field its `weight` and other arguments, in the order of the ON clause.
    """

    model: str
    arguments: Mapping[str, float | str] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def to_toml(self) -> str:
        """The TOML text, which `parse_model_parameters` reads back as the same values.

        >>> print(ModelParameters("bm25f", {"k1": 1.5}, {"title": {"weight": 3.0}}).to_toml())
        model = "bm25f"
        <BLANKLINE>
        [arguments]
        k1 = 1.5
        <BLANKLINE>
        [fields.title]
        weight = 3.0
        <BLANKLINE>
        """
        tables: list[tuple[str, Mapping[str, float | str]]] = [("arguments", self.arguments)] if self.arguments else []
        tables += [
            (f'fields."{name}"' if not name.isascii() else f"fields.{name}", own) for name, own in self.fields.items()
        ]
        lines = [f'model = "{self.model}"']
        for name, values in tables:
            lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]
        return "\n".join(lines) + "\n"


def _toml(value: float | str) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(float(value))


def folders_of(knowledge_base: Path | None) -> tuple[Path, ...]:
    """Search path of the files that a query names: `models` in the knowledge base, then the current folder."""
    return (*((knowledge_base / "models",) if knowledge_base is not None else ()), Path())


def find_file(name: str, folders: Sequence[Path]) -> Path | None:
    """The first file of this name in the folders; a name that leads outside them finds nothing.

    >>> find_file("../secret.toml", [Path("/")])
    """
    inside = PurePosixPath(name)
    if inside.is_absolute() or ".." in inside.parts:
        return None
    with suppress(OSError):  # a name too long for any file
        return next((path for folder in folders if (path := folder / inside).is_file()), None)
    return None


def read_model_parameters(path: Path) -> ModelParameters:
    """The parameters in a file. Raises ConfigError: it is unreadable, not TOML, or not a model's parameters."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise ConfigError(f"{str(path)!r} is larger than {MAX_FILE_BYTES:,} bytes: not a file of parameters")
        return parse_model_parameters(content.decode("utf-8"), str(path))
    except OSError as e:
        raise ConfigError(f"cannot read {str(path)!r}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"{str(path)!r} is not UTF-8 text") from e


def parse_model_parameters(text: str, name: str) -> ModelParameters:
    """The parameters in a text of the file `name`. Raises ConfigError: it is not TOML, or not parameters."""
    try:
        values = parse_toml(text)
    except ValueError as e:
        message = str(e)
        raise ConfigError(f"not TOML: {message[:1].lower()}{message[1:]}", place=name) from e
    unknown = next((key for key in values if key not in ("model", "arguments", "fields")), None)
    if unknown is not None:
        raise ConfigError(f"no key {unknown!r}; known: model, arguments, fields", place=name)
    model = values.get("model")
    if not isinstance(model, str) or not model:
        raise ConfigError('the key "model" must name the model', hint='model = "bm25f"', place=name)
    arguments = _table(values.get("arguments", {}), "arguments", name)
    fields = values.get("fields", {})
    if not isinstance(fields, dict):
        raise ConfigError('"fields" must hold a table for each field', hint="[fields.title]", place=name)
    return ModelParameters(
        model,
        {key: value if isinstance(value, str) else _number(value, key, name) for key, value in arguments.items()},
        {
            own: {key: _number(value, f"{own}.{key}", name) for key, value in _table(table, own, name).items()}
            for own, table in fields.items()
        },
    )


def _table(value: Any, key: str, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{key!r} must be a table", hint=f"[{key}]", place=name)
    return value


def _number(value: Any, key: str, name: str) -> float:
    with suppress(OverflowError):  # an int of hundreds of digits
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    shown = "one so large" if isinstance(value, int) and not isinstance(value, bool) else repr(value)
    raise ConfigError(f"{key!r} must be a finite number, not {shown}", place=name)
