"""`hybridkg query`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import PATH, OneOf, WholeNumber, opened, query_options, read_parameters, read_query
from hybridkg.errors import UserError
from hybridkg.interfaces.output_format import OUTPUT_FORMATS, format_of

if TYPE_CHECKING:
    from hybridkg.results.result_set import ResultSet


@click.command()
@query_options
@click.option(
    "--format",
    "fmt",
    type=OneOf(OUTPUT_FORMATS),
    help="Output format; default: that of the extension of --output, else table.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=PATH,
    help="Write the rows to a file, which appears when it is complete; default: standard output.",
)
@click.option(
    "--why",
    metavar="N",
    type=WholeNumber(min=1),
    multiple=True,
    help="Explain row N, repeatable; in json, print only that.",
)
@click.option("--labels", is_flag=True, help="In a table, show the labels of IRIs in their place.")
@click.option("--explain", is_flag=True, help="Print the plan instead of rows.")
@click.option("--analyze", is_flag=True, help="Run the query and print the plan with actual rows and times.")
def query(
    kb: Path,
    text: str | None,
    file: Path | None,
    parameters: tuple[str, ...],
    fmt: str | None,
    output: Path | None,
    why: tuple[int, ...],
    labels: bool,
    explain: bool,
    analyze: bool,
    **options: Any,
) -> None:
    """Run a query and print its rows, best first.

    KB is a knowledge base folder, or an RDF file, from which a temporary knowledge base is built.

    \b
    Example:
      hybridkg query films.ttl 'SELECT ?film ?s { ?film MATCH "space" AS ?s } RANK BY ?s' --limit 3
    """
    from threading import Event

    from hybridkg.cli.changes import refuse_update
    from hybridkg.cli.output import print_result
    from hybridkg.results.build import explained

    fmt = fmt or (format_of(output, "table") if output is not None else "table")
    if output is not None and (why or explain or analyze):
        raise _no_rows()
    if labels and (fmt != "table" or explain or analyze):
        other = f"the format {fmt}" if fmt != "table" else "--explain" if explain else "--analyze"
        raise UserError(f"--labels is for tables, not for {other}", hint="SELECT the labels: ?x rdfs:label ?label")
    query_text, name = read_query(text, file)
    refuse_update(query_text, name, kb, file)
    with opened(kb) as base:
        values = read_parameters(parameters, base.prefixes)
        # With an event the query has a thread of its own, which Ctrl-C stops at once.
        options |= {"cancel": Event(), "name": name}
        if explain or analyze:
            print_result(explained(base.explain(query_text, values, analyze=analyze, **options)), fmt)
            return
        with base.stream(query_text, values, **options) as rows:
            if output is not None and rows.explanation is not None:
                raise _no_rows()
            result = rows.with_labels() if labels else rows
            if not why:
                print_result(result, fmt, output)
                return
            held = result.held()
            if fmt != "json":
                print_result(held, fmt)
            _print_reasons(held, why, fmt)


def _no_rows() -> UserError:
    return UserError("--output takes the rows of a query, not a plan or the reasons of a row", hint="leave it out")


def _print_reasons(result: ResultSet, numbers: tuple[int, ...], fmt: str) -> None:
    missing = next((n for n in numbers if n > len(result)), None)
    if missing is not None:
        raise UserError(f"there is no row {missing:,}; the answer has {len(result):,}")
    if fmt == "json":
        echo_json([result[n - 1].why().to_json() for n in numbers])
        return
    if fmt != "table":
        raise UserError(f"--why has no format {fmt!r}", hint="use --format table or --format json")
    for n in numbers:
        echo(f"\nrow {n:,}\n{result[n - 1].why()}")
