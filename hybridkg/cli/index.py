"""`hybridkg index`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.options import (
    TEXT_ENGINE_HELP,
    agreement,
    encoder_option,
    kb_argument,
    profile_option,
    remove_unused,
    wait_option,
    yes_option,
)

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase


@click.command()
@kb_argument
@profile_option
@encoder_option
@click.option("--text-engine", "--text", "text_engine", metavar="NAME", help=TEXT_ENGINE_HELP)
@click.option("--graph", metavar="URL", help="Create a knowledge base whose graph is at this SPARQL endpoint.")
@click.option("--dry-run", is_flag=True, help="Show the fields that would be indexed, and stop.")
@wait_option
@yes_option
def index(
    kb: Path,
    profile: str | None,
    encoder: str | None,
    text_engine: str | None,
    graph: str | None,
    dry_run: bool,
    wait: float,
    yes: bool,
) -> None:
    """Build the text index and the vectors from the graph and the text documents.

    The options are written to kb.toml. A graph at a SPARQL endpoint is copied by pages; an interrupted copy continues.

    \b
    Example:
      hybridkg index films.kb --profile default
    """
    from hybridkg.cli.output import TerminalProgress, print_fields, print_lines
    from hybridkg.cli.search_kernels import tell_what_remains

    existed = kb.exists()
    base = _opened(kb, graph)
    if dry_run:
        print_fields(base.profile(profile))
        return
    try:
        report = base.index(
            profile,
            encoder=encoder,
            text_engine=text_engine,
            wait=wait,
            progress=TerminalProgress(),
            confirm=agreement(yes),
        )
    except BaseException as e:
        if not existed and not (kb / ".graph-work").is_dir():
            remove_unused(kb, base, e)  # no page has been copied from which another run could continue
        raise
    print_lines(report.lines())
    tell_what_remains()


def _opened(kb: Path, graph: str | None) -> KnowledgeBase:
    """Opens the knowledge base; creates it if there is only an address, or only a kb.toml.

    Raises:
        NotAKnowledgeBaseError: there is none, and no address.
        ConfigError: its graph is at another address, or the address is malformed.
    """
    from hybridkg.config.settings_reader import read_config
    from hybridkg.errors import ConfigError
    from hybridkg.kb import KnowledgeBase
    from hybridkg.remote.credentials import ENDPOINT, server_url

    if graph is not None:
        server_url(graph, {}, ENDPOINT)
    exists, settings = (kb / "CURRENT").is_file(), kb / "kb.toml"
    if graph is not None and not exists and not settings.is_file():
        return KnowledgeBase.create(kb, graph=graph)
    if graph is not None and (location := read_config(settings).graph) != graph:
        raise ConfigError(
            f"the graph of {str(kb)!r} is at {location!r}, not at {graph!r}",
            hint="change `location` in the table [graph] of its kb.toml, or name another folder",
            place=str(settings),
        )
    return KnowledgeBase.open(kb) if exists or not settings.is_file() else KnowledgeBase.create(kb)
