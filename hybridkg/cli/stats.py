"""`hybridkg stats`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from hybridkg.cli.options import kb_argument


@click.command()
@kb_argument
@click.option("--format", "fmt", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--verify", is_flag=True, help="Read every file and compare its checksum.")
def stats(kb: Path, fmt: str, verify: bool) -> None:
    """Show what a knowledge base holds.

    \b
    Example:
      hybridkg stats films.kb
    """
    from hybridkg.cli.output import print_stats
    from hybridkg.kb import KnowledgeBase
    from hybridkg.store.generations import Folder

    # First, because what is damaged may not open, and this names it.
    verified = Folder.open(kb).current().verify() if verify else None
    base = KnowledgeBase.open(kb)
    found = base.stats()
    if verified is not None:
        found["verified_files"] = verified
    if fmt == "json":
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        print_stats(found)
