"""`hybridkg explain`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.options import (
    file_option,
    kb_argument,
    opened,
    param_option,
    query_argument,
    read_parameters,
    read_query,
    strategy_option,
    timeout_option,
)


@click.command()
@kb_argument
@query_argument
@file_option
@param_option
@strategy_option
@timeout_option
@click.option("--analyze", is_flag=True, help="Run the query, and add actual rows and own time.")
@click.option("--format", "fmt", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(
    kb: Path,
    text: str | None,
    file: Path | None,
    parameters: tuple[str, ...],
    strategy: str | None,
    timeout: float | None,
    analyze: bool,
    fmt: str,
) -> None:
    """Show how a query would be run: logical plan, operators, estimates.

    \b
    Example:
      hybridkg explain films.ttl 'SELECT ?film { ?film MATCH "space" AS ?s } RANK BY ?s LIMIT 3'
    """
    from threading import Event

    from hybridkg.cli.output import print_explanation

    query_text, name = read_query(text, file)
    values = read_parameters(parameters)
    with opened(kb) as base:
        explanation = base.explain(
            query_text, values, strategy=strategy, analyze=analyze, name=name, timeout=timeout, cancel=Event()
        )
        print_explanation(explanation, fmt)
