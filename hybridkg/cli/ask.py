"""`hybridkg ask`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import WholeNumber, format_option, kb_argument, opened, timeout_option
from hybridkg.errors import UserError


@click.command()
@kb_argument
@click.argument("question", nargs=-1, required=True)
@click.option(
    "--show", is_flag=True, help="Print the query instead of rows, to edit and run it; in json, all about it."
)
@click.option("--edit", is_flag=True, help="Edit the query in $EDITOR before it runs.")
@click.option("--strict", is_flag=True, help="Only answers that satisfy all constraints.")
@click.option("--limit", metavar="N", type=WholeNumber(min=1, max=10_000), default=10, show_default=True, help="Rows.")
@click.option(
    "--weights",
    metavar="NAME|FILE",
    help="Weights learned from questions, by name (stark-mag) or in a file; default: the formulas alone.",
)
@click.option(
    "--parser",
    type=click.Choice(["rules", "llm"]),
    default="rules",
    show_default=True,
    help="Who reads the question; llm: a language model names its parts, and writes no query.",
)
@click.option("--model", metavar="MODEL", default="", help="Model of --parser llm, on the server in kb.toml.")
@format_option
@timeout_option
def ask(
    kb: Path,
    question: tuple[str, ...],
    show: bool,
    edit: bool,
    strict: bool,
    limit: int,
    weights: str | None,
    parser: str,
    model: str,
    fmt: str,
    timeout: float | None,
) -> None:
    """Answer a question in plain words by a query that is made of it.

    Names, classes and relations of the knowledge base become constraints; the other words rank. The query is printed on
    standard error, before the rows. docs/asking.md says what is understood.

    \b
    Example:
      hybridkg ask films.kb 'films by Ridley Scott about androids'
    """
    from threading import Event

    from hybridkg.cli.output import print_result
    from hybridkg.kb.asking import answered, interpreted, query_of, question_time

    if show and edit:
        raise click.UsageError("--show runs nothing, so --edit is not for it")
    if show and fmt not in ("table", "json"):
        raise UserError(f"--show has no format {fmt!r}", hint="use --format table for the query, json for all about it")
    with opened(kb) as base:
        # With an event the work has a thread of its own, which Ctrl-C stops at once.
        time = question_time(base, timeout, cancel=Event())
        found = interpreted(
            base, " ".join(question), limit=limit, weights=weights, parser=parser, model=model, time=time
        )
        if show and fmt == "json":
            echo_json(found.to_json())
            return
        query = query_of(found, strict=strict)
        if not edit:
            echo(query, err=not show)
        for remark in found.remarks:
            echo(f"note: {remark}", err=True)
        if edit:
            query = _edited(query)
            echo(query, err=True)
            time = question_time(base, timeout, cancel=Event())  # without that of the editor
        if show:
            return
        print_result(answered(base, query, time), fmt)


def _edited(query: str) -> str:
    """The query after editing. Raises UserError: nothing is left of it."""
    text = (click.edit(f"{query}\n", extension=".hq", require_save=False) or "").strip()
    if not text:
        raise UserError("the edited query is empty, so nothing is run")
    return text
