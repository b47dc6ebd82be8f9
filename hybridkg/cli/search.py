"""`hybridkg search`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import WholeNumber, kb_argument, opened, timeout_option
from hybridkg.errors import NotAKnowledgeBaseError, UserError

if TYPE_CHECKING:
    from hybridkg.kb.search.result import SearchResult

ROW_FORMATS = ("csv", "tsv", "ndjson", "trec")
"""Formats of rows, which have no place for facets."""


@click.command()
@kb_argument
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--type",
    "types",
    metavar="CLASS",
    multiple=True,
    help="Only entities of this class: an IRI, a prefixed name, a local name or a label. Repeated: of any of them.",
)
@click.option(
    "--where",
    metavar="CONDITION",
    multiple=True,
    help="Only entities with these predicates and objects: 'a:platform \"Linux\" ; a:year 2020'; repeatable.",
)
@click.option("--facets", is_flag=True, help="Also count all matching entities by type and by property.")
@click.option("--limit", metavar="N", type=WholeNumber(min=1), default=10, show_default=True, help="Hits to print.")
@click.option("--near", is_flag=True, help="Similarity of vectors counts as well, by rrf.")
@click.option("--query-string", is_flag=True, help='WORDS have operators, such as +must, -not and "a phrase".')
@click.option("--language", metavar="TAG", default="", help="Language of WORDS, such as de; default: English.")
@click.option("--show-query", is_flag=True, help="Also print the HybridQL that ran, on standard error.")
@click.option(
    "--format",
    "fmt",
    type=click.Choice(["table", "json", *ROW_FORMATS]),
    default="table",
    show_default=True,
    help="Output format; json has everything, the query included.",
)
@timeout_option
def search(
    kb: Path,
    words: tuple[str, ...],
    types: tuple[str, ...],
    where: tuple[str, ...],
    facets: bool,
    limit: int,
    near: bool,
    query_string: bool,
    language: str,
    show_query: bool,
    fmt: str,
    timeout: float | None,
) -> None:
    """Search for entities by plain words, without a query.

    Prints one hit for each entity: its label, types, best passage, score, and the fields and words that made it. KB is
    a knowledge base folder, or an RDF file, from which a temporary knowledge base is built.

    \b
    Example:
      hybridkg search films.kb space crew --type Film --where ':year ?y . FILTER(?y > 1970)' --facets
    """
    from threading import Event

    if facets and fmt in ROW_FORMATS:
        raise UserError(f"--facets has no format {fmt!r}", hint="use --format table or --format json")
    _refuse_swapped(kb, words)
    with opened(kb) as base:
        found = base.search(
            " ".join(words),
            types=types,
            where=where,
            facets=facets,
            limit=limit,
            near=near,
            query_string=query_string,
            language=language,
            timeout=timeout,
            cancel=Event(),  # with an event the query has a thread of its own, which Ctrl-C stops at once
        )
        _print(found, fmt, show_query=show_query)


def _refuse_swapped(kb: Path, words: tuple[str, ...]) -> None:
    """Refuses words before a knowledge base.

    Raises:
        NotAKnowledgeBaseError: nothing is at the first argument, and one of the others is a knowledge base.
    """
    for number, word in enumerate(words):
        if not kb.exists() and (Path(word) / "CURRENT").exists():
            others = shlex.join([str(kb), *words[:number], *words[number + 1 :]])
            raise NotAKnowledgeBaseError(
                f"{word!r} is a knowledge base, and it comes before the words",
                hint=f"hybridkg search {shlex.quote(word)} {others}",
            )


def _print(found: SearchResult, fmt: str, *, show_query: bool) -> None:
    if fmt == "json":
        echo_json(found.to_json())
    elif fmt == "table":
        from hybridkg.kb.search.text import write_search

        write_search(found, sys.stdout)
        sys.stdout.flush()
    else:
        from hybridkg.cli.output import write_rows

        write_rows(found.rows(), fmt)
    for warning in found.result.warnings:
        echo(warning.render(), err=True)
    if show_query:
        echo(found.query, err=True)
    for line in found.notes:
        echo(f"note: {line}", err=True)
    if fmt == "table":
        echo(found.summary, err=True)
