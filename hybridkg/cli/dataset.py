"""`hybridkg dataset`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.echo import echo
from hybridkg.cli.options import PATH

DBPEDIA = "dbpedia-entity-v2"
STARK = "stark"


@click.command()
@click.argument("name")
@click.option(
    "--from", "given", metavar="DIR", type=PATH, help="The data folder, or the folder with the files of this dataset."
)
@click.option("--dumps", metavar="DIR", type=PATH, help=f"{DBPEDIA}: the folder with the dumps.")
@click.option("--collection", metavar="DIR", type=PATH, help=f"{DBPEDIA}: the folder with queries and judgements.")
@click.option("--index", metavar="A|B|FILE", help=f"{DBPEDIA}: which index of the paper, or rules (.toml); default: B.")
@click.option("--lenient", is_flag=True, help=f"{DBPEDIA}: leave out and count lines of dumps that are no triples.")
@click.option("--no-catchall", is_flag=True, help=f"{DBPEDIA}: index B without the field catchall, half as large.")
@click.option("--skb", metavar="DIR", type=PATH, help=f"{STARK}: the folder with node_info.pkl, or processed.zip.")
@click.option("--qa", metavar="DIR", type=PATH, help=f"{STARK}: the folder with stark_qa/ and split/.")
@click.option(
    "--edges",
    type=click.Choice(["files", "stark"]),
    help=f"{STARK}: edges of the files, or of STaRK's code, in both directions and one a pair; default: files.",
)
@click.option(
    "--documents",
    metavar="plain,...",
    help=f"{STARK}: also write STaRK's documents of nodes as text fields: plain, candidates, relations, compact.",
)
@click.option(
    "--embeddings",
    metavar="DIR",
    type=PATH,
    help=f"{STARK}: the folder of published vectors, emb/KB/MODEL; needs --documents relations.",
)
@click.option("--out", metavar="DIR", type=PATH, help="Folder to make; default: ./NAME.")
def dataset(
    name: str,
    given: Path | None,
    dumps: Path | None,
    collection: Path | None,
    index: str | None,
    lenient: bool,
    no_catchall: bool,
    skb: Path | None,
    qa: Path | None,
    edges: str | None,
    documents: str | None,
    embeddings: Path | None,
    out: Path | None,
) -> None:
    """Make a judged collection ready to be searched and measured, in a new folder.

    \b
    NAME is one of
      cacm                  3,204 articles with authors, categories and links; 52 questions
      cranfield             1,400 abstracts on aerodynamics; 225 questions
      dbpedia-entity-v2     DBpedia 2015-10 by the fields of the paper, 467 queries; can be interrupted and continued
      fb15k-dbpedia-entity  14,541 entities and 310,116 facts; the 240 queries of DBpedia-Entity v2 about them
      metaqa                16,426 films with people, genres, tags and years; 78,231 questions of one to three hops
      stark                 STaRK: amazon, mag or prime, whichever --skb has, with questions, splits and candidates

    \b
    DIR gets kb (an indexed knowledge base), topics.tsv, qrels.txt, folds.json, categories.tsv if topics have
    categories, and README.md and dataset.toml with the sources.

    \b
    Example:
      hybridkg dataset cranfield --from data --out cranfield
    """
    from hybridkg.cli.output import TerminalProgress, print_lines
    from hybridkg.datasets import DATASETS
    from hybridkg.datasets.building import make_dataset
    from hybridkg.datasets.dbpedia.making import make_dbpedia
    from hybridkg.datasets.stark.making import make_stark
    from hybridkg.terminal_text import count_lines

    DATASETS.get(name)  # an unknown name is reported before missing options
    if name != DBPEDIA and (dumps or collection or index or lenient or no_catchall):
        raise click.UsageError(f"--dumps, --collection, --index, --lenient and --no-catchall are for {DBPEDIA} only")
    if name != STARK and (skb or qa or edges or documents or embeddings):
        raise click.UsageError(f"--skb, --qa, --edges, --documents and --embeddings are for {STARK} only")
    progress, folder, catchall = TerminalProgress(), out or Path(name), not no_catchall
    if name == DBPEDIA:
        if dumps is None or collection is None or given is not None:
            raise click.UsageError(f"{DBPEDIA} is made of --dumps DIR and --collection DIR")
        made = make_dbpedia(
            dumps, collection, folder, index=index or "B", lenient=lenient, catchall=catchall, progress=progress
        )
    elif name == STARK:
        if skb is None or qa is None or given is not None:
            raise click.UsageError(f"{STARK} is made of --skb DIR and --qa DIR")
        forms = [form.strip() for form in documents.split(",")] if documents else ()
        made = make_stark(
            skb, qa, folder, edges=edges or "files", documents=forms, embeddings=embeddings, progress=progress
        )
    else:
        if given is None:
            raise click.UsageError("Missing option '--from'.")
        made = make_dataset(name, given, folder, progress=progress)
    print_lines([*count_lines(made.counts), "index:", *made.index.lines("  ")])
    echo(f"{made.path}: {made.recipe.title}", err=True)
    echo(f"where it comes from, and its licence: {made.path / 'README.md'}", err=True)
