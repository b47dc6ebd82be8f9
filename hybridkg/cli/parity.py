"""`hybridkg parity`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import kb_argument, opened
from hybridkg.terminal_text import printable

if TYPE_CHECKING:
    from hybridkg.evaluation.engine_comparison import ParityReport, QueryParity


@click.command()
@kb_argument
@click.option(
    "--queries",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder of queries in files *.hq, or one such file.",
)
@click.option(
    "--model",
    metavar="NAME",  # its registry knows the names, and imports numpy, which --help does without
    help="Rank every MATCH by this model; default: the one it names.",
)
@click.option(
    "--against",
    metavar="ENGINE",
    help="Text engine to compare with; default: the built-in one that the index is not of.",
)
@click.option("--format", "fmt", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.pass_context
def parity(ctx: click.Context, kb: Path, queries: Path, model: str | None, against: str | None, fmt: str) -> None:
    """Run queries on both text engines, and show where the answers differ.

    The index of the other engine is built for the time of the command, beside the live one, which stays as it is.
    Exit code 1 where a query has other rows, or another order, or only one engine answers it, or none is answered.

    \b
    Example:
      hybridkg parity films.kb --queries queries/ --model bm25
    """
    from hybridkg.cli.output import TerminalProgress
    from hybridkg.evaluation.engine_comparison import compare_engines, read_queries

    texts = read_queries(queries)
    with opened(kb) as base:
        report = compare_engines(base, texts, model=model, against=against, progress=TerminalProgress())
    if fmt == "json":
        echo_json(report.to_json())
    else:
        _print_report(report)
    if report.count("different") or report.count("refused") == len(texts):
        ctx.exit(1)


NARROW = 72
"""Columns of a terminal below which a table leaves no room for the names of the queries."""


def _print_report(report: ParityReport) -> None:
    """A table, one line under it for each refusal, and the summary."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from hybridkg.results.formats.table import console_on

    console = console_on(sys.stdout)
    if console.width < NARROW:
        for query in report.queries:
            names = (*report.engines, "overlap", "order", "difference")
            echo(f"{query.name}: " + ", ".join(map(" ".join, zip(names, _cells(query)[1:], strict=True))))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("query", overflow="fold")
    for engine in report.engines:
        table.add_column(engine, justify="right", no_wrap=True)
    for title in ("overlap", "order", "difference"):
        table.add_column(title, justify="right", no_wrap=True)
    for query in report.queries:
        table.add_row(*(Text(printable(cell)) for cell in _cells(query)))
    if console.width >= NARROW:
        console.print(table)
    refusals = [
        f"{query.name}: refused by {engine}: {why}"
        for query in report.queries
        for engine, why in _refusals(report, query)
    ]
    for line in ["", *refusals, *([""] if refusals else []), report.summary()]:
        echo(line)


def _cells(query: QueryParity) -> list[str]:
    order = {True: "same", False: "other", None: "-"}[query.same_order]
    overlap = "-" if query.overlap is None else f"{query.overlap:.0%}" if query.overlap in (0, 1) else _share(query)
    difference = "-" if query.difference is None else f"{query.difference:.2g}"
    return [query.name, *("refused" if n is None else f"{n:,}" for n in query.rows), overlap, order, difference]


def _share(query: QueryParity) -> str:
    """A share between none and all, never rounded to either."""
    return f"{min(99.9, max(0.1, 100 * (query.overlap or 0))):.1f}%"


def _refusals(report: ParityReport, query: QueryParity) -> list[tuple[str, str]]:
    """(engine, why); once where both say the same."""
    if query.refusals[0] and query.refusals[0] == query.refusals[1]:
        return [("both", query.refusals[0])]
    return [(engine, why) for engine, why in zip(report.engines, query.refusals, strict=True) if why]
