"""Output of text and JSON: `click.echo` without control characters, which a terminal would execute."""

from __future__ import annotations

import json
import sys
from shutil import get_terminal_size
from typing import Any

import click

from hybridkg.errors import HybridkgError
from hybridkg.terminal_text import fitted, printable, printable_json


def echo(text: str | None = "", *, err: bool = False, nl: bool = True) -> None:
    """Prints a text for people, on stderr with `err`; control characters are made visible."""
    click.echo(None if text is None else printable(text), err=err, nl=nl)


def echo_error(error: HybridkgError) -> None:
    """Prints an error or a warning on stderr, fitted to a terminal."""
    text = error.render()
    click.echo(fitted(text, get_terminal_size().columns) if sys.stderr.isatty() else text, err=True)


def echo_json(value: Any) -> None:
    """Prints a value as JSON; control characters are escaped."""
    click.echo(printable_json(json.dumps(value, indent=2, ensure_ascii=False)))
