"""`hybridkg migrate`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.options import OneOf, kb_argument
from hybridkg.interfaces.text_engine import TEXT_ENGINES


@click.command()
@kb_argument
@click.option("--to", type=OneOf(TEXT_ENGINES), required=True, help="Text engine where text and vectors are to be.")
def migrate(kb: Path, to: str) -> None:
    """Move text and vectors to Elasticsearch, or back.

    Every query keeps its rows and scores; vectors are not encoded again. The server is the one of kb.toml, or of
    HYBRIDKG_ELASTICSEARCH_URL, and who asks is told by the environment, too. Interrupted at any moment, the knowledge
    base is where it was, or where it was to go. What stays on the server after the way back goes with
    `hybridkg prune`, once no state on disk needs it.

    \b
    Example:
      hybridkg migrate films.kb --to elasticsearch
    """
    from hybridkg.cli.output import TerminalProgress, print_lines
    from hybridkg.kb import KnowledgeBase

    with KnowledgeBase.open(kb) as base:
        print_lines(base.migrate(to, progress=TerminalProgress()).lines())
