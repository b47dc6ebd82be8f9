"""`hybridkg schema`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import WholeNumber, kb_argument, opened

if TYPE_CHECKING:
    from hybridkg.graph.schema import Description

NARROW = 100
"""Columns below which the examples stand on lines of their own."""


@click.command()
@kb_argument
@click.option(
    "--limit",
    metavar="N",
    type=WholeNumber(min=1),
    default=20,
    show_default=True,
    help="Classes, and predicates, to show: the most frequent.",
)
@click.option("--format", "fmt", type=click.Choice(["table", "json"]), default="table", show_default=True)
def schema(kb: Path, limit: int, fmt: str) -> None:
    """Show classes and predicates, with counts and examples.

    KB is a knowledge base folder, or an RDF file.

    \b
    Example:
      hybridkg schema films.kb --limit 5
    """
    from hybridkg.graph.schema import describe
    from hybridkg.kb.snapshot import snapshot_of

    with opened(kb) as base:
        store = snapshot_of(base).store
        found = describe(store, limit=limit)
        hidden = 0 if found.schema.predicates else len(store)
    if fmt == "json":
        echo_json(found.to_json())
    else:
        _print_tables(found)
    if hidden:
        echo(
            f"note: all {hidden:,} statements are in named graphs; to query them as one graph, "
            'set default_graph = "union" in kb.toml',
            err=True,
        )


def _print_tables(found: Description) -> None:
    from hybridkg.graph.schema import shortened_term
    from hybridkg.rdf.well_known import shortened

    classes = [
        ([shortened(c.iri), f"{c.instances:,}"], "" if c.example is None else shortened_term(c.example))
        for c in found.classes
    ]
    predicates = [
        (
            [shortened(p.iri), f"{p.triples:,}", *("-" if n is None else f"{n:,}" for n in (p.subjects, p.objects))],
            "" if p.example is None else " ".join(map(shortened_term, p.example)),
        )
        for p in found.predicates
    ]
    _print_table(["class", "instances"], classes, len(found.schema.classes))
    echo("")
    _print_table(["predicate", "triples", "subjects", "objects"], predicates, len(found.schema.predicates))


def _print_table(heads: list[str], rows: list[tuple[list[str], str]], total: int) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from hybridkg.results.formats.table import CONTROL, console_on

    console = console_on(sys.stdout)
    wide = console.width >= NARROW
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for i, head in enumerate([*heads, "example"] if wide else heads):
        is_number = 0 < i < len(heads)
        table.add_column(head, justify="right" if is_number else "left", overflow="fold", no_wrap=is_number)
    for cells, example in rows:
        shown: Iterable[str] = [*cells, example] if wide else cells
        table.add_row(*(Text(cell.translate(CONTROL)) for cell in shown))
    console.print(table)
    if total > len(rows):
        echo(f"and {total - len(rows):,} more; show them with --limit {total}")
