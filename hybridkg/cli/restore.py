"""`hybridkg restore`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.options import PATH, kb_argument


@click.command()
@click.argument("folder", metavar="FOLDER", type=PATH)
@kb_argument
def restore(folder: Path, kb: Path) -> None:
    """Make a knowledge base of a backup.

    KB is new or empty. All checksums are compared before it takes its name; every query answers as it did when the
    backup was made. Ctrl-C leaves nothing.

    \b
    Example:
      hybridkg restore films.backup restored.kb
    """
    from hybridkg.cli.output import TerminalProgress, print_lines
    from hybridkg.kb import KnowledgeBase

    print_lines(KnowledgeBase.restore(folder, kb, progress=TerminalProgress()).lines())
