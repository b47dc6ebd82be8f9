"""`hybridkg explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hybridkg.cli.options import opened, query_options, read_parameters, read_query


@click.command()
@query_options
@click.option("--analyze", is_flag=True, help="Run the query, and add actual rows and times.")
@click.option("--format", "fmt", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(
    kb: Path, text: str | None, file: Path | None, parameters: tuple[str, ...], analyze: bool, fmt: str, **options: Any
) -> None:
    """Show the plan of a query: logical plan, operators, estimates.

    \b
    Example:
      hybridkg explain films.ttl 'SELECT ?film { ?film MATCH "space" AS ?s } RANK BY ?s LIMIT 3'
    """
    from threading import Event

    from hybridkg.cli.output import print_explanation

    query_text, name = read_query(text, file)
    values = read_parameters(parameters)
    with opened(kb) as base:
        options |= {"cancel": Event(), "name": name}  # with an event the query has a thread, which Ctrl-C stops at once
        explanation = base.explain(query_text, values, analyze=analyze, **options)
        print_explanation(explanation, fmt)
