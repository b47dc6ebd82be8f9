"""Output of text and JSON: `click.echo` without control characters, which a terminal would execute."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from hybridkg.errors import HybridkgError
from hybridkg.terminal_text import fitted, printable, printable_json

KB_IN_USE = "hybridkg.kb"
"""Key of the knowledge base of a command in the `meta` of its click context."""

_PLACEHOLDER = re.compile(r"\bhybridkg ([a-z]+) KB\b")


def in_place(text: str) -> str:
    """A message with the knowledge base of this command in place of KB in the commands that it suggests."""
    context = click.get_current_context(silent=True)
    kb = None if context is None else context.meta.get(KB_IN_USE)
    if not isinstance(kb, Path):
        return text
    place = shlex.quote(str(kb))
    return _PLACEHOLDER.sub(lambda found: f"hybridkg {found[1]} {place}", text)


def echo(text: str | None = "", *, err: bool = False, nl: bool = True) -> None:
    """Prints a text for people, on stderr with `err`; control characters are made visible."""
    click.echo(None if text is None else printable(in_place(text) if err else text), err=err, nl=nl)


def echo_error(error: HybridkgError) -> None:
    """Prints an error or a warning on stderr, fitted to a terminal."""
    text = printable(in_place(error.render()))
    click.echo(fitted(text, get_terminal_size().columns) if sys.stderr.isatty() else text, err=True)


def echo_json(value: Any) -> None:
    """Prints a value as JSON; control characters are escaped."""
    click.echo(printable_json(json.dumps(value, indent=2, ensure_ascii=False)))
