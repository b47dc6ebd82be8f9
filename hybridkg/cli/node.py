"""`hybridkg node`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import WholeNumber, kb_argument, opened


@click.command()
@kb_argument
@click.argument("name", metavar="IRI|NAME")
@click.option("--document", is_flag=True, help="Print its whole document instead, as hybridkg dataset stark stores it.")
@click.option("--relations", is_flag=True, help="The document with its relations.")
@click.option("--compact", is_flag=True, help="The document in its compact form, on one line.")
@click.option(
    "--paths", metavar="STEPS", default=None, help="Also show paths by names of classes and predicates: 'author>paper'."
)
@click.option(
    "--limit",
    metavar="N",
    type=WholeNumber(min=1, max=1000),
    default=5,
    show_default=True,
    help="Neighbours of each relation, texts of each property, and paths.",
)
@click.option("--format", "fmt", type=click.Choice(["table", "json"]), default="table", show_default=True)
def node(
    kb: Path, name: str, document: bool, relations: bool, compact: bool, paths: str | None, limit: int, fmt: str
) -> None:
    """Show a node: label, types, texts, and relations in both directions with their first neighbours.

    IRI|NAME is an IRI, a prefixed name, a whole label, or the end of an IRI, such as a node number of STaRK. A relation
    behind ^ leads to the node. KB is a knowledge base folder, or an RDF file.

    \b
    Example:
      hybridkg node films.kb Solaris --paths 'genre>Film'
    """
    if (relations or compact) and not document:
        raise click.UsageError("--relations and --compact are forms of the document: add --document")
    if paths is not None and not paths.strip():
        raise click.UsageError("--paths needs names of classes and predicates: 'author>paper'")
    if document and paths:
        raise click.UsageError("--paths is not for --document")
    with opened(kb) as base:
        if document:
            text = base.document(name, relations=relations, compact=compact)
            if fmt == "json":
                echo_json({"document": text})
            else:
                echo(text, nl=not text.endswith("\n"))
            return
        view = base.node(name, limit=limit, paths=paths or "")
    if fmt == "json":
        echo_json(view.to_json())
        return
    from hybridkg.kb.nodes.text import write_node

    write_node(view, sys.stdout)
    sys.stdout.flush()
