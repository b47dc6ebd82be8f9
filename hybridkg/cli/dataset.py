"""`hybridkg dataset`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("name")
@click.option(
    "--from",
    "given",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path),
    help="The data folder, or the folder with the files of this dataset.",
)
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="Folder to make; default: ./NAME.")
def dataset(name: str, given: Path, out: Path | None) -> None:
    """Make a judged collection ready to be searched and measured: a folder that does not exist yet, or nothing.

    \b
    NAME is one of
      cacm                  3,204 articles with authors, categories and links; 52 questions
      cranfield             1,400 abstracts on aerodynamics; 225 questions
      fb15k-dbpedia-entity  14,541 entities and 310,116 facts; the 240 queries of DBpedia-Entity v2 about them

    \b
    DIR then holds kb (a knowledge base, indexed), topics.tsv, qrels.txt, folds.json, where there are categories
    of topics categories.tsv, and README.md and dataset.toml, which say where everything comes from.

    \b
    Example:
      hybridkg dataset cranfield --from data --out cranfield
    """
    from hybridkg.cli.output import TerminalProgress, print_counts
    from hybridkg.evaluation.datasets.building import make_dataset

    made = make_dataset(name, given, out or Path(name), progress=TerminalProgress())
    print_counts({**made.counts, "index": made.kb["index"]})
    click.echo(f"{made.path}: {made.recipe.title}", err=True)
    click.echo(f"where it comes from, and its licence: {made.path / 'README.md'}", err=True)
