"""`hybridkg update`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.options import (
    PATH,
    agreement,
    dry_run_option,
    kb_argument,
    max_rows_option,
    naming_prefixes,
    opened_for_update,
    param_option,
    read_parameters,
    read_query,
    timeout_option,
    update_index_option,
    wait_option,
    yes_option,
)


@click.command()
@kb_argument
@click.argument("text", metavar="[UPDATE | -]", required=False)
@click.option("-f", "--file", "file", type=PATH, help="Read the update from a file, such as changes.ru.")
@param_option
@timeout_option
@max_rows_option
@wait_option
@update_index_option
@dry_run_option
@yes_option
@click.option("--format", "fmt", type=click.Choice(["text", "json"]), default="text", show_default=True)
def update(
    kb: Path,
    text: str | None,
    file: Path | None,
    parameters: tuple[str, ...],
    timeout: float | None,
    max_rows: int | None,
    wait: float,
    no_index: bool,
    dry_run: bool,
    yes: bool,
    fmt: str,
) -> None:
    """Change a knowledge base by SPARQL Update: all of it, or after an error nothing.

    A WHERE may have MATCH, NEAR, RANK BY and LIMIT. The indexes follow, if they were up to date. EXPLAIN or EXPLAIN
    ANALYZE before the update prints the plan of each WHERE, and nothing is changed.

    \b
    Example:
      hybridkg update films.kb 'PREFIX : <http://example.org/films/>
        INSERT { ?f :shelf "space" } WHERE { ?f MATCH "space" AS ?s } RANK BY ?s LIMIT 3'
    """
    from threading import Event

    from hybridkg.cli.changes import refuse_query, refuse_rdf, show_change
    from hybridkg.cli.output import TerminalProgress

    if file is not None:
        refuse_rdf(file, kb)
    update_text, name = read_query(text, file, what="update")
    refuse_query(update_text, name, kb, file)
    base = opened_for_update(kb)
    with naming_prefixes(base, kb):
        report = base.update(
            update_text,
            read_parameters(parameters, base.prefixes),
            index=False if no_index else None,
            wait=wait,
            dry_run=dry_run,
            timeout=timeout,
            max_rows=max_rows,
            cancel=Event(),  # with an event each WHERE has a thread of its own, which Ctrl-C stops at once
            name=name,
            progress=TerminalProgress(),
            confirm=agreement(yes),
        )
    show_change(report, kb, dry_run=dry_run, fmt=fmt)
