"""`hybridkg dataset`."""

from __future__ import annotations

from pathlib import Path

import click

STARK = "stark"

FOLDER = click.Path(path_type=Path)


@click.command()
@click.argument("name")
@click.option(
    "--from", "given", metavar="DIR", type=FOLDER, help="The data folder, or the folder with the files of this dataset."
)
@click.option("--skb", metavar="DIR", type=FOLDER, help=f"{STARK}: the folder with node_info.pkl, or processed.zip.")
@click.option("--qa", metavar="DIR", type=FOLDER, help=f"{STARK}: the folder with stark_qa/ and split/.")
@click.option("--out", metavar="DIR", type=FOLDER, help="Folder to make; default: ./NAME.")
def dataset(name: str, given: Path | None, skb: Path | None, qa: Path | None, out: Path | None) -> None:
    """Make a judged collection ready to be searched and measured: a folder that does not exist yet, or nothing.

    \b
    NAME is one of
      cacm                  3,204 articles with authors, categories and links; 52 questions
      cranfield             1,400 abstracts on aerodynamics; 225 questions
      fb15k-dbpedia-entity  14,541 entities and 310,116 facts; the 240 queries of DBpedia-Entity v2 about them
      stark                 STaRK: amazon, mag or prime, whichever --skb has, with questions, splits and candidates

    \b
    DIR then holds kb (a knowledge base, indexed), topics.tsv, qrels.txt, folds.json, where there are categories
    of topics categories.tsv, and README.md and dataset.toml, which say where everything comes from.

    \b
    Example:
      hybridkg dataset cranfield --from data --out cranfield
    """
    from hybridkg.cli.output import TerminalProgress, print_counts
    from hybridkg.evaluation.datasets.building import make_dataset
    from hybridkg.evaluation.datasets.stark.making import make_stark

    progress = TerminalProgress()
    if name == STARK:
        if skb is None or qa is None or given is not None:
            raise click.UsageError(f"{STARK} is made of --skb DIR and --qa DIR")
        made = make_stark(skb, qa, out or Path(name), progress=progress)
    else:
        if skb is not None or qa is not None:
            raise click.UsageError(f"--skb and --qa are for {STARK} only")
        if given is None:
            raise click.UsageError("Missing option '--from'.")
        made = make_dataset(name, given, out or Path(name), progress=progress)
    print_counts({**made.counts, "index": made.kb["index"]})
    click.echo(f"{made.path}: {made.recipe.title}", err=True)
    click.echo(f"where it comes from, and its licence: {made.path / 'README.md'}", err=True)
