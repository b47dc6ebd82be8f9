"""`hybridkg prune`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo
from hybridkg.cli.options import kb_argument

if TYPE_CHECKING:
    from hybridkg.kb.write.reports import UnusedIndex


@click.command()
@kb_argument
@click.option("--yes", is_flag=True, help="Remove them without asking.")
def prune(kb: Path, yes: bool) -> None:
    """Remove indexes that an interrupted or older build left on the server.

    Lists the indexes of this knowledge base that no state on disk names, and removes them after confirmation. The live
    index, those of states that a reader may have open, and indexes of other origin stay. An embedded index leaves
    none.

    \b
    Example:
      hybridkg prune films.kb
    """
    from hybridkg.kb import KnowledgeBase

    with KnowledgeBase.open(kb) as base:
        unused = base.prune()
        if not unused:
            echo("nothing to remove: every index belongs to a state on disk", err=True)
            return
        for one in unused:
            echo(_line(one))
        noun = "this index" if len(unused) == 1 else f"these {len(unused):,} indexes"
        if not (yes or click.confirm(f"remove {noun}?", err=True)):
            echo("nothing was removed", err=True)
            return
        removed = base.prune(remove=True, names=[one.name for one in unused])
        echo(f"removed {len(removed):,} {'index' if len(removed) == 1 else 'indexes'}", err=True)


def _line(one: UnusedIndex) -> str:
    """`name  documents 1,234, bytes 5,678`."""
    from hybridkg.cli.output import shown

    details = [f"{key} {shown(key, value)}" for key, value in one.to_json().items() if key not in ("engine", "name")]
    return "  ".join([one.name, ", ".join(details)]).rstrip()
