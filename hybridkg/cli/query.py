"""`hybridkg query`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.options import (
    WholeNumber,
    file_option,
    format_option,
    kb_argument,
    opened,
    param_option,
    query_argument,
    read_parameters,
    read_query,
    strategy_option,
)


@click.command()
@kb_argument
@query_argument
@file_option
@param_option
@format_option
@click.option("--limit", metavar="N", type=WholeNumber(min=0), help="Rows to print; default: all the query returns.")
@strategy_option
@click.option("--explain", is_flag=True, help="Print the plan instead of rows.")
@click.option("--analyze", is_flag=True, help="Run the query and print the plan with actual rows and times.")
def query(
    kb: Path,
    text: str | None,
    file: Path | None,
    parameters: tuple[str, ...],
    fmt: str,
    limit: int | None,
    strategy: str | None,
    explain: bool,
    analyze: bool,
) -> None:
    """Run a query and print its rows, best first.

    KB is a knowledge base folder, or an RDF file (then a temporary knowledge base is built and thrown away).

    \b
    Example:
      hybridkg query films.ttl 'SELECT ?film ?s { ?film MATCH "space" AS ?s } RANK BY ?s' --limit 3
    """
    from hybridkg.cli.output import print_result
    from hybridkg.results.build import explained

    query_text, name = read_query(text, file)
    values = read_parameters(parameters)
    with opened(kb) as base:
        if explain or analyze:
            explanation = base.explain(query_text, values, limit=limit, strategy=strategy, analyze=analyze, name=name)
            print_result(explained(explanation), fmt)
            return
        print_result(base.query(query_text, values, limit=limit, strategy=strategy, name=name), fmt)
