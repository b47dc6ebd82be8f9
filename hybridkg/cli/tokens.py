"""`hybridkg tokens`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.echo import echo
from hybridkg.cli.options import PATH, WholeNumber, kb_argument, opened
from hybridkg.errors import ParameterError


@click.command()
@kb_argument
@click.option("--out", metavar="DIR", required=True, type=PATH, help="Folder of the vectors; new texts are added.")
@click.option("--model", metavar="NAME|DIR", default="", help="Model; default: the encoder, if it has token vectors.")
@click.option("--fields", metavar="FIELD,...", default="", help="Fields that are read; default: all.")
@click.option("--form", metavar="NAME", default="plain", show_default=True, help="Form of a text: plain or compact.")
@click.option(
    "--max-length", type=WholeNumber(0, 100_000), default=0, help="Tokens of a text; default: the model's own limit."
)
def tokens(kb: Path, out: Path, model: str, fields: str, form: str, max_length: int) -> None:
    """Store a vector for each token of each text, for RERANK ... USING late(vectors='DIR').

    A query finds DIR in the folder models of the knowledge base, or in the current folder. The same command continues
    an interrupted run, and adds the texts that are new.

    \b
    Example:
      hybridkg tokens kb --model sentence-transformers/all-MiniLM-L6-v2 --out kb/models/late
    """
    from hybridkg.cli.output import TerminalProgress, print_stale_of

    if out.exists() and not out.is_dir():
        raise ParameterError(f"{str(out)!r} is a file; token vectors are a folder")
    with opened(kb) as base:
        print_stale_of(base)
        added = base.token_vectors(
            out, model=model, fields=fields, form=form, max_length=max_length, progress=TerminalProgress()
        )
    echo(f"written: {out}, {added:,} text{'' if added == 1 else 's'} added", err=True)
