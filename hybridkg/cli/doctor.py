"""`hybridkg doctor`."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import PATH

if TYPE_CHECKING:
    from hybridkg.cli.diagnosis import Check

MARKS = {"ok": "✓", "broken": "✗", "note": "!", "absent": "-"}
STYLES: dict[str, dict[str, Any]] = {
    "ok": {"fg": "green"},
    "broken": {"fg": "red", "bold": True},
    "note": {"fg": "yellow"},
    "absent": {"dim": True},
}
LEGEND = "✓ works   ✗ needed, does not work   ! could be better   - optional, not installed"


@click.command()
@click.argument("kb", metavar="[KB]", required=False, type=PATH)
@click.option("--format", "fmt", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option(
    "--compile", "compiles", is_flag=True, help="Compile the search kernels, once per installation, and stop."
)
@click.pass_context
def doctor(ctx: click.Context, kb: Path | None, fmt: str, compiles: bool) -> None:
    """Show what works, what is missing, and how to fix it.

    With KB, checks that knowledge base as well. A finding is followed by the command that fixes it.
    Exit code 1 if something needed does not work.

    With --compile, compiles the search kernels that are not compiled yet, and checks nothing. A first large load
    does it otherwise, in the background.

    \b
    Example:
      hybridkg doctor films.kb
    """
    from hybridkg.cli.diagnosis import diagnose, healthy

    if compiles:
        from hybridkg.cli.search_kernels import compile_all

        compile_all()
        return
    checks = diagnose(kb)
    if fmt == "json":
        echo_json([asdict(check) for check in checks])
    else:
        _print_checks(checks)
    if not healthy(checks):
        ctx.exit(1)


def _print_checks(checks: list[Check]) -> None:
    """Prints a mark, a name and the finding; the fix has a line of its own, to be copied.

    Needs no package but click, since others may be broken.
    """
    columns = shutil.get_terminal_size().columns
    width = max(len(check.name) for check in checks)
    indent = " " * (width + 4)
    part = ""
    for check in checks:
        if check.part != part:
            echo(("\n" if part else "") + check.part)
            part = check.part
        first, *more = _wrapped(_printable(check.detail), max(20, columns - len(indent)))
        click.secho(MARKS[check.state], nl=False, **STYLES[check.state])
        echo(f" {check.name:<{width}}  {first}".rstrip())
        for line in more:
            echo(indent + line)
        if check.fix:
            echo(f"  fix: {_printable(check.fix)}")
    echo("")
    for line in _wrapped(LEGEND, columns, separator="   "):
        echo(line)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _wrapped(text: str, width: int, separator: str = " ") -> list[str]:
    """Lines of at most `width` characters, broken between words; a longer word stays whole."""
    lines = [""]
    for word in text.split(separator):
        longer = f"{lines[-1]}{separator}{word}" if lines[-1] else word
        if len(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
