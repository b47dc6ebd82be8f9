"""How commands print text and JSON: `click.echo`, without what a terminal would take as a command."""

from __future__ import annotations

import json
from typing import Any

import click

from hybridkg.terminal_text import printable, printable_json


def echo(text: str | None = "", *, err: bool = False, nl: bool = True) -> None:
    """Prints a text for people, on stderr with `err`; what comes from data in it is shown, never obeyed."""
    click.echo(None if text is None else printable(text), err=err, nl=nl)


def echo_json(value: Any) -> None:
    """Prints a value as JSON, the same as it is, in characters that are safe to look at."""
    click.echo(printable_json(json.dumps(value, indent=2, ensure_ascii=False)))
