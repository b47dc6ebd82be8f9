"""`hybridkg config`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import kb_argument
from hybridkg.errors import UserError

if TYPE_CHECKING:
    from hybridkg.kb.settings_file import SettingState

NARROW = 100
"""Width below which each setting is a block of lines."""


@click.command()
@kb_argument
@click.argument("key", required=False)
@click.argument("value", required=False)
@click.option("--unset", is_flag=True, help="Remove the setting KEY from kb.toml, so that its default holds.")
@click.option("--format", "fmt", type=click.Choice(["table", "json"]), default="table", show_default=True)
def config(kb: Path, key: str | None, value: str | None, unset: bool, fmt: str) -> None:
    """Show or change the settings of a knowledge base, which are in its kb.toml.

    Without KEY it lists all settings with their defaults, meanings and valid values; with KEY it prints the value of
    one; with VALUE it sets it, and leaves the other lines and comments of the file as they are. It also mends a kb.toml
    that is malformed, a setting at a time.

    \b
    Example:
      hybridkg config films.kb limits.timeout 30
    """
    from hybridkg.kb.settings_file import SettingsFile, follows_next_index

    settings = SettingsFile(kb)
    if key is None:
        if unset:
            raise UserError("--unset needs the name of a setting", hint="hybridkg config KB --unset limits.timeout")
        _print_all(settings.all(), fmt)
        return
    if value is None and not unset:
        state = settings.get(key)
        if fmt == "json":
            echo_json(state.to_json())
        else:
            echo(_text(state.value))
        return
    if value is not None and unset:
        raise UserError("--unset takes no value", hint="leave out the value, or --unset")
    remaining = settings.unset(key) if value is None else settings.set(key, value)
    if remaining is not None:
        echo(f"{key} is changed; something else in the file is wrong:", err=True)
        echo(remaining.render(), err=True)
        return
    _print_changed(settings.all(), key)
    if follows_next_index(key):
        echo(f"note: it has an effect with the next: hybridkg index {kb}", err=True)


def _print_changed(states: Sequence[SettingState], key: str) -> None:
    for state in states:
        if state.setting.key == key:
            echo(f"{key} = {_text(state.value)}{'' if state.is_set else ' (the default)'}")
            return
    echo(f"{key} is removed")


def _print_all(states: Sequence[SettingState], fmt: str) -> None:
    from hybridkg.cli.output import text_table
    from hybridkg.results.formats.table import console_on

    if fmt == "json":
        echo_json([state.to_json() for state in states])
        return
    console = console_on(sys.stdout)
    rows = [
        (
            s.setting.key,
            _text(s.value),
            _text(s.setting.default) if s.value != s.setting.default else "",
            s.setting.meaning,
            s.setting.allowed,
        )
        for s in states
    ]
    if console.width >= NARROW:
        console.print(text_table(("setting", "value", "default", "meaning", "allowed"), rows, ()))
        return
    for key, value, default, meaning, allowed in rows:
        other = f" (default {default})" if default else ""
        console.print(f"{key} = {value}{other}", style="bold", markup=False)
        console.print(f"  {meaning}; {allowed}", markup=False)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) and value < 1e6 else str(value) if value != "" else '""'
