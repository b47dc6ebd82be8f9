"""`hybridkg migrate`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.options import OneOf, kb_argument
from hybridkg.interfaces.text_engine import TEXT_ENGINES


@click.command()
@kb_argument
@click.option("--to", type=OneOf(TEXT_ENGINES), required=True, help="Target text engine.")
def migrate(kb: Path, to: str) -> None:
    """Move text and vectors to Elasticsearch, or back.

    Every query keeps its rows and scores; vectors are not encoded again. The server is that of kb.toml or of
    HYBRIDKG_ELASTICSEARCH_URL; credentials come from the environment. An interruption at any moment leaves the
    knowledge base at the source or at the target. After a move back, `hybridkg prune` removes the index on the server,
    once no state on disk needs it.

    \b
    Example:
      hybridkg migrate films.kb --to elasticsearch
    """
    from hybridkg.cli.output import TerminalProgress, print_lines
    from hybridkg.kb import KnowledgeBase

    with KnowledgeBase.open(kb) as base:
        print_lines(base.migrate(to, progress=TerminalProgress()).lines())
