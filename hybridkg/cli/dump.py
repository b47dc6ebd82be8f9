"""`hybridkg dump`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.options import PATH, kb_argument


@click.command()
@kb_argument
@click.argument("file", metavar="FILE", type=PATH)
@click.option("--text", metavar="FILE", type=PATH, help="Write the text documents, too: .jsonl, plain or compressed.")
def dump(kb: Path, file: Path, text: Path | None) -> None:
    """Write the graph to a file, and the documents to another.

    The format follows from the name: .nq and .trig hold everything, .nt and .ttl a graph without named graphs; each
    plain or .gz, .bz2, .xz. With - for FILE, N-Quads go to standard output. `hybridkg load` reads both files back.
    Blank nodes keep their labels. Ctrl-C leaves no file.

    \b
    Example:
      hybridkg dump films.kb films.nq.gz
    """
    from hybridkg.cli.output import TerminalProgress, print_lines
    from hybridkg.kb import KnowledgeBase

    with KnowledgeBase.open(kb) as base:
        print_lines(base.dump(file, text, progress=TerminalProgress()).lines())
