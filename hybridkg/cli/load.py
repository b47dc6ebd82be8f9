"""`hybridkg load`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.echo import echo
from hybridkg.cli.options import (
    PATH,
    TEXT_ENGINE_HELP,
    accessible,
    agreement,
    encoder_option,
    kb_argument,
    opened_or_created,
    profile_option,
    remove_unused,
    wait_option,
    yes_option,
)
from hybridkg.cli.table_options import TableArguments, print_examples, shown_mapping, table_options


@click.command()
@kb_argument
@click.argument("files", metavar="[FILE]...", nargs=-1, type=PATH, callback=accessible)
@click.option(
    "--text",
    "texts",
    multiple=True,
    type=PATH,
    callback=accessible,
    help='Text that is not in the graph: lines of {"id": IRI, "field": "text" or ["text", ...], ...}.',
)
@click.option(
    "--index/--no-index",
    "with_index",
    default=None,
    help="Build the indexes, too; default: if they are missing or can follow.",
)
@click.option(
    "--replace",
    metavar="GRAPH|default",
    help="Put the triples in place of those of a graph, given by its IRI or prefixed name, or of the default graph.",
)
@click.option(
    "--replace-rows",
    is_flag=True,
    help="Let each row of a table replace the earlier values of its entity; entities without a row stay.",
)
@table_options
@profile_option
@encoder_option
@click.option("--text-engine", metavar="NAME", help=TEXT_ENGINE_HELP)
@wait_option
@yes_option
def load(
    kb: Path,
    files: tuple[Path, ...],
    texts: tuple[Path, ...],
    with_index: bool | None,
    replace: str | None,
    replace_rows: bool,
    mapping: Path | None,
    ids: tuple[str, ...],
    classes: tuple[str, ...],
    prefix: str | None,
    header_rows: tuple[str, ...],
    save_mapping: Path | None,
    dry_run: bool,
    profile: str | None,
    encoder: str | None,
    text_engine: str | None,
    wait: float,
    yes: bool,
) -> None:
    """Create a knowledge base, or add files to one.

    Reads N-Triples, N-Quads, Turtle, TriG, RDF/XML and JSON-LD, plain or .gz, .bz2, .xz, and tables: CSV, TSV,
    JSON, JSON Lines, Parquet, Excel and SQLite, whose mapping to triples is guessed and shown, or given. All files are
    one step: if one of them is malformed, nothing is added. The first load builds the indexes. They follow a later
    load of few triples, and one with --replace, if they were up to date; others need --index, --profile,
    --encoder or --text-engine. The last three are written to kb.toml.

    \b
    Example:
      hybridkg load films.kb films.ttl --encoder lsa
      hybridkg load films.kb films.csv --id imdb_id --class Film --prefix http://example.org/
    """
    from hybridkg.cli.changes import show_change
    from hybridkg.cli.output import TerminalProgress, print_lines
    from hybridkg.cli.search_kernels import tell_what_remains
    from hybridkg.errors import LoadError, NotAKnowledgeBaseError
    from hybridkg.kb import KnowledgeBase
    from hybridkg.kb.write.table_inputs import check_replacing

    if not files and not texts and mapping is None:
        raise LoadError("no file to load", hint="hybridkg load KB FILE... or hybridkg load KB --text docs.jsonl")
    settings = {"profile": profile, "encoder": encoder, "text_engine": text_engine}
    chosen = [f"--{name.replace('_', '-')}" for name, value in settings.items() if value is not None]
    if chosen and with_index is False:
        raise LoadError(f"{chosen[0]} is for the index, and nothing is indexed", hint="leave --no-index out")
    if kb.is_file():
        raise NotAKnowledgeBaseError(
            f"{str(kb)!r} is a file, not a knowledge base folder",
            hint="the knowledge base comes first: hybridkg load KB FILE...",
        )
    check_replacing(replace, replace_rows)
    progress = TerminalProgress()
    is_new, opened = not kb.exists(), KnowledgeBase.open(kb) if (kb / "CURRENT").exists() else None
    tables = TableArguments(mapping, ids, classes, prefix, header_rows, save_mapping, dry_run, replace, replace_rows)
    table_mapping = shown_mapping(files, tables, opened, progress)
    if dry_run and opened is not None and (replace_rows or replace is not None):
        with opened.transaction(dry_run=True, index=False, wait=wait, progress=progress) as changes:
            changes.load(
                *files,
                mapping=table_mapping.mapping,
                header_row=table_mapping.header_row,
                replace=replace,
                replace_rows=replace_rows,
            )
        assert changes.report is not None
        show_change(changes.report, kb, dry_run=True)
        return
    if dry_run:
        print_examples(files, table_mapping)
        return
    base = opened
    try:
        base = base or opened_or_created(kb, wait)
        report = base.load(
            *files,
            mapping=table_mapping.mapping,
            id=table_mapping.id,
            class_=table_mapping.class_,
            prefix=table_mapping.prefix,
            header_row=table_mapping.header_row,
            text=texts,
            replace=replace,
            replace_rows=replace_rows,
            index=with_index,
            wait=wait,
            progress=progress,
            confirm=agreement(yes),
            **settings,
        )
    except BaseException as e:
        if is_new:
            remove_unused(kb, base, e)
        raise
    print_lines(report.lines())
    tell_what_remains()
    if report.is_behind:
        why = f" ({report.not_followed})" if report.not_followed else ""
        echo(f"the change is not searchable yet{why}; run: hybridkg index {kb}", err=True)
