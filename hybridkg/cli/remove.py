"""`hybridkg remove`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.options import (
    PATH,
    accessible,
    agreement,
    dry_run_option,
    kb_argument,
    opened_for_update,
    update_index_option,
    wait_option,
    yes_option,
)
from hybridkg.errors import LoadError


@click.command()
@kb_argument
@click.argument("files", metavar="[FILE]...", nargs=-1, type=PATH, callback=accessible)
@click.option(
    "--text",
    "texts",
    multiple=True,
    type=PATH,
    callback=accessible,
    help='Also remove the text documents of the entities in this file: lines of {"id": IRI}.',
)
@click.option(
    "--graph", metavar="GRAPH", help="Remove the triples from this named graph, given by its IRI or prefixed name."
)
@wait_option
@update_index_option
@dry_run_option
@yes_option
def remove(
    kb: Path,
    files: tuple[Path, ...],
    texts: tuple[Path, ...],
    graph: str | None,
    wait: float,
    no_index: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove the triples of files, and text documents: all of them, or after an error none.

    A triple that is not there counts 0. Files without named graphs mean the default graph, unless --graph names
    another. The indexes follow, if they were up to date.

    \b
    Example:
      hybridkg remove films.kb old.ttl --dry-run
    """
    from hybridkg.cli.changes import show_change
    from hybridkg.cli.output import TerminalProgress

    if not files and not texts:
        raise LoadError("no file to remove", hint="hybridkg remove KB FILE... or hybridkg remove KB --text docs.jsonl")
    with opened_for_update(kb).transaction(
        index=False if no_index else None,
        wait=wait,
        dry_run=dry_run,
        progress=TerminalProgress(),
        confirm=agreement(yes),
    ) as t:
        if files:
            t.delete(*files, graph=graph)
        for text in texts:
            t.delete_texts_of(text)
    assert t.report is not None  # the block has ended
    show_change(t.report, kb, dry_run=dry_run)
