"""`hybridkg parity`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import PATH, kb_argument, opened

if TYPE_CHECKING:
    from hybridkg.evaluation.engine_comparison import ParityReport, QueryParity


@click.command()
@kb_argument
@click.option("--queries", metavar="DIR", required=True, type=PATH, help="Folder of *.hq files, or one such file.")
@click.option("--model", metavar="NAME", help="Rank every MATCH by this model; default: the model of the query.")
@click.option("--against", metavar="ENGINE", help="Text engine to compare with; default: the other built-in one.")
@click.option("--format", "fmt", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.pass_context
def parity(ctx: click.Context, kb: Path, queries: Path, model: str | None, against: str | None, fmt: str) -> None:
    """Run queries on both text engines, and show where the answers differ.

    The index of the other engine is temporary; the live one does not change. Exit code 1 if a query has other rows or
    another order, or only one engine answers it, or none is answered.

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
"""Width below which a table has no room for the names of the queries."""


def _print_report(report: ParityReport) -> None:
    from hybridkg.cli.output import text_table
    from hybridkg.results.formats.table import console_on

    console = console_on(sys.stdout)
    names = (*report.engines, "overlap", "order", "difference")
    if console.width >= NARROW:
        console.print(text_table(["query", *names], map(_cells, report.queries), range(1, len(names) + 1)))
    else:
        for query in report.queries:
            echo(f"{query.name}: " + ", ".join(map(" ".join, zip(names, _cells(query)[1:], strict=True))))
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
    """A share, never rounded to 0 or 100 %."""
    return f"{min(99.9, max(0.1, 100 * (query.overlap or 0))):.1f}%"


def _refusals(report: ParityReport, query: QueryParity) -> list[tuple[str, str]]:
    """(engine, reason); one entry if both have the same reason."""
    if query.refusals[0] and query.refusals[0] == query.refusals[1]:
        return [("both", query.refusals[0])]
    return [(engine, why) for engine, why in zip(report.engines, query.refusals, strict=True) if why]
