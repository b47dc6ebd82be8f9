"""`hybridkg explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hybridkg.cli.options import opened, query_options, read_parameters, read_query
from hybridkg.errors import UserError


@click.command()
@query_options
@click.option("--analyze", is_flag=True, help="Run the query, and add actual rows and times.")
@click.option("--format", "fmt", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(
    kb: Path, text: str | None, file: Path | None, parameters: tuple[str, ...], analyze: bool, fmt: str, **options: Any
) -> None:
    """Show the plan of a query, or of each WHERE of an update: logical plan, operators, estimates.

    \b
    Example:
      hybridkg explain films.ttl 'SELECT ?film { ?film MATCH "space" AS ?s } RANK BY ?s LIMIT 3'
    """
    from threading import Event

    from hybridkg.cli.output import print_explanation
    from hybridkg.query.text_kind import update_keyword

    query_text, name = read_query(text, file)
    if update_keyword(query_text) is not None:
        _explain_update(kb, query_text, name, parameters, analyze, fmt, options)
        return
    with opened(kb) as base:
        values = read_parameters(parameters, base.prefixes)
        options |= {"cancel": Event(), "name": name}  # with an event the query has a thread, which Ctrl-C stops at once
        explanation = base.explain(query_text, values, analyze=analyze, **options)
        print_explanation(explanation, fmt)


def _explain_update(
    kb: Path, text: str, name: str, parameters: tuple[str, ...], analyze: bool, fmt: str, options: dict[str, Any]
) -> None:
    from threading import Event

    from hybridkg.cli.output import print_explanation

    for option in ("limit", "strategy"):
        if options.pop(option) is not None:
            raise UserError(f"--{option} is for a query, and this is an update", hint="leave it out")
    with opened(kb) as base:
        values = read_parameters(parameters, base.prefixes)
        plans = base.explain_update(text, values, analyze=analyze, name=name, cancel=Event(), **options)
        print_explanation(plans, fmt)
