"""`hybridkg schema`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import WholeNumber, kb_argument, opened

if TYPE_CHECKING:
    from hybridkg.graph.schema import Description

NARROW = 100
"""Width below which the examples are left out."""


@click.command()
@kb_argument
@click.option(
    "--limit", metavar="N", type=WholeNumber(min=1), default=20, show_default=True, help="Rows of each table."
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
        snapshot = snapshot_of(base)
        store, known = snapshot.store, snapshot.prefixes
        description = describe(store, limit=limit)
        hidden = 0 if description.schema.predicates else len(store)
    if fmt == "json":
        echo_json(description.to_json())
    else:
        _print_tables(description, known)
    if hidden:
        echo(
            f"note: all {hidden:,} statements are in named graphs; to query them as one graph, "
            'set default_graph = "union" in kb.toml',
            err=True,
        )


def _print_tables(description: Description, known: Mapping[str, str]) -> None:
    from hybridkg.graph.schema import shortened_term
    from hybridkg.rdf.well_known import shortened

    short = partial(shortened, prefixes=known)
    example = partial(shortened_term, prefixes=known)
    classes = [
        ([short(c.iri), f"{c.instances:,}"], "" if c.example is None else example(c.example))
        for c in description.classes
    ]
    predicates = [
        (
            [short(p.iri), f"{p.triples:,}", *("-" if n is None else f"{n:,}" for n in (p.subjects, p.objects))],
            "" if p.example is None else " ".join(map(example, p.example)),
        )
        for p in description.predicates
    ]
    _print_table(["class", "instances"], classes, len(description.schema.classes))
    echo("")
    _print_table(["predicate", "triples", "subjects", "objects"], predicates, len(description.schema.predicates))


def _print_table(heads: list[str], rows: list[tuple[list[str], str]], total: int) -> None:
    from hybridkg.cli.output import text_table
    from hybridkg.results.formats.table import CONTROL, console_on

    console = console_on(sys.stdout)
    wide = console.width >= NARROW
    shown = ([*cells, example] if wide else cells for cells, example in rows)
    lines = ([cell.translate(CONTROL) for cell in line] for line in shown)
    console.print(text_table([*heads, "example"] if wide else heads, lines, range(1, len(heads))))
    if total > len(rows):
        echo(f"and {total - len(rows):,} more; show them with --limit {total}")
