"""`hybridkg index`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.options import kb_argument


@click.command()
@kb_argument
@click.option(
    "--profile",
    metavar="FILE.ttl|NAME",
    help="Which predicates feed which field; default: the one in kb.toml.",
)
@click.option("--dry-run", is_flag=True, help="Show the fields that would be indexed, and stop.")
def index(kb: Path, profile: str | None, dry_run: bool) -> None:
    """Build the text index from the graph and the text documents.

    \b
    Example:
      hybridkg index films.kb --profile default
    """
    from hybridkg.cli.output import TerminalProgress, print_counts, print_fields
    from hybridkg.kb import KnowledgeBase

    base = KnowledgeBase.open(kb)
    if dry_run:
        print_fields(base.profile(profile))
        return
    print_counts(base.index(profile, progress=TerminalProgress()))
