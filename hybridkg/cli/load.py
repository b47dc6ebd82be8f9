"""`hybridkg load`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.echo import echo
from hybridkg.cli.options import accessible, agreement, kb_argument, remove_unfinished, yes_option


@click.command()
@kb_argument
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path), callback=accessible)
@click.option(
    "--text",
    "texts",
    multiple=True,
    type=click.Path(path_type=Path),
    callback=accessible,
    help='Text that is not in the graph: lines of {"id": IRI, "field": "text" or ["text", ...], ...}.',
)
@click.option("--index", "with_index", is_flag=True, help="Build the text index as well, in the same step.")
@click.option("--profile", metavar="FILE.ttl|NAME", help="Profile of the index; needs --index.")
@yes_option
def load(
    kb: Path, files: tuple[Path, ...], texts: tuple[Path, ...], with_index: bool, profile: str | None, yes: bool
) -> None:
    """Create a knowledge base, or add files to one.

    Reads N-Triples, N-Quads, Turtle, TriG, RDF/XML and JSON-LD, plain or .gz, .bz2, .xz. All files are one
    step: if one of them is malformed, nothing is added.

    \b
    Example:
      hybridkg load films.kb films.ttl --index
    """
    from hybridkg.cli.output import TerminalProgress, print_counts
    from hybridkg.errors import LoadError, LockedError, NotAKnowledgeBaseError
    from hybridkg.kb import KnowledgeBase

    if not files and not texts:
        raise LoadError("no file to load", hint="hybridkg load KB FILE... or hybridkg load KB --text docs.jsonl")
    if profile is not None and not with_index:
        raise LoadError("--profile is for the index, and nothing is indexed", hint="add --index")
    if kb.is_file():
        raise NotAKnowledgeBaseError(
            f"{str(kb)!r} is a file, not a knowledge base folder",
            hint="the knowledge base comes first: hybridkg load KB FILE...",
        )
    existed = (kb / "CURRENT").exists()
    try:
        base = KnowledgeBase.open(kb) if existed else KnowledgeBase.create(kb)
        counts = base.load(
            *files, text=texts, index=with_index, profile=profile, progress=TerminalProgress(), agree=agreement(yes)
        )
    except (NotAKnowledgeBaseError, LockedError):
        raise  # the folder is somebody else's
    except BaseException as e:
        if not existed:
            remove_unfinished(kb)
            e.__notes__ = []  # what was kept in the folder has gone with it
        raise
    print_counts({**counts, "triples": f"{counts['triples']:,} new"})
    if not with_index:
        echo(f"text search does not see this yet; build the index with: hybridkg index {kb}", err=True)
