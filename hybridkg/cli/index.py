"""`hybridkg index`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.options import kb_argument, remove_unfinished

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase


@click.command()
@kb_argument
@click.option(
    "--profile",
    metavar="FILE.ttl|NAME",
    help="Which predicates feed which field; default: the one in kb.toml.",
)
@click.option(
    "--graph",
    metavar="URL",
    help="Where there is no knowledge base: make one, whose graph lies at this SPARQL endpoint.",
)
@click.option("--dry-run", is_flag=True, help="Show the fields that would be indexed, and stop.")
def index(kb: Path, profile: str | None, graph: str | None, dry_run: bool) -> None:
    """Build the text index from the graph and the text documents.

    Where the graph lies at a SPARQL endpoint, it is copied from there by pages; what was interrupted goes on.

    \b
    Example:
      hybridkg index films.kb --profile default
    """
    from hybridkg.cli.output import TerminalProgress, print_counts, print_fields
    from hybridkg.kb import KnowledgeBase

    existed = (kb / "CURRENT").is_file()
    base = KnowledgeBase.open(kb) if graph is None else _at_endpoint(kb, graph)
    if dry_run:
        print_fields(base.profile(profile))
        return
    try:
        print_counts(base.index(profile, progress=TerminalProgress()))
    except BaseException:
        if not existed and not (kb / ".graph-work").is_dir():
            remove_unfinished(kb)  # nothing has been copied that another try could go on from
        raise


def _at_endpoint(kb: Path, graph: str) -> KnowledgeBase:
    """The knowledge base whose graph lies at an endpoint; made where there is none.

    Raises:
        ConfigError: there is one, and its graph lies elsewhere; or the address is none.
    """
    from hybridkg.elastic.credentials import ENDPOINT, server_url
    from hybridkg.errors import ConfigError
    from hybridkg.kb import KnowledgeBase

    if not (kb / "CURRENT").is_file():
        return KnowledgeBase.create(kb, graph=graph)
    server_url(graph, {}, ENDPOINT)
    base = KnowledgeBase.open(kb)
    if base.snapshot.config.graph != graph:
        raise ConfigError(
            f"the graph of {str(kb)!r} lies at {base.snapshot.config.graph!r}, not at {graph!r}",
            hint="`graph` in its kb.toml says where; or name another folder",
            place=str(kb / "kb.toml"),
        )
    return base
