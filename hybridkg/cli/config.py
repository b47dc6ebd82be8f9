"""`hybridkg config`."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import kb_argument
from hybridkg.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from hybridkg.kb.settings_file import SettingState

NARROW = 80
"""Width below which the meaning of a setting is on lines of its own."""

WIDEST_VALUE = 26
"""Characters of a value in the list, in which a longer one is folded."""


@click.command()
@kb_argument
@click.argument("key", required=False)
@click.argument("value", required=False)
@click.option("--all", "show_all", is_flag=True, help="List all settings, also those that have their defaults.")
@click.option("--unset", is_flag=True, help="Remove the setting KEY from kb.toml, so that its default holds.")
@click.option("--format", "fmt", type=click.Choice(["table", "json"]), default="table", show_default=True)
def config(kb: Path, key: str | None, value: str | None, show_all: bool, unset: bool, fmt: str) -> None:
    """Show or change the settings of a knowledge base, which are in its kb.toml.

    Without KEY it lists the settings that differ from their defaults; as JSON, it lists all. KEY is a setting, such as
    limits.timeout, whose value it prints, or a section, such as limits, whose settings it explains. With VALUE it sets
    a setting, and leaves the other lines and comments of the file as they are, also in a kb.toml that is malformed.

    \b
    Example:
      hybridkg config films.kb limits.timeout 30
    """
    from hybridkg.kb.settings_file import SettingsFile, follows_next_index

    settings = SettingsFile(kb)
    if show_all and (key is not None or unset):
        raise UserError("--all takes neither a setting nor --unset", hint=f"hybridkg config {kb} --all")
    if key is None:
        if unset:
            raise UserError("--unset needs the name of a setting", hint="hybridkg config KB --unset limits.timeout")
        _print_list(settings.all(), kb, show_all, fmt)
        return
    if value is None and not unset:
        _print_one(settings.section(key) or [settings.get(key)], key, fmt)
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
            echo(f"{key} = {_short(state.value)}{'' if state.is_set else ' (the default)'}")
            return
    echo(f"{key} is removed")


def _print_one(states: Sequence[SettingState], key: str, fmt: str) -> None:
    """The bare value of a setting, or the settings of a section with all that is known about them."""
    is_section = states[0].setting.key != key
    if fmt == "json":
        described = [state.to_json() for state in states]
        echo_json(described if is_section else described[0])
    elif is_section:
        _print_explained(states)
    else:
        echo(_text(states[0].value))


def _print_list(states: Sequence[SettingState], kb: Path, show_all: bool, fmt: str) -> None:
    """The settings by section, and a line on how to see the others."""
    if fmt == "json":
        echo_json([state.to_json() for state in states])
        return
    from hybridkg.results.formats.table import console_on

    shown = states if show_all else [state for state in states if state.value != state.setting.default]
    _print_sections(shown, console_on(sys.stdout))
    sections = ", ".join(dict.fromkeys(state.setting.section for state in states if state.setting.section))
    if not show_all:
        others = "all" if not shown else "the other"
        echo(f"{others} {len(states) - len(shown)} settings have their defaults: hybridkg config {kb} --all", err=True)
    echo(f"one section with valid values: hybridkg config {kb} SECTION, of {sections}", err=True)


def _print_sections(states: Sequence[SettingState], console: Console) -> None:
    """One line a setting, where there is room, and an empty one between sections."""
    from rich.table import Table
    from rich.text import Text

    from hybridkg.terminal_text import printable

    names = max((len(state.setting.key) for state in states), default=0)
    values = min(max((len(_value(state)) for state in states), default=0), WIDEST_VALUE)
    for i, (_, own) in enumerate(itertools.groupby(states, key=lambda state: state.setting.section)):
        if i:
            console.print()
        if console.width < NARROW:
            for state in own:
                console.print(Text(printable(f"{state.setting.key} = {_value(state)}"), style="bold"), overflow="fold")
                _print_indented(state.setting.summary, console)
            continue
        grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
        grid.add_column(width=names, no_wrap=True)
        grid.add_column(width=values, overflow="fold")
        grid.add_column()
        for state in own:
            grid.add_row(*map(Text, map(printable, (state.setting.key, _value(state), state.setting.summary))))
        console.print(grid)


def _print_explained(states: Sequence[SettingState]) -> None:
    """A block a setting: its value and default, its meaning, and its valid values."""
    from rich.text import Text

    from hybridkg.results.formats.table import console_on
    from hybridkg.terminal_text import printable

    console = console_on(sys.stdout)
    for state in states:
        console.print(Text(printable(f"{state.setting.key} = {_value(state)}"), style="bold"), overflow="fold")
        _print_indented(state.setting.meaning, console)
        _print_indented(f"valid: {state.setting.allowed}", console)


def _print_indented(text: str, console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(text), (0, 0, 0, 4)))


def _value(state: SettingState) -> str:
    """The value, with the default where it is another."""
    default = state.setting.default
    return _short(state.value) + (f" (default {_short(default)})" if state.value != default else "")


def _short(value: object) -> str:
    """The value; a long one is cut."""
    from hybridkg.config.secret_values import cut

    return cut(_text(value))


def _text(value: object) -> str:
    """The whole value, without the user name and the password of an address."""
    from hybridkg.config.secret_values import without_user_info

    return f"{value:g}" if isinstance(value, float) and value < 1e6 else without_user_info(str(value)) or '""'
