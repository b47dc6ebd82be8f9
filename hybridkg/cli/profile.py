"""`hybridkg profile`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import PATH, kb_argument, opened
from hybridkg.errors import UserError

if TYPE_CHECKING:
    from hybridkg.entities.profile.profile import Field, Profile


@click.command()
@kb_argument
@click.option("--suggest", is_flag=True, help="Print a commented profile that the content of the graph suggests.")
@click.option(
    "-o", "--output", metavar="FILE.ttl", type=PATH, help="Write the suggested profile to a new file, to be edited."
)
@click.option(
    "--format",
    "fmt",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Of the profile in use.",
)
def profile(kb: Path, suggest: bool, output: Path | None, fmt: str) -> None:
    """Show the profile in use: what is an entity, and which predicates feed which field of its text.

    With --suggest it prints a profile as Turtle, with an example and the figures that decided for each field. KB is a
    knowledge base folder, or an RDF file.

    \b
    Example:
      hybridkg profile films.kb --suggest --output films-profile.ttl
    """
    from hybridkg.kb.snapshot import snapshot_of

    if not suggest:
        if output is not None:
            raise UserError("--output is for a suggested profile", hint="add --suggest")
        with opened(kb) as base:
            _print(base.profile(), base.settings.get("profile").value, fmt)
            indexed = snapshot_of(base).profile
            if indexed is not None and indexed != base.profile():
                echo(f"note: the index was built with another profile; renew it with: hybridkg index {kb}", err=True)
        return
    if fmt != "table":
        raise UserError("a suggested profile is Turtle, and has no other format", hint="leave out --format")
    with opened(kb) as base:
        suggested = base.suggest_profile()
    if output is None:
        echo(suggested.text, nl=False)
        return
    suggested.save(output)
    echo(f"{output} written; edit it, then: hybridkg index {kb} --profile {output}", err=True)


def _print(profile: Profile, configured: object, fmt: str) -> None:
    from hybridkg.rdf.well_known import shortened

    if fmt == "json":
        echo_json(json.loads(profile.to_json()))
        return
    echo(f"profile: {configured}")
    for name, iris in (
        ("entities", profile.entities),
        ("types", profile.types),
        ("labels", profile.labels),
        ("ignored", profile.ignore),
    ):
        if iris:
            echo(f"{name}: {', '.join(map(shortened, iris))}")
    for field in profile.fields:
        echo(f"\n{field.name}: weight {field.weight:g}, b {field.b:g}, analyzer {field.analyzer}")
        echo(f"  {_content(field)}")


def _content(field: Field) -> str:
    from hybridkg.entities.profile.paths import to_sparql
    from hybridkg.rdf.well_known import shortened

    path = "" if field.path is None else re.sub(r"<([^<>]*)>", lambda iri: shortened(iri[1]), to_sparql(field.path))
    parts = [f"{field.text} of {path}"] if path else []
    parts += [f"the other {'labels of linked nodes' if field.text == 'labels' else 'literals'}"] if field.rest else []
    parts += ["words of the IRI"] if field.local_name else []
    parts += [f"only languages {', '.join(field.languages)}"] if field.languages else []
    return "; ".join(parts) or "text documents"
