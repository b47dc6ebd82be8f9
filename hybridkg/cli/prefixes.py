"""`hybridkg prefixes`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import kb_argument, opened, opened_for_update, wait_option
from hybridkg.errors import ParameterError


@click.command()
@kb_argument
@click.option("--add", "added", metavar="NAME=IRI", multiple=True, help="Keep a prefix, or change it; repeatable.")
@click.option("--remove", "removed", metavar="NAME", multiple=True, help="Keep a prefix no longer; repeatable.")
@click.option("--well-known", is_flag=True, help="List the well-known prefixes, too.")
@wait_option
@click.option("--format", "fmt", type=click.Choice(["text", "json"]), default="text", show_default=True)
def prefixes(
    kb: Path, added: tuple[str, ...], removed: tuple[str, ...], well_known: bool, wait: float, fmt: str
) -> None:
    """List the prefixes that queries need not declare, or change them.

    They come from the loaded files: the first namespace of a prefix is kept. A declaration in a query wins over
    them, and they win over the well-known prefixes, such as rdfs: and foaf:.

    \b
    Example:
      hybridkg prefixes films.kb --add films=http://example.org/films/
    """
    from hybridkg.rdf.well_known import WELL_KNOWN, prefix_lines

    changes: dict[str, str | None] = {_name(text): None for text in removed}
    changes |= dict(map(_added, added))
    if changes:
        base = opened_for_update(kb)
        base.set_prefixes(changes, wait=wait)
        kept = base.prefixes
    else:
        with opened(kb) as base:
            kept = base.prefixes
    shown = {**kept, **({name: iri for name, iri in WELL_KNOWN.items() if name not in kept} if well_known else {})}
    if fmt == "json":
        echo_json(shown)
        return
    for line in prefix_lines(shown):
        echo(line)
    if not shown:
        echo("no prefix is kept: none of the loaded files declares one; --add NAME=IRI keeps one", err=True)


def _name(text: str) -> str:
    return text.removesuffix(":")


def _added(text: str) -> tuple[str, str]:
    name, equals, iri = text.partition("=")
    if not equals:
        raise ParameterError(f"{text!r} is not NAME=IRI", hint="--add films=http://example.org/films/")
    return _name(name), iri[1:-1] if iri.startswith("<") and iri.endswith(">") else iri
