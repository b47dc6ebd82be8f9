"""`hybridkg check`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import kb_argument


@click.command()
@kb_argument
@click.option("--repair", is_flag=True, help="Build the indexes again where one is damaged, or older than the graph.")
@click.option("--full", is_flag=True, help="Compare the text of all entities, not of 1,000; as long as an index step.")
@click.option("--format", "fmt", type=click.Choice(["text", "json"]), default="text", show_default=True)
def check(kb: Path, repair: bool, full: bool, fmt: str) -> None:
    """Find damage, and indexes that are not those of the graph.

    Compares all files with their checksums, the projection with the graph, and text and vectors with what graph and
    documents say of the entities. One line a part; exit code 1 if one is damaged. A damaged graph or document needs a
    backup.

    \b
    Example:
      hybridkg check films.kb
    """
    from hybridkg.cli.output import TerminalProgress
    from hybridkg.kb.write.checking import check as checked
    from hybridkg.store.generations.folder import Folder

    # Not through KnowledgeBase, which cannot open everything that can be repaired.
    report = checked(Folder.open(kb), full=full, repair=repair, progress=TerminalProgress())
    if fmt == "json":
        echo_json(report.to_json())
    else:
        for line in report.lines():
            echo(line)
    if not report.ok:
        click.get_current_context().exit(1)
