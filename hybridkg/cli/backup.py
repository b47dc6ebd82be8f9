"""`hybridkg backup`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.options import PATH, kb_argument


@click.command()
@kb_argument
@click.argument("folder", metavar="FOLDER", type=PATH)
def backup(kb: Path, folder: Path) -> None:
    """Copy a knowledge base into a folder, while others use it.

    FOLDER is new or empty. It gets the newest state with its indexes, kb.toml and models/, and opens as any knowledge
    base. Files are hard links on the same disk, which cost nothing and fail with that disk; else copies. All checksums
    are compared. What lies on a server is not in it, and a note says so.

    \b
    Example:
      hybridkg backup films.kb films.backup
    """
    from hybridkg.cli.output import TerminalProgress, print_lines
    from hybridkg.kb.write.backups import backup as make
    from hybridkg.store.generations.folder import Folder
    from hybridkg.store.generations.place import checked_path

    # Without opening the indexes: a backup of what an older hybridkg has built is good, too.
    print_lines(make(Folder.open(kb), checked_path(folder), TerminalProgress()).lines())
